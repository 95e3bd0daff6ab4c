package runner

import (
	"context"
	"fmt"
	"path"

	"github.com/galera-operator/galera-operator/internal/backup/manifest"
	"github.com/galera-operator/galera-operator/internal/backup/store"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// describeStored reports a backup that is in the store, if all of its parts are.
func describeStored(ctx context.Context, bucket *store.Bucket, t task.Describe) (task.Result, error) {
	base := path.Join(t.Dir, t.ID)
	m, _, err := readManifest(ctx, bucket, base)
	if err != nil {
		return task.Result{}, err
	}
	if of := manifest.Dir(m.Namespace, m.Cluster, m.ClusterUID); of != t.Dir {
		return task.Result{}, fatal(task.ReasonBackupMisplaced, fmt.Errorf(
			"the manifest in %s is of a backup that belongs in %s", base, path.Join(of, m.ID)))
	}
	done, err := taken(ctx, bucket, base)
	if err == nil && done == nil {
		err = fatal(task.ReasonBackupDamaged, fmt.Errorf(
			"parts of the backup %s are missing, or have another size than its manifest names", base))
	}
	if err != nil {
		return task.Result{}, err
	}
	if _, err := chain(ctx, bucket, t.Dir, m); err != nil {
		return task.Result{}, err
	}
	done.ClusterUID, done.Recipients = m.ClusterUID, m.Recipients
	return task.Result{Backup: done}, nil
}
