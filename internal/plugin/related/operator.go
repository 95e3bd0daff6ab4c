package related

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

const (
	// operatorLease is the name of an operator's Lease, in the operator's namespace.
	operatorLease = "galera-operator"
	// operatorNamespace is where the shipped manifests install the operator.
	operatorNamespace = "galera-operator-system"
	// leaseGrace is how long after its duration a Lease counts: clocks differ, and a replica takes over meanwhile.
	leaseGrace = 30 * time.Second
)

// Operator finds out whether an operator is at work: nil if one is, or if that cannot be known.
func Operator(ctx context.Context, kube client.Reader, c *v1alpha1.GaleraCluster, now time.Time) *Finding {
	return operator(c, leases(ctx, kube), now)
}

// leases are those of operators. Who may not read all namespaces sees that of the usual one, or none.
func leases(ctx context.Context, kube client.Reader) []coordinationv1.Lease {
	var list coordinationv1.LeaseList
	if kube.List(ctx, &list, client.MatchingFields{"metadata.name": operatorLease}) == nil {
		return list.Items
	}
	var one coordinationv1.Lease
	if kube.Get(ctx, client.ObjectKey{Namespace: operatorNamespace, Name: operatorLease}, &one) == nil {
		return []coordinationv1.Lease{one}
	}
	return nil
}

// operator judges the Leases: any that is renewed may be this cluster's operator's. Without one, a spec that was not
// seen is the only sign.
func operator(c *v1alpha1.GaleraCluster, leases []coordinationv1.Lease, now time.Time) *Finding {
	var latest *coordinationv1.Lease
	for i, l := range leases {
		if l.Spec.RenewTime != nil && (latest == nil || latest.Spec.RenewTime.Before(l.Spec.RenewTime)) {
			latest = &leases[i]
		}
	}
	if latest == nil {
		return unseen(c)
	}
	duration := time.Duration(0)
	if s := latest.Spec.LeaseDurationSeconds; s != nil {
		duration = time.Duration(*s) * time.Second
	}
	silent := now.Sub(latest.Spec.RenewTime.Time)
	if silent <= duration+leaseGrace {
		return nil
	}
	f := about("Lease", latest, Failing, "OperatorAbsent",
		fmt.Sprintf(
			"no operator has been at work for %s. The databases serve on; what else is shown may be old, and nothing is "+
				"repaired, switched or backed up",
			silent.Truncate(time.Second)))
	f.Command = fmt.Sprintf("kubectl get pods -n %s -l %s", latest.Namespace, operatorPods)
	return &f
}

// operatorPods selects the pods of the operator, and not those of the benchmarks' program.
const operatorPods = "app.kubernetes.io/name=galera-operator,app.kubernetes.io/component=manager"

// FindOperator is the command that lists the operator's pods, in whichever namespace it runs.
const FindOperator = "kubectl get pods -A -l " + operatorPods

// unseen reports whether the operator has not judged the present spec.
func unseen(c *v1alpha1.GaleraCluster) *Finding {
	ready := meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionReady)
	if ready == nil || ready.ObservedGeneration >= c.Generation {
		return nil
	}
	f := about("GaleraCluster", c, Waiting, "NotSeen",
		"no operator has seen the last change of the spec yet. If that lasts, see whether one runs")
	f.Command = FindOperator
	return &f
}
