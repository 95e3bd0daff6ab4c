package galeracluster

import (
	"testing"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/plan"
)

// TestNothingIsDecidedWhileReseeding: nodes that are being removed, or were, lead to no act, and to no history.
func TestNothingIsDecidedWhileReseeding(t *testing.T) {
	act := plan.Decision{Action: plan.RecordUUID{UUID: "old"}, Reason: plan.ReasonJoining}
	for phase, want := range map[string]bool{"": true, v1alpha1.ReseedRefused: true, v1alpha1.ReseedEmptying: false,
		v1alpha1.ReseedCopying: false, v1alpha1.ReseedCompleted: true} {
		c := &v1alpha1.GaleraCluster{}
		if phase != "" {
			c.Status.Reseed = &v1alpha1.ReseedStatus{Phase: phase}
		}
		if got := unlessReseeding(act, c); (got.Action != nil) != want {
			t.Errorf("%q: %+v", phase, got)
		}
	}
}
