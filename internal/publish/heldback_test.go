package publish

import (
	"encoding/json"
	"reflect"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/validate"
)

// TestHeldBack: while what the spec asks for may not reach the nodes, they are given what decides who accepts writes,
// and nothing else.
func TestHeldBack(t *testing.T) {
	setting := func(name string) map[string]v1alpha1.Setting {
		return map[string]v1alpha1.Setting{name: {Text: "1"}}
	}
	forbidden := func(f *observe.Facts, _ *Result) { f.Cluster.Spec.MariaDB.Config = setting("wsrep_on") }
	keys := func(_ *observe.Facts, given *Result) { given.KeysRefused = &validate.Problem{Blocked: true} }
	for name, tc := range map[string]struct {
		hold func(f *observe.Facts, given *Result)
		// refuses reports whether the nodes are to refuse writes then, settled whether they are given all else.
		refuses, settled bool
	}{
		"nothing is held back": {func(*observe.Facts, *Result) {}, true, true},
		"a forbidden setting":  {forbidden, true, false},
		"encryption keys":      {keys, true, false},
		"it is paused":         {func(f *observe.Facts, _ *Result) { pause(f.Cluster) }, false, false},
		"it is paused, with a forbidden setting": {func(f *observe.Facts, given *Result) {
			forbidden(f, given)
			pause(f.Cluster)
		}, false, false},
		"its identity is not known": {func(_ *observe.Facts, given *Result) { given.Identity.Unheard = []string{"shop-0"} },
			false, false},
		"it has begun anew": {func(f *observe.Facts, given *Result) {
			forbidden(f, given)
			f.Cluster.Status.Identity, given.Identity.UID = "two", "two"
		}, false, false},
	} {
		c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "shop", UID: "one"}}
		c.Spec.Replicas, c.Spec.MariaDB.Config = 1, setting("max_connections")
		f := observe.Facts{Cluster: c}
		first := Publisher{}.config(f, nil, Result{})
		publishAs := func(n agentapi.NodeConfig) {
			document, err := json.Marshal(n)
			if err != nil {
				t.Fatal(err)
			}
			f.Config = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "shop-config"},
				Data: map[string]string{agentapi.ConfigKey: string(document)}}
		}
		publishAs(first)
		given := Result{Config: Published(f.Config)}
		given.Identity = observe.IdentityOf(f, nil, given.Config)
		c.Spec.MariaDB.Config = setting("max_connections_other")
		c.Status.Superseded = &v1alpha1.SupersededStatus{ID: "1-bbbbbbbb"}
		tc.hold(&f, &given)
		now := Publisher{}.config(f, nil, given)
		if now.Refuse != tc.refuses || (now.Refused().SupersededBy != "") != tc.refuses ||
			(now.Revision != first.Revision) != tc.refuses {
			t.Errorf("%s: %+v", name, now)
		}
		if settled := !reflect.DeepEqual(now.Settings, first.Settings); settled != tc.settled {
			t.Errorf("%s: settings %v", name, now.Settings)
		}
		publishAs(now)
		given.Config = Published(f.Config)
		if begins := given.begins(c); begins != (name != "it has begun anew") {
			t.Errorf("%s: nodes begin with it: %t", name, begins)
		}
		if again := (Publisher{}).config(f, nil, given); again.Revision != now.Revision {
			t.Errorf("%s: it is published over and over: %+v", name, again)
		}
	}
}

func pause(c *v1alpha1.GaleraCluster) {
	c.Annotations = map[string]string{v1alpha1.AnnotationPause: "true"}
}

// TestHeldBackAndLost: where the configuration of nodes is lost while a setting is forbidden, it is made anew without
// that setting.
func TestHeldBackAndLost(t *testing.T) {
	c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "shop", UID: "one"}}
	c.Spec.MariaDB.Config = map[string]v1alpha1.Setting{"wsrep_on": {Text: "1"}, "max_connections": {Text: "1"}}
	c.Status.Superseded = &v1alpha1.SupersededStatus{ID: "1-bbbbbbbb"}
	f := observe.Facts{Cluster: c, StatefulSet: &appsv1.StatefulSet{}}
	n := Publisher{}.config(f, nil, Result{})
	if !n.Refuse || len(n.Settings) != 1 || n.Settings["max_connections"] != "1" || len(c.Spec.MariaDB.Config) != 2 {
		t.Errorf("%+v", n)
	}
	if n := (Publisher{}).config(f, nil, Result{KeysRefused: &validate.Problem{}}); n.Revision != "" {
		t.Errorf("nodes might be restarted without their keys: %+v", n)
	}
}

// TestNothingIsHeldBackYet: a cluster that was given no configuration is given none while its settings are refused.
func TestNothingIsHeldBackYet(t *testing.T) {
	c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "shop", UID: "one"}}
	c.Spec.MariaDB.Config = map[string]v1alpha1.Setting{"wsrep_on": {Text: "1"}}
	if n := (Publisher{}).config(observe.Facts{Cluster: c}, nil, Result{}); n.Revision != "" {
		t.Errorf("%+v", n)
	}
}
