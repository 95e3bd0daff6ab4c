package galerabackupstore

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/outcome"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// TestStep follows a store from its creation through checks that succeed and fail.
func TestStep(t *testing.T) {
	s := &v1alpha1.GaleraBackupStore{ObjectMeta: metav1.ObjectMeta{Name: "offsite", Generation: 1}}
	s.Status.ObservedGeneration = -1
	now := noon
	pass := func(refused string, seen outcome.Outcome) time.Duration {
		to := s.Status.DeepCopy()
		again := step(to, s, refused, seen, now)
		s.Status = *to
		return again
	}
	contains := func(want metav1.ConditionStatus, reason string) {
		t.Helper()
		c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReachable)
		if c == nil || c.Status != want || c.Reason != reason {
			t.Errorf("Reachable is %+v, not %s %s", c, want, reason)
		}
	}
	pass("", outcome.Outcome{})
	contains(metav1.ConditionFalse, v1alpha1.ReasonChecking)
	if !s.Status.Checking || s.Status.Checks != 1 {
		t.Fatalf("%+v", s.Status)
	}
	pass("", outcome.Outcome{Exists: true, Done: true, Result: task.Result{Error: "AccessDenied",
		Reason: task.ReasonStoreRefused, Fatal: true}})
	contains(metav1.ConditionFalse, v1alpha1.ReasonStoreRefused)
	if again := pass("", outcome.Outcome{}); again != initialFailedInterval || s.Status.Checking {
		t.Errorf("again after %s, %+v", again, s.Status)
	}
	now = now.Add(initialFailedInterval)
	pass("", outcome.Outcome{})
	pass("", outcome.Outcome{Exists: true, Done: true,
		Result: task.Result{Checked: &task.Checked{Backups: 2, Latest: []task.Stored{{ID: "a"}}}}})
	contains(metav1.ConditionTrue, v1alpha1.ReasonReachable)
	if *s.Status.Backups != 2 || len(s.Status.Latest) != 1 {
		t.Errorf("%+v", s.Status)
	}
	// It stays Reachable while it is checked again.
	now = now.Add(checkInterval)
	pass("", outcome.Outcome{})
	contains(metav1.ConditionTrue, v1alpha1.ReasonReachable)
	pass("", outcome.Outcome{Exists: true, Done: true, Result: task.Result{Checked: &task.Checked{}}})
	// Another spec is checked at once, without a Job when it names what cannot be used.
	s.Generation = 2
	pass("the Secret belongs to a cluster", outcome.Outcome{})
	contains(metav1.ConditionFalse, v1alpha1.ReasonStoreRefused)
	if s.Status.Checking || s.Status.ObservedGeneration != 2 {
		t.Errorf("%+v", s.Status)
	}
}

// TestStepOfAChangedSpec: a check shows nothing about a spec that was written after it began. Jobs mount what the spec
// of a Reachable store names.
func TestStepOfAChangedSpec(t *testing.T) {
	for name, seen := range map[string]outcome.Outcome{
		"before its Job":  {},
		"during its Job":  {Exists: true},
		"after its Job":   {Exists: true, Done: true, Result: task.Result{Checked: &task.Checked{}}},
		"a failed Job":    {Exists: true, Done: true, Result: task.Result{Error: "AccessDenied"}},
		"without its pod": {Exists: true, Waits: "the Secret is missing"},
	} {
		s := &v1alpha1.GaleraBackupStore{ObjectMeta: metav1.ObjectMeta{Name: "offsite", Generation: 1}}
		s.Status.ObservedGeneration = -1
		step(&s.Status, s.DeepCopy(), "", outcome.Outcome{}, noon)
		if !s.Status.Checking || s.Status.ObservedGeneration != 1 {
			t.Fatalf("%s: %+v", name, s.Status)
		}
		s.Generation = 2
		step(&s.Status, s.DeepCopy(), "", seen, noon)
		c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReachable)
		if s.Status.Checking || c.Status != metav1.ConditionFalse || c.Reason != v1alpha1.ReasonChecking {
			t.Errorf("%s: checking is %t, Reachable is %+v", name, s.Status.Checking, c)
		}
		step(&s.Status, s.DeepCopy(), "the Secret belongs to a cluster", outcome.Outcome{}, noon)
		c = meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReachable)
		if s.Status.Checking || s.Status.ObservedGeneration != 2 || c.Reason != v1alpha1.ReasonStoreRefused {
			t.Errorf("%s: then %+v, Reachable is %+v", name, s.Status, c)
		}
	}
}
