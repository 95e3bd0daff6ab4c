package schedule

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

func at(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return t
}

func nightly(changes ...func(*v1alpha1.GaleraBackupSchedule)) *v1alpha1.GaleraBackupSchedule {
	s := &v1alpha1.GaleraBackupSchedule{}
	s.Name, s.CreationTimestamp = "nightly", metav1.NewTime(at("2026-11-20T12:00:00Z"))
	s.Spec.Schedule, s.Spec.TimeZone = "30 2 * * *", "UTC"
	for _, c := range changes {
		c(s)
	}
	return s
}

func made(phase string, completed string) v1alpha1.GaleraBackup {
	b := v1alpha1.GaleraBackup{}
	b.Name, b.Labels, b.Status.Phase = "one", map[string]string{v1alpha1.LabelSchedule: "nightly"}, phase
	if completed != "" {
		b.Status.CompletedAt = new(metav1.NewTime(at(completed)))
	}
	return b
}

func TestDecide(t *testing.T) {
	allow := func(s *v1alpha1.GaleraBackupSchedule) { s.Spec.ConcurrencyPolicy = v1alpha1.ConcurrencyAllow }
	immediate := func(s *v1alpha1.GaleraBackupSchedule) { s.Spec.Immediate = true }
	last := func(s *v1alpha1.GaleraBackupSchedule) {
		s.Status.LastScheduleTime = new(metav1.NewTime(at("2026-11-22T02:30:00Z")))
	}
	future := func(s *v1alpha1.GaleraBackupSchedule) {
		s.Status.LastScheduleTime = new(metav1.NewTime(at("2027-02-20T02:30:00Z")))
	}
	created := func(when string) v1alpha1.GaleraBackup {
		b := made(v1alpha1.BackupCompleted, when)
		b.CreationTimestamp = metav1.NewTime(at(when))
		return b
	}
	for name, c := range map[string]struct {
		s       *v1alpha1.GaleraBackupSchedule
		backups []v1alpha1.GaleraBackup
		now     string
		make    string
		next    string // "" for none
		stalled bool
	}{
		"not yet": {nightly(), nil, "2026-11-20T23:00:00Z", "", "2026-11-21T02:30:00Z", false},
		"due": {nightly(), nil, "2026-11-21T02:30:01Z", "nightly-20261121-0230",
			"2026-11-22T02:30:00Z", false},
		"several were missed": {nightly(), nil, "2026-11-23T09:00:00Z", "nightly-20261123-0230",
			"2026-11-24T02:30:00Z", false},
		"at once": {nightly(immediate), nil, "2026-11-20T12:00:00Z", "nightly-20261120-1200", "2026-11-21T02:30:00Z", false},
		"at once, and the operator came late": {nightly(immediate), nil, "2026-11-20T19:00:00Z", "nightly-20261120-1200",
			"2026-11-21T02:30:00Z", false},
		"at once, and one is due since": {nightly(immediate), nil, "2026-11-21T02:31:00Z", "nightly-20261121-0230",
			"2026-11-22T02:30:00Z", false},
		"at once, but once": {nightly(immediate, func(s *v1alpha1.GaleraBackupSchedule) {
			s.Status.LastScheduleTime = new(s.CreationTimestamp)
		}), nil, "2026-11-20T12:01:00Z", "", "2026-11-21T02:30:00Z", false},
		"at once, but suspended": {nightly(immediate, func(s *v1alpha1.GaleraBackupSchedule) { s.Spec.Suspend = true }), nil,
			"2026-11-20T12:00:00Z", "", "", false},
		"made already": {nightly(last), nil, "2026-11-22T09:00:00Z", "", "2026-11-23T02:30:00Z", false},
		"made by a clock that was ahead": {nightly(future), []v1alpha1.GaleraBackup{created("2026-11-22T03:00:00Z"),
			created("2026-11-21T03:00:00Z")}, "2026-11-22T09:00:00Z", "", "2026-11-23T02:30:00Z", false},
		"due, and the one before was made by a clock that was ahead": {nightly(future),
			[]v1alpha1.GaleraBackup{created("2026-11-22T03:00:00Z")}, "2026-11-23T02:31:00Z", "nightly-20261123-0230",
			"2026-11-24T02:30:00Z", false},
		"the one before still runs": {nightly(last), []v1alpha1.GaleraBackup{made(v1alpha1.BackupRunning, "")},
			"2026-11-23T02:31:00Z", "", "2026-11-24T02:30:00Z", false},
		"it runs, and both are wanted": {nightly(last, allow), []v1alpha1.GaleraBackup{made(v1alpha1.BackupRunning, "")},
			"2026-11-23T02:31:00Z", "nightly-20261123-0230", "2026-11-24T02:30:00Z", false},
		"one of another schedule runs": {nightly(last), []v1alpha1.GaleraBackup{of("weekly",
			made(v1alpha1.BackupRunning, ""))}, "2026-11-23T02:31:00Z", "nightly-20261123-0230", "2026-11-24T02:30:00Z", false},
		"the one before is being deleted": {nightly(last), []v1alpha1.GaleraBackup{deleted(made(v1alpha1.BackupRunning, ""))},
			"2026-11-23T02:31:00Z", "nightly-20261123-0230", "2026-11-24T02:30:00Z", false},
		"the one before is complete": {nightly(last), []v1alpha1.GaleraBackup{made(v1alpha1.BackupCompleted,
			"2026-11-22T03:00:00Z")}, "2026-11-23T02:31:00Z", "nightly-20261123-0230", "2026-11-24T02:30:00Z", false},
		"the one before failed": {nightly(last), []v1alpha1.GaleraBackup{made(v1alpha1.BackupFailed, "")},
			"2026-11-23T02:31:00Z", "nightly-20261123-0230", "2026-11-24T02:30:00Z", false},
		"suspended": {nightly(func(s *v1alpha1.GaleraBackupSchedule) { s.Spec.Suspend = true }), nil,
			"2026-11-23T02:31:00Z", "", "", false},
		"no schedule": {nightly(
			func(s *v1alpha1.GaleraBackupSchedule) { s.Spec.Schedule = "61 2 * * *" }), nil, "2026-11-23T02:31:00Z", "", "",
			true},
		"no time zone": {nightly(
			func(s *v1alpha1.GaleraBackupSchedule) { s.Spec.TimeZone = "Europe/Atlantis" }), nil, "2026-11-23T02:31:00Z", "", "",
			true},
		"in another time zone, an hour off": {nightly(
			func(s *v1alpha1.GaleraBackupSchedule) { s.Spec.TimeZone = "Europe/Vienna" }), nil, "2026-11-21T01:30:00Z",
			"nightly-20261121-0130", "2026-11-22T01:30:00Z", false},
	} {
		next := c.s.Status.DeepCopy()
		d := Decide(next, c.s, c.backups, at(c.now))
		reported := ""
		if next.NextTime != nil {
			reported = next.NextTime.UTC().Format(time.RFC3339)
		}
		if d.Make != c.make || reported != c.next || meta.IsStatusConditionTrue(next.Conditions,
			v1alpha1.ConditionStalled) != c.stalled {
			t.Errorf("%s: makes %q, next %s, %+v", name, d.Make, reported, next.Conditions)
		}
		if wait := at(c.now).Add(d.RequeueAfter); c.stalled != (d.RequeueAfter == 0) || d.RequeueAfter > retainInterval ||
			next.NextTime != nil && wait.After(next.NextTime.Add(time.Second)) {
			t.Errorf("%s: looked at again after %s", name, d.RequeueAfter)
		}
		c.s.Status = *next
		if again := Decide(next.DeepCopy(), c.s, nil, at(c.now)); again.Make != "" {
			t.Errorf("%s: makes %s afterwards", name, again.Make)
		}
	}
}

