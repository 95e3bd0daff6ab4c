package taking

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/manifest"
	"github.com/galera-operator/galera-operator/internal/backup/policy/archival"
	"github.com/galera-operator/galera-operator/internal/backup/policy/increments"
)

// Owned reports whether the stored data that a status names are the object's to remove: it has made them, or imported
// them. A copy of such an object, with its status, has neither.
func Owned(b *v1alpha1.GaleraBackup) bool {
	if of := b.Spec.Import; of != nil {
		return b.Status.Phase == v1alpha1.BackupCompleted && b.Status.ID == of.ID && b.Status.Directory == of.Directory
	}
	return b.Status.ID == ID(b)
}

// Removal are the facts about the removal of a backup that was imported: all objects that the operator sees.
type Removal struct {
	Backup   *v1alpha1.GaleraBackup
	Backups  []v1alpha1.GaleraBackup
	Clusters []v1alpha1.GaleraCluster
	Restores []v1alpha1.GaleraRestore
	// Window is for how long the archive of a cluster keeps every point in time, and Today the earliest that known clocks
	// show.
	Window func(*v1alpha1.GaleraCluster) time.Duration
	Today  time.Time
}

// Kept returns why the stored data of a backup that was imported are not removed, "" when no object needs them, or may
// need them. What a backup that was made here is guarded by is known from its own object; these may be anyone's. It is
// pure.
func Kept(r Removal) string {
	b := r.Backup
	namespace, _, _ := strings.Cut(b.Status.Directory, "/")
	switch {
	case b.Spec.Import == nil:
		return ""
	case namespace != b.Namespace:
		return fmt.Sprintf("it is a backup of the namespace %q: import it there, and delete it there", namespace)
	case b.Status.Checksum == "":
		return "the checksum of its manifest is not known: import the backup again"
	case b.Status.Store == nil:
		return "where it lies is not known: import the backup again"
	}
	for i := range r.Backups {
		o := &r.Backups[i]
		goes := o.Spec.Import != nil && o.DeletionTimestamp != nil // two imports would wait for each other
		if o.UID != b.UID && isAbout(o, b.Status.ID) && !goes {
			return fmt.Sprintf("the GaleraBackup %s/%s is about it, too: delete that one first", o.Namespace, o.Name)
		}
	}
	for i := range r.Clusters {
		if why := r.neededByCluster(&r.Clusters[i]); why != "" {
			return why
		}
		if why := r.neededByWindow(&r.Clusters[i]); why != "" {
			return why
		}
	}
	for i := range r.Restores {
		o := &r.Restores[i]
		if !o.Ended() && (o.Status.ID == b.Status.ID || begins(b, o.Namespace, o.Spec.ClusterRef.Name, o.Spec.From.Backup,
			o.Spec.From.Store)) {
			return fmt.Sprintf("the GaleraRestore %s/%s may be about to restore it", o.Namespace, o.Name)
		}
	}
	return ""
}

// maxOthers bounds how many backups a Job is given: they are in its environment.
const maxOthers = 1000

// Others returns the IDs of backups that lie where one does and are known not to add to it, the oldest first: it is
// removed although the store does not give their manifests out. It is pure.
func Others(all []v1alpha1.GaleraBackup, b *v1alpha1.GaleraBackup) (out []string) {
	for i := range all {
		o := &all[i]
		if of := o.Status; o.UID != b.UID && of.ID != b.Status.ID && together(o, b) && Owned(o) &&
			of.Phase == v1alpha1.BackupCompleted && knowsBase(o) &&
			(of.Incremental == nil || of.Incremental.Base != b.Status.ID) {
			out = append(out, of.ID)
		}
	}
	slices.Sort(out)
	out = slices.Compact(out)
	return out[:min(len(out), maxOthers)]
}

// together reports whether two backups lie in one directory of one store.
func together(o, b *v1alpha1.GaleraBackup) bool {
	in, of := o.Status.Store, b.Status.Store
	return in != nil && of != nil && *in == *of && o.Status.Directory == b.Status.Directory
}

// knowsBase reports whether the status of a complete backup shows whether it is an increment. One of a build that knew
// no increments may have lost that; one that was imported has an LSN where its manifest was read for it.
func knowsBase(o *v1alpha1.GaleraBackup) bool {
	return o.Status.Incremental != nil || o.Spec.Import == nil && o.Spec.Incremental == nil ||
		o.Spec.Import != nil && o.Status.LSN > 0
}

// isAbout reports whether an object is about the backup of an ID.
func isAbout(o *v1alpha1.GaleraBackup, id string) bool {
	return o.Status.ID == id || ID(o) == id || o.Spec.Import != nil && o.Spec.Import.ID == id
}

