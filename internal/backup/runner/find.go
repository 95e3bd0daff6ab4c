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
	if err := asCreated(m.ID, m.Created, t.Created); err != nil {
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
	all, err := candidates(ctx, bucket, t)
	if err != nil {
		return "", nil, err
	}
	found, err := pick(all, t)
	if err != nil {
		return "", nil, err
	}
	cause, left := leftOut(all, t)
	if len(found) == 0 && left != nil {
		return "", nil, fatal(cause, fmt.Errorf("no other backup is known below %q: %w", t.Dir, left))
	}
	if t.Target != nil {
		base, r, err := target(ctx, bucket, t, found)
		if reason, _ := explain(err); reason == task.ReasonPointInTimeUnavailable && left != nil {
			err = fatal(reason, fmt.Errorf("%w; %w", err, left))
		}
		return base, r, err
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

// candidates are the backups that may be meant. Where one is named, no other one matters, whether it can be read or
// not.
func candidates(ctx context.Context, bucket *store.Bucket, t task.Find) ([]place, error) {
	if t.ID == "" || depth(t.Dir) != levels-1 {
		all, err := list(ctx, bucket, t.Dir)
		if err != nil {
			err = stored("the backups could not be listed", err)
		}
		return all, err
	}
	p, err := placeAt(ctx, bucket, path.Join(t.Dir, t.ID))
	switch {
	case err != nil:
		return nil, stored("the manifest could not be read", err)
	case p == nil:
		return nil, nil
	case p.refused:
		return nil, fatal(task.ReasonStoreRefused, fmt.Errorf("the manifest could not be read: %w", p.broken))
	}
	return []place{*p}, nil
}
