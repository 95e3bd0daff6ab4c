package serving

import (
	"context"
	"errors"
	"path"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/promotion"
	"github.com/galera-operator/galera-operator/internal/backup/store"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

const (
	// recordRetry is how long a promotion is not tried again that could not be recorded, recordTime how long that may
	// take.
	recordRetry = 5 * time.Second
	recordTime  = 30 * time.Second
)

// promote records that the follower takes over, if it does, until that is so. Another cluster's record is looked at
// again, too: a person may overrule it.
func (b *board) promote(ctx context.Context, bucket *store.Bucket, t task.Serve) {
	for t.Promotion != nil && !b.record(ctx, bucket, t) {
		select {
		case <-time.After(recordRetry):
		case <-ctx.Done():
			return
		}
	}
}

// record tries it once. done reports whether the follower's own record is the one that counts.
func (b *board) record(ctx context.Context, bucket *store.Bucket, t task.Serve) (done bool) {
	ctx, cancel := context.WithTimeout(ctx, recordTime)
	defer cancel()
	create := store.Create
	if t.SingleWriter {
		create = store.CreateAlone
	}
	mine := *t.Promotion
	mine.At = time.Now().UTC()
	counts, err := promotion.Record(ctx, bucket, create, t.Dir, mine)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.promotion, b.unrecorded = counts, ""
	where := path.Join(t.Dir, promotion.Directory)
	switch {
	case errors.Is(err, promotion.ErrOverruled):
		b.unrecorded = "it had recorded that below " + where + ", and " + err.Error() +
			". Delete this cluster, and create it anew if it is to follow that one"
	case err != nil:
		b.unrecorded = "nothing was recorded below " + where + ": " + store.Explain(err) + ". This is tried again: restore " +
			"the store, or the right of its credentials to create objects there"
	}
	return err == nil && counts.UID == mine.UID
}
