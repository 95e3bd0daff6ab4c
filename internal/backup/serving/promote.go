package serving

import (
	"context"
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

// promote records that the follower takes over, if it does, until that is known to be so, or not to be.
func (b *board) promote(ctx context.Context, bucket *store.Bucket, t task.Serve) {
	for t.Promotion != nil && !b.record(ctx, bucket, t) {
		select {
		case <-time.After(recordRetry):
		case <-ctx.Done():
			return
		}
	}
}

// record tries it once.
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
	if err != nil {
		b.unrecorded = "nothing was recorded below " + path.Join(t.Dir, promotion.Directory) + ": " + store.Explain(err)
	}
	return err == nil
}
