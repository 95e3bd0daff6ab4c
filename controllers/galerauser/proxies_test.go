package galerauser

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

func proxyCalled(name, mode string, age time.Duration) *v1alpha1.GaleraProxy {
	p := &v1alpha1.GaleraProxy{ObjectMeta: metav1.ObjectMeta{Namespace: "data", Name: name,
		CreationTimestamp: metav1.NewTime(time.Unix(1.8e9, 0).Add(-age))}}
	p.Spec.ClusterRef.Name, p.Spec.Mode = "shop", mode
	return p
}

// TestEndpointProxy: the binding Secret leads to the proxy, waits for one, and stays as it is when the last one goes.
func TestEndpointProxy(t *testing.T) {
	u := user(func(u *v1alpha1.GaleraUser) { u.Spec.Endpoint = v1alpha1.EndpointProxy })
	reads := proxyCalled("reads", v1alpha1.ProxyReadOnly, time.Hour)
	w := newWorld(t, u, reads)
	r := w.operator()
	w.settle(r, u)
	if got := w.condition(u, v1alpha1.ConditionReady); got != "False ProxyNotFound" ||
		w.secret("data", "app-binding") != nil ||
		w.condition(u, v1alpha1.ConditionApplied) != "True Applied" {
		t.Errorf("without a proxy that takes writes: %s, %s", got, w.secret("data", "app-binding")["host"])
	}
	pool := proxyCalled("pool", v1alpha1.ProxyPrimary, 0)
	w.must(w.kube.Create(t.Context(), pool))
	w.settle(r, u)
	if b := w.secret("data", "app-binding"); string(b["host"]) != "pool.data.svc" || string(b["ca.crt"]) != "CA" ||
		w.condition(u, v1alpha1.ConditionReady) != "True Ready" || !w.opens() {
		t.Errorf("%s, %s", w.condition(u, v1alpha1.ConditionReady), b["host"])
	}
	w.must(w.kube.Delete(t.Context(), pool))
	w.settle(r, u)
	if b := w.secret("data", "app-binding"); string(b["host"]) != "pool.data.svc" || !w.opens() ||
		w.condition(u, v1alpha1.ConditionReady) != "False ProxyNotFound" {
		t.Errorf("after its end: %s, %s", w.condition(u, v1alpha1.ConditionReady), b["host"])
	}
	w.must(w.kube.Get(t.Context(), client.ObjectKeyFromObject(u), u))
	u.Spec.Endpoint = v1alpha1.EndpointPrimary
	w.must(w.kube.Update(t.Context(), u))
	w.settle(r, u)
	if b := w.secret("data", "app-binding"); !strings.HasPrefix(string(b["host"]), "shop-primary.") ||
		w.condition(u, v1alpha1.ConditionReady) != "True Ready" {
		t.Errorf("%s, %s", w.condition(u, v1alpha1.ConditionReady), b["host"])
	}
}

// TestProxiedCondition: the condition reports what a proxy of the cluster cannot do, while there is one.
func TestProxiedCondition(t *testing.T) {
	u := user(func(u *v1alpha1.GaleraUser) { u.Spec.Host = "10.%" })
	w := newWorld(t, u)
	r := w.operator()
	w.settle(r, u)
	if got := w.condition(u, v1alpha1.ConditionProxied); got != "" {
		t.Errorf("without a proxy: %s", got)
	}
	pool := proxyCalled("pool", v1alpha1.ProxyPrimary, 0)
	w.must(w.kube.Create(t.Context(), pool))
	w.settle(r, u)
	if got := w.condition(u, v1alpha1.ConditionProxied); got != "False ProxyRefused" ||
		w.condition(u, v1alpha1.ConditionReady) != "True Ready" {
		t.Errorf("an account with a host: %s, %s", got, w.condition(u, v1alpha1.ConditionReady))
	}
	app := user(func(u *v1alpha1.GaleraUser) {
		u.Name, u.UID, u.Spec.Endpoint = "other", "other", v1alpha1.EndpointProxy
	})
	w.must(w.kube.Create(t.Context(), app))
	w.settle(r, app)
	if got := w.condition(app, v1alpha1.ConditionProxied); got != "True ProxySupported" ||
		w.condition(app, v1alpha1.ConditionReady) != "True Ready" {
		t.Errorf("%s, %s", got, w.condition(app, v1alpha1.ConditionReady))
	}
	pool.Status.RefusedUsers = []v1alpha1.RefusedUser{{Namespace: "data", Name: "other", Message: "two of one name"}}
	w.must(w.kube.Update(t.Context(), pool))
	w.settle(r, app)
	if got := w.condition(app, v1alpha1.ConditionReady); got != "False ProxyRefused" {
		t.Errorf("a binding Secret that leads to a proxy that refuses the account: %s", got)
	}
	w.must(w.kube.Delete(t.Context(), pool))
	w.settle(r, u)
	if got := w.condition(u, v1alpha1.ConditionProxied); got != "" {
		t.Errorf("after the proxy's end: %s", got)
	}
}

// TestProxiesWakeUsers: by what they depend on, and not by every count in a status.
func TestProxiesWakeUsers(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*v1alpha1.GaleraProxy)
		want   bool
	}{
		"counts":  {func(p *v1alpha1.GaleraProxy) { p.Status.Clients, p.ResourceVersion = 7, "2" }, false},
		"a mode":  {func(p *v1alpha1.GaleraProxy) { p.Spec.Mode = v1alpha1.ProxyReadOnly }, true},
		"another": {func(p *v1alpha1.GaleraProxy) { p.UID = "2" }, true},
		"its end": {func(p *v1alpha1.GaleraProxy) { p.DeletionTimestamp = new(metav1.Now()) }, true},
		"refused users": {func(p *v1alpha1.GaleraProxy) {
			p.Status.RefusedUsers = []v1alpha1.RefusedUser{{Name: "app"}}
		}, true},
	} {
		before := proxyCalled("pool", v1alpha1.ProxyPrimary, 0)
		after := before.DeepCopy()
		tc.change(after)
		if got := offers.Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	app, other := user(nil), user(func(u *v1alpha1.GaleraUser) { u.Name, u.Spec.ClusterRef.Name = "far", "far" })
	w := newWorld(t, app, other)
	woken := w.operator().byProxy(t.Context(), proxyCalled("pool", v1alpha1.ProxyPrimary, 0))
	if len(woken) != 1 || woken[0].Name != "app" {
		t.Errorf("woken are %v", woken)
	}
}