func of(schedule string, b v1alpha1.GaleraBackup) v1alpha1.GaleraBackup {
	b.Labels = map[string]string{v1alpha1.LabelSchedule: schedule}
	return b
}

func deleted(b v1alpha1.GaleraBackup) v1alpha1.GaleraBackup {
	b.DeletionTimestamp = new(metav1.Now())
	return b
}

// TestLastSuccess: the alert about a backup that is too old goes by the latest that is complete.
func TestLastSuccess(t *testing.T) {
	early, late := made(v1alpha1.BackupCompleted, "2026-11-21T03:00:00Z"), made(v1alpha1.BackupCompleted,
		"2026-11-22T03:00:00Z")
	another := of("weekly", made(v1alpha1.BackupCompleted, "2026-11-24T03:00:00Z"))
	failed := made(v1alpha1.BackupFailed, "2026-11-25T03:00:00Z")
	for name, all := range map[string][]v1alpha1.GaleraBackup{"in order": {early, late, another, failed},
		"in another order": {failed, another, late, early}, "and it is gone since": {early}} {
		to := &v1alpha1.GaleraBackupScheduleStatus{}
		if len(all) == 1 {
			to.LastSuccessTime = late.Status.CompletedAt
		}
		if succeeded(to, nightly(), all); to.LastSuccessTime == nil || !to.LastSuccessTime.Equal(late.Status.CompletedAt) {
			t.Errorf("%s: %v", name, to.LastSuccessTime)
		}
	}
}
