package schedule

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/clone"
	"github.com/galera-operator/galera-operator/internal/backup/location"
	"github.com/galera-operator/galera-operator/internal/backup/policy/archival"
	"github.com/galera-operator/galera-operator/internal/backup/policy/increments"
	"github.com/galera-operator/galera-operator/internal/backup/retention"
	"github.com/galera-operator/galera-operator/internal/galera"
)

const (
	// maxAnnouncement is how long before its removal a backup is announced, if the schedule's own interval is not shorter.
	maxAnnouncement = 24 * time.Hour
	// maxExpiring bounds how many backups are announced at a time.
	maxExpiring = 100
	// failuresKept is how many failed backups of a schedule are kept for users.
	failuresKept = 3
)

// Retain brings status.retention up to date, and returns the backups to delete now. It is pure. Retention is about the
// Backups of the cluster that exists now: those of one that is gone are all that is left of it, and those of an earlier
// one are not the schedule's.
func Retain(to *v1alpha1.GaleraBackupScheduleStatus, f Facts) (remove []*v1alpha1.GaleraBackup) {
	if !f.Today.IsZero() {
		f.Now = f.Today
	}
	if f.Store == nil || f.Store.Spec.Retention == nil {
		to.Retention = nil
		return nil
	}
	name := f.Schedule.Spec.Template.ClusterRef.Name
	if f.Cluster == nil || f.Cluster.DeletionTimestamp != nil {
		to.Retention = &v1alpha1.ScheduleRetention{
			Message: fmt.Sprintf("paused: there is no GaleraCluster %q; its backups are kept until you delete them", name)}
		return nil
	}
	own, earlier, elsewhere := f.completeBackups(f.Cluster.UID)
	next := &v1alpha1.ScheduleRetention{}
	var kept []string
	if earlier > 0 {
		kept = append(kept, fmt.Sprintf("%s of an earlier cluster %q", galera.Count(earlier, "backup"), name))
	}
	if elsewhere > 0 {
		kept = append(kept, fmt.Sprintf("%s where the store %q does not lead any more", galera.Count(elsewhere, "backup"),
			f.Store.Name))
	}
	notice := notice(f.Schedule, f.Now)
	old, unnamed := f.expired(own)
	var messages []string
	if len(kept) > 0 {
		messages = append(messages, "kept until you delete them: "+strings.Join(kept, "; "))
	}
	if unnamed > 0 {
		messages = append(messages, fmt.Sprintf("%s kept, which no rule keeps: %s", galera.Count(unnamed, "backup"),
			f.needs().Unnamed()))
	}
	next.Message = strings.Join(messages, ". Also ")
	for _, b := range increments.Needless(old, f.Backups) { // a chain goes when nothing of it is kept
		at, known := Expiring(f.Schedule.Status.Retention, b.UID)
		switch {
		case !known:
			at = metav1.NewTime(f.Now.Add(notice).Truncate(time.Second))
		case !at.After(f.Now):
			remove = append(remove, b)
		}
		next.Expiring = append(next.Expiring, v1alpha1.ExpiringBackup{Name: b.Name, UID: b.UID, RemoveAt: at})
	}
	next.Expiring = next.Expiring[:min(len(next.Expiring), maxExpiring)]
	to.Retention = next
	return append(remove, f.failures()...)
}

// completeBackups returns the schedule's backups of a cluster that are complete, and how many there are of others of
// its name, and how many lie where the store does not lead any more. An imported one does not count: it may be of a
// backup that counts already, and its data go with that one.
func (f Facts) completeBackups(uid types.UID) (own []*v1alpha1.GaleraBackup, others, elsewhere int) {
	t := f.Schedule.Spec.Template
	for i := range f.Backups {
		b := &f.Backups[i]
		switch {
		case b.Spec.ClusterRef != t.ClusterRef || b.Spec.StoreRef != t.StoreRef || b.DeletionTimestamp != nil || !stored(b):
		case location.Changed(b.Status.Store, f.Store) != "":
			elsewhere++
		case b.Status.ClusterUID == string(uid) && b.Spec.Import == nil:
			own = append(own, b)
		case b.Status.ClusterUID != string(uid):
			others++
		}
	}
	return own, others, elsewhere
}

// notice is how long before its removal a backup is announced.
func notice(s *v1alpha1.GaleraBackupSchedule, now time.Time) time.Duration {
	next, err := Parse(s.Spec)
	if err != nil {
		return maxAnnouncement
	}
	coming := next.Next(now)
	after := next.Next(coming)
	if coming.IsZero() || after.IsZero() {
		return maxAnnouncement
	}
	return min(after.Sub(coming), maxAnnouncement)
}

// Expiring is when a backup is removed that has been announced.
func Expiring(r *v1alpha1.ScheduleRetention, uid types.UID) (at metav1.Time, known bool) {
	if r == nil {
		return at, false
	}
	for _, e := range r.Expiring {
		if e.UID == uid {
			return e.RemoveAt, true
		}
	}
	return at, false
}

// UntilRemoval is how long it is to the next removal, at most retainInterval.
func UntilRemoval(r *v1alpha1.ScheduleRetention, now time.Time) time.Duration {
	again := retainInterval
	if r == nil {
		return again
	}
	for _, e := range r.Expiring {
		again = min(again, max(time.Second, e.RemoveAt.Sub(now)))
	}
	return again
}

