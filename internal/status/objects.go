package status

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/conditions"
)

// Progress is where an object that is worked on stands, for the conditions that kstatus reads.
type Progress struct {
	// Working reports whether the operator has something to do, Stalled that a person has.
	Working, Stalled bool
	Reason, Message  string
}

// SetProgress sets Reconciling and Stalled.
func SetProgress(to *[]metav1.Condition, generation int64, p Progress) {
	SetCondition(to, generation, v1alpha1.ConditionReconciling, p.Working && !p.Stalled, p.Reason, p.Message)
	SetCondition(to, generation, v1alpha1.ConditionStalled, p.Stalled, p.Reason, p.Message)
}

// SetCondition sets one condition.
func SetCondition(to *[]metav1.Condition, generation int64, kind string, is bool, reason, message string) {
	c := metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: reason, Message: message,
		ObservedGeneration: generation}
	if is {
		c.Status = metav1.ConditionTrue
	}
	conditions.Set(to, c)
}

// StoreProblem explains why a store cannot be used as it is now, "" when it can: what its spec names is mounted into
// Jobs only after it was checked, because credentials go to the endpoint that the spec names, too.
func StoreProblem(s *v1alpha1.GaleraBackupStore) (reason, message string) {
	c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReachable)
	switch {
	case c == nil || c.ObservedGeneration != s.Generation:
		return v1alpha1.ReasonChecking, fmt.Sprintf("waiting for the check of the store %q", s.Name)
	case c.Status != metav1.ConditionTrue:
		return c.Reason, fmt.Sprintf("the store %q cannot be used: %s", s.Name, c.Message)
	}
	return "", ""
}
