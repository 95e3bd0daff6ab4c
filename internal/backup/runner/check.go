package runner

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"gocloud.dev/blob"

	"github.com/galera-operator/galera-operator/internal/backup/manifest"
	"github.com/galera-operator/galera-operator/internal/backup/store"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

const (
	// listMost bounds how many directories are looked through, tellMost how many backups are told of.
	listMost = 20000
	tellMost = 20
)

// check shows by doing it that the store can be written, read and cleaned up.
func check(ctx context.Context, bucket *store.Bucket, t task.Check) (task.Result, error) {
	if _, err := recipients(t.Recipients); err != nil {
		return task.Result{}, fatal(task.ReasonWrongKey, err)
	}
	key, want := ".check-"+strings.ToLower(rand.Text()), []byte(rand.Text())
	if err := store.Write(ctx, bucket, key, want); err != nil {
		return task.Result{}, stored("an object could not be written", err)
	}
	have, err := bucket.ReadAll(ctx, key)
	if err != nil {
		return task.Result{}, stored("an object that was written could not be read", err)
	}
	if !bytes.Equal(have, want) {
		return task.Result{}, fatal(task.ReasonStoreRefused, errors.New("an object that was read is not what was written"))
	}
	if err := bucket.Delete(ctx, key); err != nil {
		return task.Result{}, stored("an object could not be deleted, as retention needs it", err)
	}
	found, err := list(ctx, bucket, "")
	if err != nil {
		return task.Result{}, stored("the objects could not be listed", err)
	}
	out := &task.Checked{Backups: len(found)}
	for _, f := range found[:min(len(found), tellMost)] {
		out.Latest = append(out.Latest, task.Stored{ID: f.id, Dir: f.dir, CompletedAt: f.stored})
	}
	return task.Result{Checked: out}, nil
}

// place is where a backup lies.
type place struct {
	dir, id string
	// stored is when its manifest was.
	stored time.Time
}

// levels are the directories above a backup's objects: namespace, cluster, UID, ID (manifest.Dir).
const levels = 4

// list finds the complete backups below a directory, the newest first. It asks for directories, not for their many parts.
func list(ctx context.Context, bucket *store.Bucket, dir string) ([]place, error) {
	dirs := []string{dir}
	for range levels - depth(dir) {
		var next []string
		for _, d := range dirs {
			below, err := directories(ctx, bucket, d)
			if err != nil {
				return nil, err
			}
			if next = append(next, below...); len(next) > listMost {
				return nil, fmt.Errorf("more than %d directories: keep backups in a bucket, or under a prefix, of their own", listMost)
			}
		}
		dirs = next
	}
	var out []place
	for _, d := range dirs {
		a, err := bucket.Attributes(ctx, path.Join(d, manifest.Name))
		if store.Missing(err) {
			continue // being made, or cut off
		}
		if err != nil {
			return nil, err
		}
		out = append(out, place{dir: path.Dir(d), id: path.Base(d), stored: a.ModTime})
	}
	slices.SortFunc(out, func(a, b place) int { return b.stored.Compare(a.stored) })
	return out, nil
}

func depth(dir string) int {
	if dir == "" {
		return 0
	}
	return strings.Count(dir, "/") + 1
}

// directories are those right below one.
func directories(ctx context.Context, bucket *store.Bucket, dir string) (out []string, err error) {
	o := &blob.ListOptions{Delimiter: "/"}
	if dir != "" {
		o.Prefix = dir + "/"
	}
	objects := bucket.List(o)
	for len(out) <= listMost {
		object, err := objects.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if object.IsDir {
			out = append(out, strings.TrimSuffix(object.Key, "/"))
		}
	}
	return out, nil
}

// remove deletes a backup: its manifest first, so that half of one is none.
func remove(ctx context.Context, bucket *store.Bucket, dir, id string) error {
	base := path.Join(dir, id)
	if err := bucket.Delete(ctx, path.Join(base, manifest.Name)); err != nil && !store.Missing(err) {
		return stored("the manifest could not be deleted", err)
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
		if err := bucket.Delete(ctx, object.Key); err != nil && !store.Missing(err) {
			return stored("a part could not be deleted", err)
		}
	}
}
