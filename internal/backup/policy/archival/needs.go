package archival

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/location"
	"github.com/galera-operator/galera-operator/internal/backup/policy/increments"
)

// Needs is what is asked about a cluster's archives: which backups points in time need of the one that is there, and of
// those that were turned off. It is pure.
type Needs struct {
	Cluster *v1alpha1.GaleraCluster
	// Store is the one that the backups are in, nil where the archive may be in any.
	Store *v1alpha1.GaleraBackupStore
	// Window is that of the archive, and Today the earliest that the clocks show which are known.
	Window time.Duration
	Today  time.Time
	// Since is when an archive that is off, and has never said how far it is, was off; nil while that is not known.
	Since *metav1.Time
}

// Need is why a backup is needed.
type Need int

const (
	// NotNeeded is for a backup that no point in time needs.
	NotNeeded Need = iota
	// NeededNow is for one that the archive that is there names.
	NeededNow
	// MayBeNeeded is for one that it may need: which ones it needs is not known, or it needs more than are named.
	MayBeNeeded
	// NeededUntil is for one that an archive needs that was turned off, or may need.
	NeededUntil
)

// Backup returns whether points in time need a backup of the cluster, and for NeededUntil until when. What the status
// has holds whatever the spec has since: the operator may not act on that, as on a cluster that is paused. IDs are
// unique, wherever the archive is.
func (n Needs) Backup(b *v1alpha1.GaleraBackup) (why Need, until time.Time) {
	id, base := b.Status.ID, b.Status.GTID != ""
	if a := n.Cluster.Status.Backup; a != nil && id != "" && slices.Contains(named(a), id) && !n.Over() {
		return NeededNow, until
	}
	if base && n.unknown() && !n.Precedes(b) {
		return MayBeNeeded, until
	}
	e := Ended(n.Cluster.Status.EndedArchive, n.Today)
	if e == nil {
		return NotNeeded, until
	}
	for _, o := range e.Needed {
		if id != "" && o.ID == id {
			why, until = NeededUntil, o.Until.Time
		}
	}
	if at := e.UnnamedUntil; base && at != nil && at.After(until) {
		why, until = NeededUntil, at.Time
	}
	return why, until
}

// unknown reports whether the archive may need backups that the status does not name. A cluster that follows another
// one has none that goes on.
func (n Needs) unknown() bool {
	a := n.Cluster.Status.Backup
	if !n.Here() || n.Over() {
		return false
	}
	if a == nil {
		return n.Cluster.ArchivesBinlog() && !n.Cluster.Follows()
	}
	return unnamed(a)
}

// Here reports whether an archive that is there, or asked for, may be in the store.
func (n Needs) Here() bool {
	a, asked := n.Cluster.Status.Backup, n.Cluster.Spec.Backup
	if n.Store == nil || a != nil && a.Store != nil && location.Changed(a.Store, n.Store) == "" {
		return true
	}
	return (a == nil || a.Store == nil) && asked == nil || asked != nil && asked.StoreRef.Name == n.Store.Name
}

// Precedes reports whether a backup was complete before its store was seen to have no segment of the archive, a short
// while ago. A chain that begins meanwhile may go on from it, if nothing was written since: its archiver names it then.
func (n Needs) Precedes(b *v1alpha1.GaleraBackup) bool {
	a := n.Cluster.Status.Backup
	of := b.Status.Store
	seen := a != nil && a.EmptyAt != nil && a.Store != nil && of != nil && *a.Store == *of
	return seen && n.Today.Sub(a.EmptyAt.Time) < emptyValid && b.Status.CompletedAt != nil &&
		increments.Completed(b).Add(binlog.ClockSlack).Before(a.EmptyAt.Time)
}

// Unnamed is why backups may be needed that status.backup.needed does not name, and what ends that.
func (n Needs) Unnamed() string {
	a := n.Cluster.Status.Backup
	of := fmt.Sprintf("points in time of the archive of the cluster %s/%s", n.Cluster.Namespace, n.Cluster.Name)
	switch {
	case a != nil && len(a.Needed) >= v1alpha1.MaxNeeded:
		return fmt.Sprintf("%s may need more backups than the %d of status.backup.needed, until the earliest parts of the "+
			"archive are older than its window", of, v1alpha1.MaxNeeded)
	case n.Cluster.Paused():
		return fmt.Sprintf("which backups %s need is not known, and the cluster is paused: remove its annotation %s", of,
			v1alpha1.AnnotationPause)
	}
	return fmt.Sprintf("which backups %s need is not known until its status.backup.needed names one: "+
		"status.backup.message has what that waits for. Once the archive is turned off, it ends with its window", of)
}

// Archive is for how long archives in the store keep every point in time, 0 without one.
func (n Needs) Archive() (out time.Duration) {
	if n.Here() && (n.Cluster.ArchivesBinlog() || n.Cluster.Status.Backup != nil && !n.Over()) {
		out = n.Window
	}
	if e := Ended(n.Cluster.Status.EndedArchive, n.Today); e != nil {
		out = max(out, e.Window.Duration)
	}
	return out
}

// Over reports whether archiving was turned off, and all of the cluster's archive is older than the window, though the
// status has it yet.
func (n Needs) Over() bool {
	return n.Cluster.Status.Backup != nil && !n.Cluster.ArchivesBinlog() && n.Today.Sub(n.End()) > n.Window
}

// End is until when the archive that is there has points in time.
func (n Needs) End() time.Time {
	at := n.Cluster.Status.Backup.ArchivedThrough
	if at == nil && !n.Cluster.ArchivesBinlog() {
		at = n.Since
	}
	if at == nil || n.Today.Before(at.Time) {
		return n.Today
	}
	return at.Time
}

// named are the backups that points in time need, as far as an archive has said.
func named(a *v1alpha1.ArchiveStatus) (out []string) {
	if a.Base != "" {
		out = append(out, a.Base)
	}
	for _, id := range a.Needed {
		if id != "" && !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

// unnamed reports whether it may need others: none is known, which does not mean that there is none, or there are more.
func unnamed(a *v1alpha1.ArchiveStatus) bool {
	return len(a.Needed) == 0 || len(a.Needed) >= v1alpha1.MaxNeeded
}
