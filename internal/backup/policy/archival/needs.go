package archival

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// Needs is what is asked about a cluster's archives: which backups points in time need of the one that is there, and of
// those that were turned off. It is pure.
type Needs struct {
	Cluster *v1alpha1.GaleraCluster
	// Store is the one that the backups are in, "" where the archive may be in any.
	Store string
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
	if base && n.unknown() {
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
	if !n.here() || n.Over() {
		return false
	}
	if a == nil {
		return n.Cluster.ArchivesBinlog() && !n.Cluster.Follows()
	}
	return unnamed(a)
}

// here reports whether an archive that is there may be in the store.
func (n Needs) here() bool {
	asked := n.Cluster.Spec.Backup
	return n.Store == "" || asked == nil || asked.StoreRef.Name == n.Store
}

// Archive is for how long archives in the store keep every point in time, 0 without one.
func (n Needs) Archive() (out time.Duration) {
	if n.here() && (n.Cluster.ArchivesBinlog() || n.Cluster.Status.Backup != nil && !n.Over()) {
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

// unnamed reports whether it may need others: none is known, which is not to say that there is none, or there are more.
func unnamed(a *v1alpha1.ArchiveStatus) bool {
	return len(a.Needed) == 0 || len(a.Needed) >= v1alpha1.MaxNeeded
}
