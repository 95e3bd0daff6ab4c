package serving

import (
	"context"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/promotion"
	"github.com/galera-operator/galera-operator/internal/backup/store"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/lease"
	"github.com/galera-operator/galera-operator/internal/platform"
)

// taker is what is known of the lease of the cluster that the follower takes over from. What a program before has known
// is not: it is waited anew then.
type taker struct {
	lease.Taker
	clock func() time.Duration
	// own is the follower's own record, once it was read to be the one that counts.
	own *task.Promotion
}

// alone is why a store that creates nothing conditionally cannot have the record, "" if it can, or has it: of two that
// take over from one with a lease, both might.
func (r recorder) alone(ctx context.Context, of task.Recording) string {
	if !of.SingleWriter || r.taker.Recorded {
		return ""
	}
	switch announced, err := promotion.Announced(ctx, r.bucket, r.dir); {
	case err != nil:
		return unknownLease(err)
	case announced:
		return "the nodes of the other cluster have a lease by which they accept writes, and this store is of " +
			"singleWriter: two clusters could take over at the same moment. Remove singleWriter from it, if it creates " +
			"objects conditionally"
	}
	return ""
}

func unknownLease(err error) string {
	return "whether the nodes of the other cluster have a lease by which they accept writes is not known: " +
		store.Explain(err) + ". This is tried again: restore the store"
}

// may reports whether the follower may accept writes, whose record counts; why is what keeps that from being known.
func (t *taker) may(ctx context.Context, bucket *store.Bucket, dir string) (may bool, why string) {
	if t.clock == nil {
		t.clock = platform.SinceBoot
	}
	if !t.Recorded {
		t.Recorded, t.RecordedAt = true, t.clock()
	}
	if !t.Looked {
		announced, err := promotion.Announced(ctx, bucket, dir)
		if err != nil {
			return false, unknownLease(err)
		}
		if t.Looked, t.Announced = true, announced; announced {
			say("the nodes of the other cluster may accept writes until their lease has ended: waiting for %s", lease.Wait)
		}
	}
	return t.MayWrite(t.clock()), ""
}
