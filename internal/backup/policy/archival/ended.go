package archival

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/location"
)

// defaultWindow is that of spec.backup.pointInTime.
const defaultWindow = 720 * time.Hour

// Window is for how long every point in time is kept: what the store's retention promises for backups holds for the
// archive, too. What is archived keeps its window when point in time is turned off, though the spec may not have it any
// more.
func Window(c *v1alpha1.GaleraCluster, s *v1alpha1.GaleraBackupStore) (out time.Duration) {
	if a := c.Status.Backup; a != nil && a.Window != nil && !c.ArchivesBinlog() {
		out = a.Window.Duration
	}
	if b := c.Spec.Backup; b != nil && b.PointInTime != nil && b.PointInTime.Window != nil {
		out = max(out, b.PointInTime.Window.Duration)
	}
	if out == 0 {
		out = defaultWindow
	}
	if s != nil && s.Spec.Retention != nil && s.Spec.Retention.KeepWithin != nil {
		out = max(out, s.Spec.Retention.KeepWithin.Duration)
	}
	return out
}

// TurnOff returns what is to be known of a cluster's archive that is turned off: retention keeps what its window needs,
// until that has passed. nil for nothing. An archive that ended before may need more, also in another store. What ended
// long ago goes by the earlier of the clocks, today, and what ends now by the later, since neither may be right.
func TurnOff(c *v1alpha1.GaleraCluster, window time.Duration, today, late time.Time) *v1alpha1.EndedArchive {
	before, a := Remembered(c.Status.EndedArchive, today), c.Status.Backup
	if a == nil {
		return before
	}
	if at := a.ArchivedThrough; at != nil {
		late = later(late, at.Time)
	}
	if a.Window != nil {
		window = max(window, a.Window.Duration)
	}
	until := metav1.NewTime(late.Add(window).Truncate(time.Second))
	out := &v1alpha1.EndedArchive{Until: until, Window: metav1.Duration{Duration: window}}
	if unnamed(a) {
		out.UnnamedUntil = &until
	}
	for _, id := range named(a) {
		out.Needed = append(out.Needed, v1alpha1.NeededBackup{ID: id, Until: until})
	}
	if before != nil {
		add(out, before)
	}
	limit(out)
	return out
}

// Relocate begins the status of an archive anew where its archiver, which has answered, is at work elsewhere than the
// one that it is about: what points in time of that one need is known as if it was turned off. What an archiver finds
// in one place says nothing about another. A status of an earlier release does not name the place.
func Relocate(to *v1alpha1.GaleraCluster, f Facts, late time.Time) {
	a := to.Status.Backup
	if f.Archived == nil {
		return
	}
	at := location.Parse(f.Archived.Place)
	switch {
	case at == nil || a.Store != nil && *a.Store == *at:
	case a.Store == nil:
		a.Store = at
	default:
		to.Status.EndedArchive = TurnOff(to, Window(to, nil), f.today(), late)
		to.Status.Backup = &v1alpha1.ArchiveStatus{Session: a.Session, AlignedAt: a.AlignedAt, Store: at}
	}
}

// add adds what archives need that have ended before. A base is of one session of archiving, so one that an earlier
// archive has needed is of no use to this one: it stays for the window that its own has had, or for what this one's was
// longer.
func add(to, before *v1alpha1.EndedArchive) {
	more := max(0, to.Window.Duration-before.Window.Duration)
	longer := func(t *metav1.Time) *metav1.Time {
		if t == nil {
			return nil
		}
		return new(metav1.NewTime(t.Add(more)))
	}
	to.Until = *latest(&to.Until, longer(&before.Until))
	to.Window.Duration = max(to.Window.Duration, before.Window.Duration)
	to.UnnamedUntil = latest(to.UnnamedUntil, longer(before.UnnamedUntil))
	for _, b := range before.Needed {
		b.Until = *longer(&b.Until)
		i := slices.IndexFunc(to.Needed, func(o v1alpha1.NeededBackup) bool { return o.ID == b.ID })
		if i < 0 {
			to.Needed = append(to.Needed, b)
		} else {
			to.Needed[i] = b
		}
	}
}

// limit has no more backups named than the status may. Those whose time passes first go unnamed.
func limit(to *v1alpha1.EndedArchive) {
	if len(to.Needed) <= v1alpha1.MaxNeeded {
		return
	}
	slices.SortStableFunc(to.Needed, func(a, b v1alpha1.NeededBackup) int { return b.Until.Compare(a.Until.Time) })
	to.UnnamedUntil = latest(to.UnnamedUntil, &to.Needed[v1alpha1.MaxNeeded].Until)
	to.Needed = to.Needed[:v1alpha1.MaxNeeded]
}

// remembered is for how long a backup is named that no point in time needs any more. The archive that was turned on
// again may name it until its next survey: were it forgotten, that would count as the need of another window.
const remembered = 24 * time.Hour

// Remembered is what the status has of archives that have ended: also, for a day, what is not needed any more.
func Remembered(e *v1alpha1.EndedArchive, today time.Time) *v1alpha1.EndedArchive {
	return Ended(e, today.Add(-remembered))
}

// Ended is what is known of archives that have ended, without those whose window has passed by the earlier of the
// clocks; nil once all have.
func Ended(e *v1alpha1.EndedArchive, today time.Time) *v1alpha1.EndedArchive {
	if e == nil || !today.Before(e.Until.Time) {
		return nil
	}
	out := e.DeepCopy()
	out.Needed = slices.DeleteFunc(out.Needed,
		func(b v1alpha1.NeededBackup) bool { return !today.Before(b.Until.Time) })
	if len(out.Needed) == 0 {
		out.Needed = nil
	}
	if out.UnnamedUntil != nil && !today.Before(out.UnnamedUntil.Time) {
		out.UnnamedUntil = nil
	}
	return out
}

// latest is the later of two times, nil for neither.
func latest(a, b *metav1.Time) *metav1.Time {
	if a == nil || b != nil && b.After(a.Time) {
		a = b
	}
	if a == nil {
		return nil
	}
	return new(*a)
}

// bounded are the first of some backups. Retention keeps all that may be among the others while there are so many.
func bounded(ids []string) []string { return slices.Clone(ids[:min(len(ids), v1alpha1.MaxNeeded)]) }
