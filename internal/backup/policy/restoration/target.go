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
	p := c.Spec.BootstrapFrom.PointInTime
	if p == nil {
		return nil, ""
	}
	t = &binlog.Target{Latest: p.Latest}
	if p.Time != "" {
		at, err := time.Parse(time.RFC3339, p.Time)
		if err != nil {
			wrong = "spec.bootstrapFrom.pointInTime.time: " + err.Error()
		}
		t.Time = at.UTC()
	}
	g, err := binlog.Parse(p.GTID)
	if err != nil {
		wrong = "spec.bootstrapFrom.pointInTime.gtid: " + err.Error()
	}
	t.GTID = g
	return t, wrong
}

// Replay is what a Job applies: the segments that were found, and not what has been archived since.
func Replay(c *v1alpha1.GaleraCluster) (*task.Replay, error) {
	s := c.Status.Restore.Replay
	if s == nil {
		return nil, nil
	}
	t, wrong := Target(c)
	if wrong != "" || t == nil {
		return nil, errors.New("spec.bootstrapFrom.pointInTime has been changed during the restore")
	}
	r := &task.Replay{Target: *t, From: uint64(s.From), To: uint64(s.To), Bytes: s.Bytes, Sum: s.Sum,
		Domain: uint32(s.Domain)} //nolint:gosec // they were written from such
	r.Settings = map[string]string{}
	for name, value := range c.Spec.MariaDB.Config {
		r.Settings[name] = value.String()
	}
	return r, nil
}

func replayStatus(r *task.Replay) *v1alpha1.ReplayStatus {
	if r == nil {
		return nil
	}
	return &v1alpha1.ReplayStatus{Target: r.Target.String(), From: int64(r.From), To: int64(r.To), Bytes: r.Bytes,
		Sum: r.Sum, Domain: int64(r.Domain)} //nolint:gosec // numbers of segments are small
}

// Directory is where the backups of the cluster lie that spec.bootstrapFrom.store names: of all clusters of its name,
// if it names no UID.
func Directory(c *v1alpha1.GaleraCluster) string {
	from := c.Spec.BootstrapFrom.Store
	return manifest.Dir(cmp.Or(from.Namespace, c.Namespace), cmp.Or(from.Cluster, c.Name), from.ClusterUID)
}
