package galeracluster

import (
	"cmp"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/status"
)

// TestStale: a pod is hurried to what it has not read, a changed root password too, and its start is left alone.
func TestStale(t *testing.T) {
	published := &corev1.Secret{Data: map[string][]byte{"tls.crt": []byte("pair")}}
	publication := observe.Publication(published)
	for name, tc := range map[string]struct {
		silent, ready   bool
		config, tls     string
		annotation, pwd string
		want            bool
	}{
		"it starts":                           {want: false},
		"it starts, and waits for a password": {pwd: "none", want: true},
		"its start is over":                   {ready: true, want: true},
		"it was hurried":                      {ready: true, annotation: "old", want: true},
		"it was hurried, and is not ready":    {annotation: "old", want: true},
		"it does not answer":                  {silent: true, want: true},
		"it has another configuration":        {config: "older", want: true},
		"it has other certificates":           {tls: "older", want: true},
		"it has none":                         {tls: "-", want: true},
	} {
		t.Run(name, func(t *testing.T) {
			in := status.Input{Seen: map[string]observe.Seen{}}
			in.Config.Revision = "revision"
			in.Facts.Published = published
			in.Facts.Root = &corev1.Secret{Data: map[string][]byte{agentapi.RootPasswordKey: []byte("secret")}}
			if tc.pwd != "" {
				in.Facts.Root.Data = nil
			}
			var s observe.Seen
			s.Live = !tc.silent
			s.Report.Config.Loaded, s.Report.TLS.Installed = cmp.Or(tc.config, "revision"), cmp.Or(tc.tls, publication)
			in.Seen["shop-0"] = s
			p := &corev1.Pod{}
			if tc.annotation != "" {
				p.Annotations = map[string]string{v1alpha1.AnnotationSync: tc.annotation}
			}
			if tc.ready {
				p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
			}
			if got := stale(in, "shop-0", p); got != tc.want {
				t.Errorf("stale is %t", got)
			}
		})
	}
}

// TestMounted: each of configuration, certificates and root's Secret is another version of what is mounted; the
// password itself is not in it.
func TestMounted(t *testing.T) {
	version := func(revision, pair, root string) string {
		in := status.Input{}
		in.Config.Revision = revision
		if pair != "" {
			in.Facts.Published = &corev1.Secret{Data: map[string][]byte{"tls.crt": []byte(pair)}}
		}
		if root != "" {
			in.Facts.Root = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{ResourceVersion: root},
				Data: map[string][]byte{agentapi.RootPasswordKey: []byte("secret" + root)}}
		}
		return mounted(in)
	}
	if version("", "p", "1") != "" || version("r", "", "1") != "" {
		t.Error("something is mounted before it is published")
	}
	seen := map[string]bool{}
	for _, v := range []string{version("r", "p", ""), version("r", "p", "1"), version("r", "p", "2"),
		version("r", "q", "1"), version("s", "p", "1")} {
		if v == "" || seen[v] {
			t.Errorf("%q is another one's version", v)
		}
		seen[v] = true
	}
}
