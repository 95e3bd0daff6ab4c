package clusterref

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
