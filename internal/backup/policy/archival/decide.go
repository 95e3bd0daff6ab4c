package archival

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/location"
)

const (
	// startTimeout is how long an archiver may need before its silence is a failure.
	startTimeout = 2 * time.Minute
	// maxLag is how far the archive may be behind, in addition to its interval.
	maxLag = time.Minute
	// updateInterval is how often times that move are written down.
	updateInterval = 10 * time.Second
	// emptyInterval is how often it is written down that the store has no segment, emptyAge how old that may be when it is
	// reported, and emptyValid until when it counts.
	emptyInterval, emptyAge, emptyValid = 10 * time.Minute, 2 * time.Minute, 15 * time.Minute
)

// Decide brings status.backup up to date, and returns the backup that is asked for. It is pure.
func Decide(to *v1alpha1.ArchiveStatus, f Facts) (ask Request) {
	if f.Store != nil && location.Changed(to.Store, f.Store) == "" {
		to.Window = &metav1.Duration{Duration: Window(f.Cluster, f.Store)}
	}
	begun := to.Segments > 0 || to.Chain > 0 || to.ArchivedThrough != nil || len(named(to)) > 0
	if a := f.Archived; a != nil {
		to.Node, to.Segments = a.Node, int64(a.Segment) //nolint:gosec // a segment a second forever
		switch at := to.ArchivedThrough; {
		case at == nil || a.Through.Sub(at.Time) >= updateInterval:
			to.ArchivedGTID, to.ArchivedThrough = a.GTID, timeOf(a.Through)
		case a.GTID != to.ArchivedGTID && f.Now.Sub(at.Time) >= updateInterval:
			// Until a later time is stored, half a minute may pass in which nothing is written.
			to.ArchivedGTID, to.ArchivedThrough = a.GTID, timeOf(later(at.Time, a.Through))
		}
		if a.Bytes > 0 {
			to.StoredSize = resource.NewQuantity(a.Bytes, resource.BinarySI)
		}
		switch {
		case a.Needed == nil:
		case len(a.Needed) == 0 && a.Segment == 0 && !begun: // a store that had some may only look empty, as unmounted
			if at := f.today().Add(-emptyAge); to.EmptyAt == nil || at.Sub(to.EmptyAt.Time).Abs() >= emptyInterval {
				to.EmptyAt = timeOf(at)
			}
		case a.Kept == "":
			to.Needed = bounded(a.Needed)
		case len(to.Needed) > 0: // it cannot read all of the backups: it may name others instead
			to.Needed = bounded(union(a.Needed, to.Needed))
		}
		if a.Surveyed {
			to.Chain, to.Gap, to.Base, to.RecoverableFrom = int64(a.Chain), a.Gap, a.Base,
				timeOf(secondAfter(a.From)) //nolint:gosec // as above
		}
	}
	lag(to, f.Now)
	to.Reason, to.Message, ask = judge(to, f)
	to.Message += f.numbers() + f.clocks()
	if f.NoLease != "" {
		to.Message += ". " + f.NoLease
	}
	return ask
}

func (f Facts) today() time.Time {
	if f.Today.IsZero() {
		return f.Now
	}
	return f.Today
}

// lag sets how far behind the archive is, in steps: a status that changes with every check wakes every watcher.
func lag(to *v1alpha1.ArchiveStatus, now time.Time) {
	if to.ArchivedThrough == nil {
		to.Lag = nil
		return
	}
	d := max(0, now.Sub(to.ArchivedThrough.Time)).Truncate(updateInterval)
	to.Lag = &metav1.Duration{Duration: d}
}

// judge returns what is wrong, or waited for.
func judge(to *v1alpha1.ArchiveStatus, f Facts) (reason, message string, ask Request) {
	interval := 10 * time.Second
	if i := f.Cluster.Spec.Backup.PointInTime.Interval; i != nil {
		interval = i.Duration
	}
	a := f.Archived
	switch {
	case a == nil && f.Problem.Reason != "":
		return f.Problem.Reason, f.Problem.Message, Request{}
	case a == nil && (to.ArchivedThrough == nil || f.Now.Sub(to.ArchivedThrough.Time) < startTimeout):
		return v1alpha1.ReasonArchiverStarting, f.Silent, Request{}
	case a == nil:
		return v1alpha1.ReasonArchiverFailing, f.Silent, Request{}
	case (a.Chain == 0 || !a.Surveyed) && a.Problem != "":
		return firstNonEmpty(a.Reason, v1alpha1.ReasonArchiverStarting), a.Problem, Request{}
	case a.Chain == 0 || !a.Surveyed:
		message = "the archiver determines where the archive ends"
		if a.Kept != "" {
			message += ": " + a.Kept
		}
		return v1alpha1.ReasonArchiverStarting, message, Request{}
	case a.Base == "":
		return withoutBase(to, f)
	case to.Lag != nil && to.Lag.Duration > interval+maxLag && a.Problem != "":
		return firstNonEmpty(a.Reason, v1alpha1.ReasonArchiverFailing), fmt.Sprintf("nothing is archived since %s: %s",
			clock(to.ArchivedThrough), a.Problem), Request{}
	case to.Lag != nil && to.Lag.Duration > interval+maxLag:
		return v1alpha1.ReasonArchiveLags, fmt.Sprintf("the archive is behind: it has what was committed until %s. "+
			"Check the load of the nodes and of the store", clock(to.ArchivedThrough)), Request{}
	case a.From.IsZero():
		return v1alpha1.ReasonBaseMissing, fmt.Sprintf("the archive ends at %s, before the backup %s: "+
			"no point in time can be restored until a later transaction is archived", a.GTID, a.Base), Request{}
	}
	message = "any point in time from " + clock(to.RecoverableFrom) +
		" on can be restored, up to status.backup.archivedThrough"
	if a.Kept != "" {
		return v1alpha1.ReasonPruningPaused, message + "; no segment is removed, because " + a.Kept, Request{}
	}
	return v1alpha1.ReasonArchiving, message, Request{}
}

func union(a, b []string) []string {
	return append(slices.Clone(a), slices.DeleteFunc(slices.Clone(b),
		func(id string) bool { return slices.Contains(a, id) })...)
}

func firstNonEmpty(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func timeOf(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	return &metav1.Time{Time: t.Truncate(time.Second)}
}

// secondAfter is the first whole second that is not before a time: an earlier one is before the backup.
func secondAfter(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.Add(time.Second - 1).Truncate(time.Second)
}

func clock(t *metav1.Time) string {
	if t == nil {
		return "never"
	}
	return t.UTC().Format(time.RFC3339)
}
