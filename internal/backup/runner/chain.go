package runner

import (
	"context"
	"fmt"
	"path"
	"slices"

	"github.com/galera-operator/galera-operator/internal/backup/manifest"
	"github.com/galera-operator/galera-operator/internal/backup/store"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// chain returns the manifests of a backup and of those that it adds to: its own first, that of the full one last.
func chain(ctx context.Context, bucket *store.Bucket, dir string, m manifest.Manifest) ([]manifest.Manifest, error) {
	out := []manifest.Manifest{m}
	for m.Base != nil { // each depth is one less than the one before, and bounded
		base, text, err := readManifest(ctx, bucket, path.Join(dir, m.Base.ID))
		if reason, _ := explain(err); reason == task.ReasonBackupNotFound {
			return nil, damaged(m.Base.ID, fmt.Errorf(
				"the backup %s is an increment of %s, which the store does not have", m.ID, m.Base.ID))
		}
		if err != nil {
			return nil, err
		}
		if why := m.Extends(base, manifest.Checksum(text)); why != "" {
			return nil, damaged(base.ID, fmt.Errorf("the backup %s cannot be added to %s: %s", m.ID, base.ID, why))
		}
		out, m = append(out, base), base
	}
	return out, nil
}

// based reports why an increment cannot be of the base that a task names, "" when it can.
func based(ctx context.Context, bucket *store.Bucket, dir string, m manifest.Manifest) (why string, err error) {
	if m.Base == nil {
		return "", nil
	}
	_, err = chain(ctx, bucket, dir, m)
	if reason, _ := explain(err); reason == task.ReasonBackupDamaged {
		return err.Error(), nil
	}
	return "", err
}

// brokenChains marks the increments that the store lacks a base of. It is pure.
func brokenChains(all []*place) {
	at := map[string]*place{}
	for _, p := range all {
		if p != nil {
			at[path.Join(p.dir, p.id)] = p
		}
	}
	for _, p := range all {
		for q, n := p, 0; q != nil && q.base != "" && p.broken == nil; n++ {
			base := at[path.Join(q.dir, q.base)]
			if base == nil || base.broken != nil && base.base == "" || n > manifest.MaxDepth {
				p.orphan = true
				p.broken = fmt.Errorf("it needs the backup %s, which the store does not have, or which cannot be read", q.base)
			}
			q = base
		}
	}
}

// needed returns the ID of an increment of a backup, "" for none. One whose manifest is damaged is restored by nothing,
// and needs nothing. One whose manifest the store does not give out may be an increment, unless it is one of the
// others, which are known to be none. Its ID shows nothing: a backup that waits may add to one with a later ID.
func needed(ctx context.Context, bucket *store.Bucket, dir, id string, others ...string) (string, error) {
	all, err := list(ctx, bucket, dir)
	if err != nil {
		return "", stored("the backups could not be listed, to find increments of this one", err)
	}
	for _, p := range all {
		if p.dir == dir && p.base == id {
			return p.id, nil
		}
	}
	for _, p := range all {
		switch {
		case p.dir != dir || !p.refused || slices.Contains(others, p.id):
		case p.id == id:
			return "", fatal(task.ReasonStoreRefused, fmt.Errorf("the manifest could not be read: %w", p.broken))
		default:
			return "", fatal(task.ReasonStoreRefused, fmt.Errorf("the backup %s may be an increment of this one, and the "+
				"store does not give its manifest out (%w): make it readable, or remove its directory", p.id, p.broken))
		}
	}
	return "", nil
}
