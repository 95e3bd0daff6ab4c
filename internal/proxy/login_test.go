package proxy

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

func proxyOf(namespace, name, cluster, mode string, age time.Duration) v1alpha1.GaleraProxy {
	p := v1alpha1.GaleraProxy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name,
		CreationTimestamp: metav1.NewTime(time.Unix(1.8e9, 0).Add(-age))}}
	p.Spec.ClusterRef.Name, p.Spec.Mode = cluster, mode
	return p
}

// TestEndpoint: binding Secrets lead to the oldest proxy of the cluster that takes writes.
func TestEndpoint(t *testing.T) {
	c := facts().Cluster
	leaving := proxyOf("demo", "leaving", "shop", v1alpha1.ProxyPrimary, 9*time.Hour)
	leaving.DeletionTimestamp = new(metav1.Now())
	strangers := []v1alpha1.GaleraProxy{proxyOf("other", "a", "shop", v1alpha1.ProxyPrimary, 9*time.Hour),
		proxyOf("demo", "b", "shop2", v1alpha1.ProxyPrimary, 9*time.Hour), leaving,
		proxyOf("demo", "reads", "shop", v1alpha1.ProxyReadOnly, 9*time.Hour)}
	if got := Endpoint(Of(c, strangers)); got != nil {
		t.Errorf("no proxy of the cluster takes writes, and %s was chosen", got.Name)
	}
	all := append(slices.Clone(strangers), proxyOf("demo", "new", "shop", v1alpha1.ProxyPrimary, time.Minute),
		proxyOf("demo", "twin", "shop", v1alpha1.ProxyReadWriteSplit, time.Hour),
		proxyOf("demo", "old", "shop", v1alpha1.ProxyReadWriteSplit, time.Hour))
	if got := Endpoint(Of(c, all)); got == nil || got.Name != "old" {
		t.Errorf("%v was chosen", got)
	}
}

// TestProxied: the condition reports what proxies cannot do, and no names to another namespace.
func TestProxied(t *testing.T) {
	p := proxyOf("demo", "pool", "shop", v1alpha1.ProxyPrimary, 0)
	proxies := []*v1alpha1.GaleraProxy{&p}
	p.Status.RefusedUsers = []v1alpha1.RefusedUser{{Namespace: "demo", Name: "twin", Message: "as team/first"},
		{Namespace: "team", Name: "twin", Message: "as demo/first"}}
	for name, tc := range map[string]struct {
		change func(*v1alpha1.GaleraUser)
		want   string
	}{
		"app":  {nil, ""},
		"x509": {func(u *v1alpha1.GaleraUser) { u.Spec.Require = v1alpha1.RequireX509 }, "require: X509"},
		"ed":   {func(u *v1alpha1.GaleraUser) { u.Spec.Plugin = v1alpha1.PluginEd25519 }, "plugin: ed25519"},
		"host": {func(u *v1alpha1.GaleraUser) { u.Spec.Host = "10.%" }, "account's host (10.%)"},
		"twin": {nil, "GaleraProxy pool: as team/first"},
		"team": {func(u *v1alpha1.GaleraUser) { u.Namespace, u.Name = "team", "twin" }, "status.refusedUsers"},
	} {
		u := user(name, tc.change)
		got := Proxied(&u, proxies)
		if got.True != (tc.want == "") || !strings.Contains(got.Message, tc.want) ||
			got.True != (got.Reason == v1alpha1.ReasonProxySupported) {
			t.Errorf("%s: %+v", name, got)
		}
		if u.Namespace == "team" && strings.Contains(got.Message, "first") {
			t.Errorf("%s: names a user of another namespace: %s", name, got.Message)
		}
	}
}
