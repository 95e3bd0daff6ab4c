package clusterref

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// TestBusyForAnotherSite: the operator writes nothing to a cluster from which another one is to take over, also while
// its nodes still accept writes.
func TestBusyForAnotherSite(t *testing.T) {
	c := &v1alpha1.GaleraCluster{}
	meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionAvailable,
		Status: metav1.ConditionTrue, Reason: "x"})
	if b := busy(c); b.Reason != "" {
		t.Errorf("%+v", b)
	}
	c.Status.SwitchSite = &v1alpha1.SwitchSiteStatus{Phase: v1alpha1.SwitchStopping}
	if b := busy(c); b.Reason != v1alpha1.ReasonWaitingCluster || !strings.Contains(b.Message, "another site") {
		t.Errorf("%+v", b)
	}
}

// TestBusyWithoutALease: that nodes have no lease is distinguished from all else that keeps them from accepting writes,
// and wakes who waits for the cluster.
func TestBusyWithoutALease(t *testing.T) {
	c := &v1alpha1.GaleraCluster{}
	meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionAvailable,
		Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonHibernated})
	before := c.DeepCopy()
	if b := busy(c); b.Reason == "" || b.Leaseless {
		t.Errorf("%+v", b)
	}
	c.Status.Conditions[0].Reason = v1alpha1.ReasonWriteLeaseEnded
	if b := busy(c); b.Reason != v1alpha1.ReasonWaitingCluster || !b.Leaseless {
		t.Errorf("%+v", b)
	}
	if !MayEndWait.Update(event.UpdateEvent{ObjectOld: before, ObjectNew: c}) {
		t.Error("no one is woken")
	}
	if MayEndWait.Update(event.UpdateEvent{ObjectOld: c, ObjectNew: c}) {
		t.Error("nothing has changed")
	}
	c.Spec.Hibernate = true
	if b := busy(c); b.Leaseless {
		t.Errorf("%+v", b)
	}
}
