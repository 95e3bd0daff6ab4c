package restoration

import (
	"cmp"
	"errors"
	"time"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/manifest"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// Target is the point in time that the spec names, nil for the backup itself. wrong explains what is no point in time.
func Target(c *v1alpha1.GaleraCluster) (t *binlog.Target, wrong string) {
	return Point(c.Bootstrap().PointInTime, "spec.bootstrapFrom.pointInTime")
}

// Point is the one that a field names.
func Point(p *v1alpha1.RestorePoint, field string) (t *binlog.Target, wrong string) {
	if p == nil {
		return nil, ""
	}
	t = &binlog.Target{Latest: p.Latest}
	if p.Time != "" {
		at, err := time.Parse(time.RFC3339, p.Time)
		if err != nil {
			wrong = field + ".time: " + err.Error()
		}
		t.Time = at.UTC()
	}
	g, err := binlog.Parse(p.GTID)
	if err != nil {
		wrong = field + ".gtid: " + err.Error()
	}
	t.GTID = g
	return t, wrong
}

// Replay is what a Job applies: the segments that were found, and not what has been archived since.
func Replay(c *v1alpha1.GaleraCluster) (*task.Replay, error) {
	t, wrong := Target(c)
	if s := c.Status.Restore.Replay; s != nil && (wrong != "" || t == nil) {
		return nil, errors.New("spec.bootstrapFrom.pointInTime has been changed during the restore")
	}
	return ReplayTo(t, c.Status.Restore.Replay, c), nil
}

// ReplayTo is what a Job applies to get to a point, with the settings of a cluster; nil for nothing.
func ReplayTo(t *binlog.Target, s *v1alpha1.ReplayStatus, c *v1alpha1.GaleraCluster) *task.Replay {
	if s == nil || t == nil {
		return nil
	}
	return &task.Replay{Target: *t, From: uint64(s.From), To: uint64(s.To), Bytes: s.Bytes, Sum: s.Sum,
		Domain: uint32(s.Domain), Chain: uint64(s.Chain), Settings: Settings(c)} //nolint:gosec // they were written from such
}

// Settings are those of a cluster's configuration.
func Settings(c *v1alpha1.GaleraCluster) map[string]string {
	out := map[string]string{}
	for name, value := range c.Spec.MariaDB.Config {
		out[name] = value.String()
	}
	return out
}

// FoundReplay is how the archive continues from the backup that was found, as a status names it.
func FoundReplay(r *task.Replay) *v1alpha1.ReplayStatus {
	if r == nil {
		return nil
	}
	return &v1alpha1.ReplayStatus{Target: r.Target.String(), From: int64(r.From), To: int64(r.To), Bytes: r.Bytes,
		Sum: r.Sum, Domain: int64(r.Domain), Chain: int64(r.Chain)} //nolint:gosec // numbers of segments are small
}

// Directory is where the backups of the cluster lie that the spec names: of all clusters of its name,
// if it names no UID.
func Directory(c *v1alpha1.GaleraCluster) string {
	return DirectoryOf(c.Bootstrap().Store, c.Namespace, c.Name)
}

// DirectoryOf is where the backups of a cluster lie, with the namespace and the name that it has by default.
func DirectoryOf(from *v1alpha1.BootstrapStore, namespace, name string) string {
	return manifest.Dir(cmp.Or(from.Namespace, namespace), cmp.Or(from.Cluster, name), from.ClusterUID)
}
