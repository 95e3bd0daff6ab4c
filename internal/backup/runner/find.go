package runner

import (
	"context"
	"fmt"
	"path"

	"github.com/galera-operator/galera-operator/internal/backup/archive"
	"github.com/galera-operator/galera-operator/internal/backup/store"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// find reports which backup a restore is of, and shows that the private keys open it: before any volume is filled.
func find(ctx context.Context, bucket *store.Bucket, t task.Find) (task.Result, error) {
	base, replay, err := locate(ctx, bucket, t)
	if err != nil {
		return task.Result{}, err
	}
	m, text, err := readManifest(ctx, bucket, base)
	if err == nil {
		err = onRecord(base, text, t.Checksum)
	}
	if err != nil {
		return task.Result{}, err
	}
	all, err := chain(ctx, bucket, path.Dir(base), m)
	if err != nil {
		return task.Result{}, err
	}
	keys, err := archive.Identities(task.KeysDir)
	if err != nil {
		return task.Result{}, fatal(task.ReasonWrongKey, err)
	}
	for _, m := range all {
		if err := tryKeys(ctx, bucket, path.Join(path.Dir(base), m.ID), m, keys); err != nil {
			return task.Result{}, err
		}
	}
	return task.Result{Backup: describe(m, text, path.Dir(base)), Replay: replay}, nil
}

// locate returns where a backup lies: the latest below a directory when no ID is given, and the latest before a point
// in time.
func locate(ctx context.Context, bucket *store.Bucket, t task.Find) (string, *task.Replay, error) {
	found, err := list(ctx, bucket, t.Dir)
	if err != nil {
		return "", nil, stored("the backups could not be listed", err)
	}
	if found, err = pick(found, t); err != nil {
		return "", nil, err
	}
	if t.Target != nil {
		return target(ctx, bucket, t, found)
	}
	if len(found) > 0 {
		return path.Join(found[0].dir, found[0].id), nil, nil
	}
	what := "a complete backup " + t.ID
	if t.ID == "" {
		what = "any complete backup"
	}
	return "", nil, fatal(task.ReasonBackupNotFound, fmt.Errorf("the store does not have %s below %q", what, t.Dir))
}
