package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"

	"gocloud.dev/blob"

	"github.com/galera-operator/galera-operator/internal/backup/manifest"
	"github.com/galera-operator/galera-operator/internal/backup/store"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// removing is what a backup's manifest is called until it is certain that no increment needs it.
const removing = "removing.json"

// removeRecorded deletes a backup if its manifest is the one on record. One without a manifest is a removal that goes
// on.
func removeRecorded(ctx context.Context, bucket *store.Bucket, t task.Remove) error {
	base := path.Join(t.Dir, t.ID)
	if t.Checksum != "" {
		text, err := bucket.ReadAll(ctx, path.Join(base, manifest.Name))
		switch {
		case store.Missing(err):
			err = nil
		case err != nil:
			err = stored("the manifest could not be read", err)
		default:
			err = onRecord(base, text, t.Checksum)
		}
		if err != nil {
			return err
		}
	}
	return remove(ctx, bucket, t.Dir, t.ID, t.Others...)
}

// remove deletes a backup that no increment needs: its manifest first, so that half of one is none. An increment may
// become complete meanwhile. It asks for its base after it has written its manifest (stands), and this asks for
// increments after it has removed one: the later of both sees the other. It may be killed anywhere.
func remove(ctx context.Context, bucket *store.Bucket, dir, id string, others ...string) error {
	base := path.Join(dir, id)
	if err := free(ctx, bucket, dir, id, others...); err != nil {
		return err
	}
	text, err := bucket.ReadAll(ctx, path.Join(base, manifest.Name))
	switch {
	case store.Missing(err):
	case err != nil:
		return stored("the manifest could not be read", err)
	default:
		err := store.Write(ctx, bucket, path.Join(base, removing), text)
		if reason, _ := store.Reason(err); err != nil && reason != task.ReasonStoreFull { // space is made by removals
			return stored("a copy of the manifest could not be written", err)
		}
	}
	if err := gone(ctx, bucket, path.Join(base, manifest.Name)); err != nil {
		return stored("the manifest could not be deleted", err)
	}
	if err := free(ctx, bucket, dir, id, others...); err != nil {
		return err
	}
	if err := gone(ctx, bucket, path.Join(base, removing)); err != nil { // from here on nothing brings it back
		return stored("the copy of the manifest could not be deleted", err)
	}
	objects := bucket.List(&blob.ListOptions{Prefix: base + "/"})
	for {
		object, err := objects.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return stored("the parts could not be listed", err)
		}
		if err := gone(ctx, bucket, object.Key); err != nil {
			return stored("a part could not be deleted", err)
		}
	}
}

func gone(ctx context.Context, bucket *store.Bucket, key string) error {
	if err := bucket.Delete(ctx, key); err != nil && !store.Missing(err) {
		return err
	}
	return nil
}

// free returns an error while an increment needs a backup, whose manifest is there again then.
func free(ctx context.Context, bucket *store.Bucket, dir, id string, others ...string) error {
	by, err := needed(ctx, bucket, dir, id, others...)
	if by == "" || err != nil {
		return err
	}
	base := path.Join(dir, id)
	text, err := bucket.ReadAll(ctx, path.Join(base, removing))
	switch {
	case store.Missing(err):
	case err != nil:
		return stored("the copy of the manifest could not be read", err)
	default:
		there, err := store.Exists(ctx, bucket, path.Join(base, manifest.Name))
		if err == nil && !there {
			err = put(ctx, bucket, path.Join(base, manifest.Name), text)
		}
		if err != nil {
			return stored("the manifest could not be written again", err)
		}
		if err := gone(ctx, bucket, path.Join(base, removing)); err != nil {
			return stored("the copy of the manifest could not be deleted", err)
		}
	}
	return because(task.ReasonBackupNeeded, fmt.Errorf("the increment %s in the store needs the backup %s", by, id))
}

// stands reports whether the backup that was just completed is one: what it adds to may have been removed while its
// manifest was written. It is none then. A store that is away for a moment does not make it fail: it is complete.
func stands(ctx context.Context, bucket *store.Bucket, base string) (why string, err error) {
	err = again(ctx, "the backup could not be read again", func(ctx context.Context) error {
		m, _, err := readManifest(ctx, bucket, base)
		if err == nil {
			why, err = based(ctx, bucket, path.Dir(base), m)
		}
		if reason, _ := explain(err); reason == task.ReasonStoreUnreachable {
			return errors.New(err.Error()) // to be tried again
		}
		return err
	})
	if why == "" || err != nil {
		return "", err
	}
	if err := gone(ctx, bucket, path.Join(base, manifest.Name)); err != nil {
		return "", stored("the manifest could not be deleted", err)
	}
	return why, nil
}
