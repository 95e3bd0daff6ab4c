package runner

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/store"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// maxReported is how many backups a check names.
const maxReported = 20

// listRight names the right to list at each service.
const listRight = "s3:ListBucket on the bucket, at least for the prefix; storage.objects.list (Google); list (Azure)"

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
	if _, err := store.Exists(ctx, bucket, key); err != nil { // S3 and Google refuse instead, without the right to list
		return task.Result{}, stored("the store does not answer whether an object exists, which needs the right to list: "+
			listRight, err)
	}
	if err := exclusive(ctx, bucket, key+"-once"); err != nil && (!t.SingleWriter || !errors.Is(err, store.ErrShared)) {
		return task.Result{}, err
	}
	found, err := list(ctx, bucket, "")
	if err != nil {
		return task.Result{}, stored("the objects could not be listed, which needs the right to list: "+listRight, err)
	}
	unread := ""
	if i := slices.IndexFunc(found, func(p place) bool { return p.refused }); i >= 0 {
		unread = found[i].broken.Error()
	}
	found = slices.DeleteFunc(found, func(p place) bool { return p.broken != nil })
	out := &task.Checked{Backups: len(found), Unread: unread}
	for _, f := range found[:min(len(found), maxReported)] {
		out.Latest = append(out.Latest, task.Stored{ID: f.id, Dir: f.dir, CompletedAt: f.completed})
	}
	return task.Result{Checked: out}, nil
}

// unfinishedAfter is how old an upload is that nothing continues any more: a part, or a segment, takes hours at most,
// and clocks may be wrong.
const unfinishedAfter = 8 * 24 * time.Hour

// unfinishedTime bounds the search for them: the Job has ten minutes, and what it has found out of the store counts.
// The next check goes on.
const unfinishedTime = 2 * time.Minute

// removeUnfinished removes what killed Jobs have left in a store, before a time. A store that refuses it is used all
// the same.
func removeUnfinished(ctx context.Context, bucket *store.Bucket, s task.Store, dir string, before time.Time) {
	ctx, cancel := context.WithTimeout(ctx, unfinishedTime)
	defer cancel()
	n, err := store.RemoveUnfinished(ctx, bucket, s, dir, before)
	if err != nil {
		say("unfinished uploads could not be removed: %s", store.Explain(err))
	}
	if n > 0 {
		say("removed %s", galera.Count(n, "unfinished upload"))
	}
}

// exclusive shows that two that write one segment of the archive cannot both succeed.
func exclusive(ctx context.Context, bucket *store.Bucket, key string) error {
	err := store.Exclusive(ctx, bucket, key)
	if errors.Is(err, store.ErrShared) {
		err = fatal(task.ReasonStoreRefused, fmt.Errorf(
			"the store could be overwritten by another writer: %w. Use one that takes "+
				"If-None-Match, or has hard links if it is a volume; or set singleWriter: true if nothing but this Kubernetes "+
				"cluster writes there", err))
	} else if err != nil {
		err = stored("an object could not be created", err)
	}
	if gone := bucket.Delete(ctx, key); gone != nil && !store.Missing(gone) && err == nil {
		err = stored("an object could not be deleted", gone)
	}
	return err
}
