package galerauser

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// TestMarksThatCameWithData: an account that a clone or a restored cluster has brought is marked with a resource of
// another cluster. That one manages nothing here, and need not be deleted.
func TestMarksThatCameWithData(t *testing.T) {
	const taken, refused = "True Applied", "False OwnedByAnother"
	for name, tc := range map[string]struct {
		cluster string // of prod/app
		edit    func(*v1alpha1.GaleraUser)
		want    string
	}{
		"of another cluster": {"prod", func(u *v1alpha1.GaleraUser) { u.Spec.Adopt = true }, taken},
		"of this cluster":    {"data", func(u *v1alpha1.GaleraUser) { u.Spec.Adopt = true }, refused},
		"it was not asked":   {"prod", nil, refused},
		"the operator's own": {"prod", controlled, taken},
	} {
		other := user(func(o *v1alpha1.GaleraUser) {
			o.Namespace, o.UID, o.Spec.ClusterRef.Namespace = "prod", "other", tc.cluster
		})
		u := user(tc.edit)
		w := newWorld(t, u, other)
		w.accounts["app"] = agentapi.SQLUser{SQLOwner: agentapi.SQLOwner{Owner: "prod/app#other"}, Name: "app"}
		w.settle(w.operator(), u)
		if got := w.condition(u, v1alpha1.ConditionApplied); got != tc.want ||
			(w.accounts["app"].Owner == "prod/app#other") != (tc.want == refused) {
			t.Errorf("%s: %s, owned by %s", name, got, w.accounts["app"].Owner)
		}
	}
}

// controlled makes a user one of the operator's own, like that of the exporter.
func controlled(u *v1alpha1.GaleraUser) {
	c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "data", Name: "shop", UID: "cluster"}}
	kind := v1alpha1.GroupVersion.WithKind("GaleraCluster")
	u.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(c, kind)}
	controllerutil.AddFinalizer(u, Finalizer)
}
