package plugin

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/manifest"
)

// restoreSource is what Kubernetes has about the source of a restore, nil for what it does not have. The store itself
// is asked by the restore's Job, before there is any volume.
type restoreSource struct {
	backup  *v1alpha1.GaleraBackup
	store   *v1alpha1.GaleraBackupStore
	cluster *v1alpha1.GaleraCluster
}

// knownOf reads it. What cannot be read is not known.
func (e restores) knownOf(ctx context.Context, c *v1alpha1.GaleraCluster) (k restoreSource) {
	from := c.Spec.BootstrapFrom
	b, s, of := &v1alpha1.GaleraBackup{}, &v1alpha1.GaleraBackupStore{}, &v1alpha1.GaleraCluster{}
	key := client.ObjectKey{Namespace: c.Namespace}
	switch {
	case from.Backup != nil:
		if key.Name = from.Backup.Name; e.kube.Get(ctx, key, b) == nil {
			k.backup = b
		}
	case from.Store != nil:
		if key.Name = from.Store.Name; e.kube.Get(ctx, key, s) == nil {
			k.store = s
		}
		key = client.ObjectKey{Namespace: cmp.Or(from.Store.Namespace, c.Namespace), Name: cmp.Or(from.Store.Cluster, c.Name)}
		if e.kube.Get(ctx, key, of) == nil && archivedIn(of, c) {
			k.cluster = of
		}
	}
	return k
}

// archivedIn reports whether a cluster's archive is the one that a restore is from. A store of the same name in another
// namespace may be another one.
func archivedIn(of, c *v1alpha1.GaleraCluster) bool {
	from := c.Spec.BootstrapFrom.Store
	return of.Namespace == c.Namespace && of.ArchivesBinlog() && of.Spec.Backup.StoreRef.Name == from.Name &&
		(from.ClusterUID == "" || strings.HasPrefix(string(of.UID), from.ClusterUID))
}

// outside reports why a point is before every backup, or after the end of the archive, with what there is. nil if it is
// neither, or if that is not known. It is pure.
func outside(c *v1alpha1.GaleraCluster, k restoreSource) error {
	p := c.Spec.BootstrapFrom.PointInTime
	if p == nil {
		return nil
	}
	at, _ := time.Parse(time.RFC3339, p.Time)
	if p.Time != "" {
		if first, which := k.earliest(c); !first.IsZero() && at.Before(first) {
			return fmt.Errorf("%s cannot be restored: it is before %s, complete at %s. %s", clock(at), which,
				clock(first), k.recoverable())
		}
	}
	if k.cluster == nil || k.cluster.Status.Backup == nil {
		return nil
	}
	s := k.cluster.Status.Backup
	last, err := binlog.Parse(s.ArchivedGTID)
	switch wanted, _ := binlog.Parse(p.GTID); {
	case p.Time != "" && s.ArchivedThrough != nil && at.After(s.ArchivedThrough.Time):
		return fmt.Errorf("%s cannot be restored yet: it is after the end of the archive. %s. --latest restores all that "+
			"was archived", clock(at), k.recoverable())
	case p.GTID != "" && err == nil && wanted.Domain != last.Domain:
		return fmt.Errorf("%s cannot be restored: the archive has the GTID domain %d. %s", p.GTID, last.Domain,
			k.recoverable())
	}
	return nil
}

// earliest is when the first backup that a restore may begin with was complete, the zero time if that is not known: a
// store's status names its latest backups only.
func (k restoreSource) earliest(c *v1alpha1.GaleraCluster) (first time.Time, which string) {
	switch {
	case k.backup != nil && k.backup.Status.Phase == v1alpha1.BackupCompleted && k.backup.Status.CompletedAt != nil:
		return k.backup.Status.CompletedAt.Time, "the backup " + k.backup.Name
	case k.store == nil || k.store.Status.Backups == nil || int(*k.store.Status.Backups) != len(k.store.Status.Latest):
		return first, ""
	}
	from := c.Spec.BootstrapFrom.Store
	dir := manifest.Dir(cmp.Or(from.Namespace, c.Namespace), cmp.Or(from.Cluster, c.Name), from.ClusterUID)
	for _, b := range k.store.Status.Latest {
		ours := b.Directory == dir || from.ClusterUID == "" && path.Dir(b.Directory) == dir
		if ours && (from.ID == "" || from.ID == b.ID) && (first.IsZero() || b.CompletedAt.Time.Before(first)) {
			first, which = b.CompletedAt.Time, "the first backup, "+b.ID
		}
	}
	return first, which
}

// recoverable describes what the living cluster reports.
func (k restoreSource) recoverable() string {
	if k.cluster == nil || k.cluster.Status.Backup == nil {
		return "Name a later point, or an earlier backup"
	}
	s := k.cluster.Status.Backup
	return fmt.Sprintf("What can be restored without a gap is from %s to %s (%s)", clockOf(s.RecoverableFrom),
		clockOf(s.ArchivedThrough), s.ArchivedGTID)
}

func clock(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

func clockOf(t *metav1.Time) string {
	if t == nil {
		return "no time"
	}
	return clock(t.Time)
}
