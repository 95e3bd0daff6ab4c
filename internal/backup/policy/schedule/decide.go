package schedule

import (
	"fmt"
	"time"

	"github.com/robfig/cron/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/status"
)

// retainInterval is how often retention is looked after: keepWithin ends without an event.
const retainInterval = 10 * time.Minute

// maxMissed bounds how many times that have passed are looked through.
const maxMissed = 1000

// Decision is what to do in addition to the status.
type Decision struct {
	Make         string // the name of the backup that is due, "" for none
	RequeueAfter time.Duration
}

// Decide returns what is due. It is pure.
func Decide(to *v1alpha1.GaleraBackupScheduleStatus, s *v1alpha1.GaleraBackupSchedule, all []v1alpha1.GaleraBackup,
	now time.Time) Decision {
	to.ObservedGeneration = s.Generation
	running := succeeded(to, s, all)
	next, err := Parse(s.Spec)
	if err != nil {
		to.NextTime = nil
		setConditions(to, s, true, v1alpha1.ReasonScheduleInvalid, err.Error()+"; correct spec.schedule or spec.timeZone")
		return Decision{}
	}
	if s.Spec.Suspend {
		to.NextTime = nil
		setConditions(to, s, false, v1alpha1.ReasonSuspended, "no backups are made while spec.suspend is true")
		return Decision{RequeueAfter: retainInterval}
	}
	since := countsFrom(s, all, now)
	if t := s.Status.LastScheduleTime; t != nil && t.After(now.Add(ahead)) {
		to.LastScheduleTime = new(metav1.NewTime(since))
	}
	due := last(next, since, now)
	if due.IsZero() && s.Spec.Immediate && s.Status.LastScheduleTime == nil {
		due = s.CreationTimestamp.Time // the name is the same whenever it is made
	}
	var d Decision
	switch {
	case due.IsZero():
	case running != "" && s.Spec.ConcurrencyPolicy != v1alpha1.ConcurrencyAllow:
		to.LastScheduleTime = new(metav1.NewTime(due))
		setConditions(to, s, false, v1alpha1.ReasonScheduled,
			fmt.Sprintf("the backup of %s was left out, because %s was still in progress", due.UTC().Format(time.RFC3339),
				running))
	default:
		d.Make = s.Name + "-" + due.UTC().Format("20060102-1504")
		to.LastScheduleTime, to.LastBackup = new(metav1.NewTime(due)), d.Make
		setConditions(to, s, false, v1alpha1.ReasonScheduled, onSchedule(next.note(due)))
	}
	if len(to.Conditions) == 0 || s.Status.ObservedGeneration != s.Generation {
		setConditions(to, s, false, v1alpha1.ReasonScheduled, "backups are made on schedule")
	}
	coming := next.Next(now)
	to.NextTime = new(metav1.NewTime(coming))
	d.RequeueAfter = min(retainInterval, max(time.Second, coming.Sub(now)))
	return d
}

// onSchedule is the message of a schedule that is well, with what was special about the last time.
func onSchedule(note string) string {
	if note == "" {
		return "backups are made on schedule"
	}
	return "backups are made on schedule; " + note
}

// ahead is by how much the last time may be after now, because a clock was set.
const ahead = 5 * time.Minute

// countsFrom is from when on times count: a backup that was due before the schedule was there is not made. A last time
// that is yet to come is of a clock that was ahead: it would keep backups from being made until then. Times count from
// when the API server has created the last backup instead.
func countsFrom(s *v1alpha1.GaleraBackupSchedule, all []v1alpha1.GaleraBackup, now time.Time) time.Time {
	if t := s.Status.LastScheduleTime; t != nil && !t.After(now.Add(ahead)) {
		return t.Time
	}
	since := s.CreationTimestamp.Time
	if s.Status.LastScheduleTime == nil {
		return since
	}
	for _, b := range all {
		if at := b.CreationTimestamp.Time; b.Labels[v1alpha1.LabelSchedule] == s.Name && at.After(since) && !at.After(now) {
			since = at
		}
	}
	return since
}

// last is the last time after since that has come, zero for none: of several that were missed one is made up for.
func last(next cron.Schedule, since, now time.Time) (due time.Time) {
	t := next.Next(since)
	for i := 0; !t.IsZero() && !t.After(now); i++ {
		if due = t; i > maxMissed {
			return now.Truncate(time.Minute)
		}
		t = next.Next(t)
	}
	return due
}

// succeeded notes the last backup that is complete, and returns one that is in progress, "" for none.
func succeeded(to *v1alpha1.GaleraBackupScheduleStatus, s *v1alpha1.GaleraBackupSchedule, all []v1alpha1.GaleraBackup) (
	running string) {
	for _, b := range all {
		if b.Labels[v1alpha1.LabelSchedule] != s.Name {
			continue
		}
		switch at := b.Status.CompletedAt; {
		case b.Status.Phase == v1alpha1.BackupCompleted && at != nil:
			if to.LastSuccessTime == nil || to.LastSuccessTime.Before(at) {
				to.LastSuccessTime = at.DeepCopy()
			}
		case b.Status.Phase != v1alpha1.BackupFailed && b.DeletionTimestamp == nil:
			running = b.Name
		}
	}
	return running
}

func setConditions(to *v1alpha1.GaleraBackupScheduleStatus, s *v1alpha1.GaleraBackupSchedule, stalled bool, reason,
	message string) {
	status.SetProgress(&to.Conditions, s.Generation, status.Progress{Stalled: stalled, Reason: reason, Message: message})
}
