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
	// recordRetry is how long a promotion is not tried again that could not be recorded. While a person has to decide it
	// doubles, up to maxRetry: each try lists objects of the store. recordTime is how long one may take.
	recordRetry = 5 * time.Second
	maxRetry    = time.Minute
	recordTime  = 30 * time.Second
)

// promote records that the follower takes over, if it does, until that is so. Another cluster's record is looked at
// again, too: a person may overrule it.
func (b *board) promote(ctx context.Context, bucket *store.Bucket, t task.Serve) {
	var pause time.Duration
	for t.Promotion != nil {
		done, decided := b.record(ctx, bucket, t)
		if done {
			return
		}
		pause = retryAfter(pause, decided)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
	}
}

// retryAfter is the pause before the next try, after the one before, 0 for none. It is pure.
func retryAfter(before time.Duration, decided bool) time.Duration {
	if !decided {
		return recordRetry
	}
	return min(max(recordRetry, 2*before), maxRetry)
}

// record tries it once. done reports whether the follower's own record is the one that counts, and decided whether only
// a person changes what was found.
func (b *board) record(ctx context.Context, bucket *store.Bucket, t task.Serve) (done, decided bool) {
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
	return err == nil && counts.UID == mine.UID, err == nil || errors.Is(err, promotion.ErrOverruled)
}
