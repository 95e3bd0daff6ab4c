package related

import (
	"context"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// lease is one that was renewed so long ago, for so many seconds.
func lease(namespace string, ago time.Duration, seconds int32) coordinationv1.Lease {
	return coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: operatorLease},
		Spec: coordinationv1.LeaseSpec{RenewTime: new(metav1.NewMicroTime(noon.Add(-ago))), LeaseDurationSeconds: &seconds}}
}

// TestOperator: an operator that is away is reported, and none that is only slow, or not known.
func TestOperator(t *testing.T) {
	unseen, seen := cluster(), cluster()
	unseen.Generation, seen.Generation = 2, 2
	unseen.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, ObservedGeneration: 1}}
	seen.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, ObservedGeneration: 2}}
	for name, c := range map[string]struct {
		of     *v1alpha1.GaleraCluster
		leases []coordinationv1.Lease
		want   string
	}{
		"at work":                {seen, []coordinationv1.Lease{lease("ops", 2*time.Second, 15)}, ""},
		"a clock that is ahead":  {seen, []coordinationv1.Lease{lease("ops", -time.Minute, 15)}, ""},
		"another one takes over": {seen, []coordinationv1.Lease{lease("ops", 40*time.Second, 15)}, ""},
		"away":                   {seen, []coordinationv1.Lease{lease("ops", 46*time.Second, 15)}, "OperatorAbsent"},
		"scaled down":            {seen, []coordinationv1.Lease{lease("ops", 32*time.Second, 1)}, "OperatorAbsent"},
		"one of two": {seen, []coordinationv1.Lease{lease("old", time.Hour, 15),
			lease("ops", time.Second, 15)}, ""},
		"both of two": {seen, []coordinationv1.Lease{lease("old", time.Hour, 15),
			lease("ops", time.Minute, 15)}, "OperatorAbsent"},
		"at work, and slow":            {unseen, []coordinationv1.Lease{lease("ops", 2*time.Second, 15)}, ""},
		"not known":                    {seen, nil, ""},
		"not known, and not seen":      {unseen, nil, "NotSeen"},
		"not known, and never seen":    {cluster(), nil, ""},
		"a lease that was never taken": {seen, []coordinationv1.Lease{{}}, ""},
	} {
		got := operator(c.of, c.leases, noon)
		if got == nil != (c.want == "") || got != nil && (got.Reason != c.want || got.Command == "") {
			t.Errorf("%s: %+v, want %q", name, got, c.want)
		}
		if got != nil && c.want == "OperatorAbsent" && got.Namespace != "ops" {
			t.Errorf("%s: named %s, want the operator that was there last", name, got.Namespace)
		}
	}
}

// TestLeases: in any namespace, or in the usual one if others may not be read.
func TestLeases(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := coordinationv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "leases"}, "", nil)
	for name, c := range map[string]struct {
		list, get error
		want      int
	}{"all": {nil, nil, 2}, "one namespace": {forbidden, nil, 1}, "none": {forbidden, forbidden, 0}} {
		usual, own, other := lease(operatorNamespace, 0, 15), lease("own", 0, 15), lease("own", 0, 15)
		other.Name = "scheduler"
		kube := fake.NewClientBuilder().WithScheme(scheme).WithObjects(&usual, &own, &other).
			WithIndex(&coordinationv1.Lease{}, "metadata.name", func(o client.Object) []string { return []string{o.GetName()} }).
			WithInterceptorFuncs(interceptor.Funcs{
				List: func(ctx context.Context, to client.WithWatch, list client.ObjectList, o ...client.ListOption) error {
					if c.list != nil {
						return c.list
					}
					return to.List(ctx, list, o...)
				},
				Get: func(ctx context.Context, to client.WithWatch, key client.ObjectKey, o client.Object,
					_ ...client.GetOption) error {
					if c.get != nil {
						return c.get
					}
					return to.Get(ctx, key, o)
				},
			}).Build()
		if got := leases(t.Context(), kube); len(got) != c.want {
			t.Errorf("%s: %d leases, want %d", name, len(got), c.want)
		}
	}
}