// neededByCluster returns why a cluster needs a backup, or may need it, "" when it does not.
func (r Removal) neededByCluster(c *v1alpha1.GaleraCluster) string {
	b, base := r.Backup, ""
	if c.Status.Backup != nil {
		base = c.Status.Backup.Base
	}
	over := r.needs(c).Over()
	own := r.own(c) && !over
	from := c.Bootstrap()
	switch {
	case base == b.Status.ID && !over:
		return fmt.Sprintf("the archive of the cluster %s/%s continues from it: make another backup, and wait until "+
			"status.backup.base names a later one", c.Namespace, c.Name)
	case own && base == "" && !r.needs(c).Precedes(b) && (c.ArchivesBinlog() && !c.Follows() || c.Status.Backup != nil):
		return fmt.Sprintf("which backup the archive of the cluster %s/%s continues from is not known yet", c.Namespace,
			c.Name)
	case from == nil:
		return ""
	case c.Spec.ReplicaOf != nil && begins(b, c.Namespace, c.Name, nil, from.Store):
		return fmt.Sprintf("the cluster %s/%s follows the archive that may continue from it", c.Namespace, c.Name)
	case c.Status.ClusterUUID == "" && begins(b, c.Namespace, c.Name, from.Backup, from.Store):
		return fmt.Sprintf("the cluster %s/%s may be about to be restored from it", c.Namespace, c.Name)
	}
	return ""
}

// neededByWindow returns why points in time of the window of a cluster's own archive may need the backup, "" when
// they do not: a later one from before the window is there. The archive may have been begun anew within the window,
// so that its base, which is that of the last chain, shows nothing.
func (r Removal) neededByWindow(c *v1alpha1.GaleraCluster) string {
	b, needs := r.Backup, r.needs(c)
	if !r.own(c) {
		return ""
	}
	why := fmt.Sprintf("points in time of the archive of the cluster %s/%s may be restored with it, until a later backup "+
		"is older than the window", c.Namespace, c.Name)
	switch need, until := needs.Backup(b); need {
	case archival.NeededNow:
		return why
	case archival.MayBeNeeded:
		return needs.Unnamed()
	case archival.NeededUntil:
		return fmt.Sprintf("points in time of an archive of the cluster %s/%s, which was turned off, may be restored with "+
			"it until %s", c.Namespace, c.Name, until.UTC().Format(time.RFC3339))
	}
	if c.Status.Backup == nil || b.Status.GTID == "" || b.Status.CompletedAt == nil || needs.Over() ||
		needs.Precedes(b) {
		return ""
	}
	begin := needs.End().Add(-needs.Window)
	for i := range r.Backups {
		o := &r.Backups[i]
		if o.Status.ID != b.Status.ID && o.Status.Directory == b.Status.Directory && o.DeletionTimestamp == nil &&
			o.Status.Phase == v1alpha1.BackupCompleted && o.Status.GTID != "" && !o.Damaged() &&
			o.Status.Store != nil && *o.Status.Store == *b.Status.Store && o.Status.CompletedAt != nil &&
			made(o).After(b.Status.CompletedAt.Time) && !made(o).After(begin) {
			return ""
		}
	}
	return why
}

// made is when a backup was complete, at the earliest. The object of an import is younger.
func made(b *v1alpha1.GaleraBackup) time.Time {
	if b.Spec.Import != nil {
		return b.Status.CompletedAt.Time
	}
	return increments.Completed(b)
}

// needs is what is asked about a cluster's archives. One that is off, and has never said how far it is, was off when
// the removal was asked for, as far as is known: it keeps nothing for ever.
func (r Removal) needs(c *v1alpha1.GaleraCluster) archival.Needs {
	return archival.Needs{Cluster: c, Window: r.Window(c), Today: r.Today, Since: r.Backup.DeletionTimestamp}
}

// own reports whether the backup is one of a cluster's own.
func (r Removal) own(c *v1alpha1.GaleraCluster) bool {
	return manifest.Dir(c.Namespace, c.Name, string(c.UID)) == r.Backup.Status.Directory
}

// begins reports whether a backup may be the one that an object in a namespace, about a cluster of a name, begins with.
func begins(b *v1alpha1.GaleraBackup, namespace, name string, backup *v1alpha1.LocalName,
	store *v1alpha1.BootstrapStore) bool {
	switch {
	case backup != nil:
		return namespace == b.Namespace && backup.Name == b.Name
	case store != nil:
		dir := manifest.Dir(cmp.Or(store.Namespace, namespace), cmp.Or(store.Cluster, name), store.ClusterUID)
		return (store.ID == "" || store.ID == b.Status.ID) && strings.HasPrefix(b.Status.Directory+"/", dir+"/")
	}
	return false
}
