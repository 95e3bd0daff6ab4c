package related

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// overdueAfter is that of the alert GaleraBackupTooOld.
const overdueAfter = 6 * time.Hour

// backups judges stores, schedules and the latest backups; nil if there are none.
func backups(c *v1alpha1.GaleraCluster, o Objects, now time.Time) *Area {
	unread := o.unread(store, schedule, backup)
	if len(o.Backups) == 0 && len(o.Schedules) == 0 && !unread {
		return nil
	}
	all := latestFirst(o.Backups)
	found := stores(c, o, usedByBackups(o, all))
	ill := len(found) > 0
	for i := range o.Schedules {
		found = append(found, scheduled(c, &o.Schedules[i], now)...)
	}
	found = append(found, latest(c, all, ill)...)
	a := area(found, unread)
	a.Last = lastComplete(all)
	return a
}

// latestFirst leaves those out that are being deleted.
func latestFirst(all []v1alpha1.GaleraBackup) []v1alpha1.GaleraBackup {
	all = slices.DeleteFunc(slices.Clone(all), func(b v1alpha1.GaleraBackup) bool { return b.DeletionTimestamp != nil })
	slices.SortStableFunc(all, func(a, b v1alpha1.GaleraBackup) int {
		return b.CreationTimestamp.Compare(
			a.CreationTimestamp.Time)
	})
	return all
}

// usedByBackups names the stores of the schedules and of the latest backup: an old backup may lie in a store that was
// given up.
func usedByBackups(o Objects, all []v1alpha1.GaleraBackup) (names []string) {
	for _, s := range o.Schedules {
		names = append(names, s.Spec.Template.StoreRef.Name)
	}
	if len(all) > 0 {
		names = append(names, all[0].Spec.StoreRef.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// scheduled describes what is wrong with a schedule.
func scheduled(c *v1alpha1.GaleraCluster, s *v1alpha1.GaleraBackupSchedule, now time.Time) (found []Finding) {
	if stalled := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionStalled); stalled != nil &&
		stalled.Status == metav1.ConditionTrue {
		f := about(schedule, s, Failing, stalled.Reason, stalled.Message)
		f.Command = fmt.Sprintf("kubectl edit galerabackupschedule %s -n %s", s.Name, s.Namespace)
		return append(found, f)
	}
	if s.Spec.Suspend {
		f := about(schedule, s, Waiting, v1alpha1.ReasonSuspended, "no backups are made while spec.suspend is true")
		f.Command = fmt.Sprintf(`kubectl patch galerabackupschedule %s -n %s --type=merge -p '{"spec":{"suspend":false}}'`,
			s.Name, s.Namespace)
		return append(found, f)
	}
	due, done := s.Status.LastScheduleTime, s.Status.LastSuccessTime
	if due != nil && now.Sub(due.Time) > overdueAfter && (done == nil || done.Before(due)) {
		f := about(schedule, s, Failing, "Overdue", "the backup that was due at "+clock(due)+
			" is not complete; the last one that is was complete at "+clock(done))
		f.Command = fmt.Sprintf("kubectl galera backups %s -n %s", c.Name, c.Namespace)
		found = append(found, f)
	}
	return found
}

// latest judges the last backup that has ended, and one that has not. storeReported states that the store is what it
// waits for, and was reported.
func latest(c *v1alpha1.GaleraCluster, all []v1alpha1.GaleraBackup, storeReported bool) (found []Finding) {
	for i := range all {
		b := &all[i]
		complete := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionComplete)
		if complete == nil {
			complete = &metav1.Condition{Reason: "NotSeen", Message: "the operator has not seen it yet"}
			if b.Status.Phase != "" { // of an operator of another release
				complete = &metav1.Condition{Reason: b.Status.Phase}
			}
		}
		switch b.Status.Phase {
		case v1alpha1.BackupFailed:
			f := about(backup, b, Failing, complete.Reason, complete.Message)
			f.Do, f.Command = "When that is fixed, make another one", fmt.Sprintf("kubectl galera backup %s -n %s --store %s",
				c.Name, c.Namespace, b.Spec.StoreRef.Name)
			if by := b.Labels[v1alpha1.LabelSchedule]; by != "" {
				f.Do = "The schedule " + by + " makes the next one; to make one now"
			}
			return append(found, f)
		case v1alpha1.BackupCompleted:
			return append(found, untested(c, b)...)
		}
		if i == 0 && !storeReported {
			found = append(found, unfinished(b, *complete))
		}
	}
	return found
}

// unfinished is a backup in progress, or one that waits for a person.
func unfinished(b *v1alpha1.GaleraBackup, complete metav1.Condition) Finding {
	f := about(backup, b, Waiting, complete.Reason, complete.Message)
	switch {
	case meta.IsStatusConditionTrue(b.Status.Conditions, v1alpha1.ConditionStalled):
		f.State = Failing
		f.Command = fmt.Sprintf("kubectl describe galerabackup %s -n %s", b.Name, b.Namespace)
	case slices.Contains([]string{v1alpha1.ReasonStoreUnreachable, v1alpha1.ReasonStoreRefused, v1alpha1.ReasonStoreFull},
		complete.Reason):
		// The store was well at its last check, and is not now.
		f.State = Failing
		f.Do, f.Command = "See the store", fmt.Sprintf("kubectl describe galerabackupstore %s -n %s", b.Spec.StoreRef.Name,
			b.Namespace)
	}
	return f
}

// untested is a complete backup that has not passed its test.
func untested(c *v1alpha1.GaleraCluster, b *v1alpha1.GaleraBackup) []Finding {
	verified := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionVerified)
	if verified == nil || verified.Status == metav1.ConditionTrue {
		return nil
	}
	f := about(backup, b, Failing, verified.Reason, verified.Message)
	f.Command = fmt.Sprintf("kubectl describe galerabackup %s -n %s", b.Name, b.Namespace)
	switch verified.Reason {
	case v1alpha1.ReasonVerifying:
		f.State, f.Command = Waiting, ""
	case v1alpha1.ReasonBackupDamaged:
		f.Do, f.Command = "Do not rely on it; make another one", fmt.Sprintf("kubectl galera backup %s -n %s --store %s",
			c.Name, c.Namespace, b.Spec.StoreRef.Name)
	case v1alpha1.ReasonVerificationFailed:
		f.Do = "Set spec.verify to None and back to test it again"
	}
	return []Finding{f}
}

func lastComplete(all []v1alpha1.GaleraBackup) *Last {
	for _, b := range all {
		if b.Status.Phase != v1alpha1.BackupCompleted || b.Status.CompletedAt == nil {
			continue
		}
		l := &Last{Name: b.Name, CompletedAt: *b.Status.CompletedAt, Position: b.Status.Position}
		if b.Status.StoredSize != nil {
			l.StoredSize = b.Status.StoredSize.String()
		}
		if v := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionVerified); v != nil {
			l.Verified = v.Status
		}
		return l
	}
	return nil
}

func clock(t *metav1.Time) string {
	if t == nil {
		return "never"
	}
	return t.UTC().Format(time.RFC3339)
}