// expired are the backups of one cluster that no rule keeps, the oldest first. Only those with deletionPolicy Delete
// are removed; the others count as kept. One that has failed its test does not count; it goes when a later one has
// replaced it, except for the last few. So does one that needs a damaged one.
// unnamed is how many of those kept would be removed if it was known that points in time do not need them.
func (f Facts) expired(own []*v1alpha1.GaleraBackup) (out []*v1alpha1.GaleraBackup, unnamed int) {
	rules, broken, archives := *f.Store.Spec.Retention, increments.Broken(f.Backups), f.needs()
	own, order := increments.InOrder(own)
	rank := make(map[*v1alpha1.GaleraBackup]int, len(own))
	for i, b := range own {
		rank[b] = i
	}
	var good, bad []*v1alpha1.GaleraBackup
	for _, b := range own {
		switch {
		case counts(b) && !broken[b.Status.ID]:
			good = append(good, b)
		case failedTest(b) || counts(b):
			bad = append(bad, b)
		}
	}
	policy := retention.Policy{Last: int(rules.KeepLast), Daily: int(rules.KeepDaily), Weekly: int(rules.KeepWeekly),
		Archive: archives.Archive()}
	if w := rules.KeepWithin; w != nil {
		policy.Within = w.Duration
	}
	all := make([]retention.Backup, len(good))
	known := make([]retention.Backup, len(good)) // as if what is not known was not needed
	for i, b := range good {
		need, _ := archives.Backup(b)
		all[i] = retention.Backup{At: increments.Completed(b), Order: order[b], Base: b.Status.GTID != "",
			Reached: need != archival.NotNeeded}
		known[i] = all[i]
		known[i].Reached = all[i].Reached && need != archival.MayBeNeeded
	}
	for _, i := range retention.Expired(all, policy, f.windowEnd()) {
		out = append(out, good[i])
	}
	for _, i := range retention.Expired(known, policy, f.windowEnd()) {
		if all[i].Reached && good[i].Spec.DeletionPolicy == v1alpha1.BackupDelete {
			unnamed++
		}
	}
	for _, b := range bad[:max(0, len(bad)-failuresKept)] {
		if len(good) > 0 && rank[b] < rank[good[len(good)-1]] {
			out = append(out, b)
		}
	}
	out = slices.DeleteFunc(out,
		func(b *v1alpha1.GaleraBackup) bool { return b.Spec.DeletionPolicy != v1alpha1.BackupDelete })
	slices.SortFunc(out, func(a, b *v1alpha1.GaleraBackup) int { return rank[a] - rank[b] })
	return out, unnamed
}

// needs is what is asked about the cluster's archives.
func (f Facts) needs() archival.Needs {
	return archival.Needs{Cluster: f.Cluster, Store: f.Store, Window: f.Window, Today: f.Now}
}

// windowEnd is the end of the window that backups are kept within. Points in time are kept up to where the archive has
// come: the operator's clock may be ahead.
func (f Facts) windowEnd() time.Time {
	needs := f.needs()
	if f.Store.Spec.Retention.KeepWithin == nil || f.Cluster.Status.Backup == nil || !needs.Here() || needs.Over() {
		return f.Now
	}
	return needs.End()
}

// failures are the older of a schedule's backups that have failed. Nothing is stored of them, as far as is known: where
// the store did not answer after the last byte, a backup may be complete all the same, and the archive go on from it.
func (f Facts) failures() (out []*v1alpha1.GaleraBackup) {
	for i := range f.Backups {
		b := &f.Backups[i]
		if need, _ := f.needs().Backup(b); need != archival.NotNeeded {
			continue
		}
		if b.Labels[v1alpha1.LabelSchedule] == f.Schedule.Name && b.Status.Phase == v1alpha1.BackupFailed &&
			b.Spec.DeletionPolicy == v1alpha1.BackupDelete && b.DeletionTimestamp == nil {
			out = append(out, b)
		}
	}
	slices.SortFunc(out, func(a, b *v1alpha1.GaleraBackup) int {
		return a.CreationTimestamp.Compare(
			b.CreationTimestamp.Time)
	})
	return out[:max(0, len(out)-failuresKept)]
}

// stored reports whether a backup lies in the store. That of a clone goes when the clone is Ready, and is none of
// these.
func stored(b *v1alpha1.GaleraBackup) bool {
	return b.Status.Phase == v1alpha1.BackupCompleted && b.Status.CompletedAt != nil && clone.Owner(b) == nil
}

// counts reports whether retention may rely on a backup: no test has found it damaged, and one that is to be verified
// has passed. The archive is read once all of the backup was: where it is damaged, the backup is good.
func counts(b *v1alpha1.GaleraBackup) bool {
	if b.Damaged() {
		return false
	}
	c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionVerified)
	return b.Spec.Verify == "" || b.Spec.Verify == v1alpha1.VerifyNone ||
		c != nil && (c.Status == metav1.ConditionTrue || c.Reason == v1alpha1.ReasonArchiveDamaged)
}

// failedTest reports whether a test of a backup has found damage. One that could not be made, for lack of a key, a disk
// or the store, proves nothing of the backup.
func failedTest(b *v1alpha1.GaleraBackup) bool {
	v, c := b.Status.Verification, meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionVerified)
	return v != nil && v.Phase == v1alpha1.VerifyFailed && v.Method == b.Spec.Verify &&
		c != nil && c.Status == metav1.ConditionFalse && c.Reason == v1alpha1.ReasonBackupDamaged
}
