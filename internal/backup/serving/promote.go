package serving

import (
	"context"
	"errors"
	"fmt"
	"path"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/promotion"
	"github.com/galera-operator/galera-operator/internal/backup/store"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

const (
	// recordRetry is how long a promotion is not tried again that could not be recorded, tokenRetry the same for a token
	// that was given within tokenTime: no cluster accepts writes meanwhile. While a person has to decide it doubles, up to
	// maxRetry: each try lists objects of the store. recordTime is how long one may take.
	recordRetry = 5 * time.Second
	maxRetry    = time.Minute
	recordTime  = 30 * time.Second
	tokenRetry  = 500 * time.Millisecond
	tokenTime   = time.Minute
	// askedTime is how long a question of the operator counts, which repeats it every few seconds: spec.cutover may have
	// been removed since.
	askedTime = 30 * time.Second
)

// recorder records that the follower takes over.
type recorder struct {
	*board
	bucket *store.Bucket
	dir    string
	line   string // of history, that of the streams, "" for the archive alone
	// end returns the head of the archive's last segment, as the store has it now, and the checksum of that of another
	// one; unlike why the follower is not known to have what the archive has up to there.
	end    func(ctx context.Context, segment uint64) (last binlog.Head, checksum string, err error)
	unlike func(ctx context.Context, last binlog.Head) (why string, err error)
}

// run records what the task names, or what the operator asks for, until that is so. Another cluster's record is looked
// at again, too: a person may overrule it.
func (r recorder) run(ctx context.Context, t task.Serve) {
	var pause time.Duration
	for {
		var again <-chan time.Time
		if of, first := r.recording(t); of != nil {
			done, decided := r.record(ctx, *of)
			if pause = retryAfter(pause, decided); !decided {
				pause = first
			}
			if !done {
				again = time.After(pause)
			}
		}
		select {
		case <-again:
		case <-r.woken:
			pause = 0
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

// recording is what is to be recorded, nil for nothing, and when it is tried again.
func (b *board) recording(t task.Serve) (of *task.Recording, again time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if time.Since(b.heardAt) >= askedTime {
		b.asked = nil
	}
	switch {
	case b.asked != nil && time.Since(b.askedAt) < tokenTime:
		return b.asked, tokenRetry
	case b.asked != nil:
		return b.asked, recordRetry
	case t.Promotion != nil:
		return &task.Recording{Promotion: *t.Promotion, SingleWriter: t.SingleWriter}, recordRetry
	}
	return nil, 0
}

// record tries it once. done reports whether the follower's own record is the one that counts, and decided whether only
// a person changes what was found.
func (r recorder) record(ctx context.Context, of task.Recording) (done, decided bool) {
	ctx, cancel := context.WithTimeout(ctx, recordTime)
	defer cancel()
	mine := of.Promotion
	mine.At, mine.Line, mine.Alone, mine.Compared = time.Now().UTC(), r.line, r.line == "", false
	create := store.Create
	if of.SingleWriter {
		create = store.CreateAlone
	}
	why := ""
	if mine.Number > 0 {
		mine.Compared, why = r.compare(ctx, of)
	}
	var counts *task.Promotion
	if why == "" {
		why = r.alone(ctx, of)
	}
	own := false
	if why == "" {
		var err error
		counts, err = promotion.Record(ctx, r.bucket, create, r.dir, mine)
		switch {
		case err == nil && counts.UID == mine.UID && !isOf(counts, mine):
			err = errEarlier{counts.ID()}
		case err == nil && counts.UID == mine.UID:
			r.taker.own = counts
		case err != nil && !errors.Is(err, promotion.ErrOverruled) && r.taker.own != nil && isOf(r.taker.own, mine):
			counts, err = r.taker.own, nil // the store fails since it was recorded
		}
		if err != nil {
			counts = nil
		}
		why, decided = r.explain(err), err == nil || errors.Is(err, promotion.ErrOverruled)
		own = err == nil && counts.UID == mine.UID
	}
	waits := false
	if own && mine.Number == 0 { // with a token, the other cluster's nodes are closed
		if own, why = r.taker.may(ctx, r.bucket, r.dir); !own {
			counts, decided, waits = nil, false, why == "" // no node may accept writes by it yet
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.asked != nil && r.asked.Number != mine.Number { // another one is asked for meanwhile
		return false, false
	}
	r.promotion, r.unrecorded, r.waits = counts, why, waits
	return own, decided
}

// isOf reports whether a record of the follower is the one that is to be made: with a token it has its number.
func isOf(p *task.Promotion, mine task.Promotion) bool {
	return mine.Number == 0 || p.Number == mine.Number
}

// errEarlier reports that a record of the follower counts that was made with another token, by its ID: a listing lacks
// that it was overruled, or someone has removed that.
type errEarlier struct{ id string }

// Error implements error.
func (e errEarlier) Error() string {
	return "that this cluster has taken over with another token before (" + e.id + ") still counts there, though the " +
		"other one has accepted writes since"
}

func (r recorder) explain(err error) string {
	where := path.Join(r.dir, promotion.Directory)
	var earlier errEarlier
	switch {
	case err == nil:
		return ""
	case errors.As(err, &earlier):
		return "nothing was recorded below " + where + ": " + err.Error() + ". This is tried again: a listing of the store " +
			"may be late. If it stays so, set spec.overrulesPromotion of the other cluster to " + earlier.id
	case errors.Is(err, promotion.ErrOverruled):
		return "it had recorded that below " + where + ", and " + err.Error() +
			". Delete this cluster and its claims, and create it anew if it is to follow that one"
	}
	return "nothing was recorded below " + where + ": " + store.Explain(err) + ". This is tried again: restore " +
		"the store, or the right of its credentials to create objects there"
}

// compare reports why a token is not used yet, "" where it may be: the archive has to end with its transaction, and has
// to be shown to have under the numbers up to it what the follower has. Where its number has a record already, nothing
// is compared.
func (r recorder) compare(ctx context.Context, of task.Recording) (compared bool, why string) {
	if of.SingleWriter { // the other cluster may make the same record
		return false, "spec.cutover.token needs a store that creates objects conditionally: set spec.singleWriter of the " +
			"GaleraBackupStore to false, or take the token back at the other cluster"
	}
	now, next, err := promotion.Latest(ctx, r.bucket, r.dir)
	if err != nil {
		return false, store.Explain(err)
	}
	if now != nil || next > of.Number {
		return false, ""
	}
	if of.Ahead != "" {
		return false, fmt.Sprintf("this cluster has %s, and spec.cutover.token is of %s: the cluster that it follows has "+
			"lost transactions, and may have others of the same numbers, which this one lacks; or it was written to after it "+
			"had given the token", of.Ahead, of.GTID)
	}
	const unread = "the archive's end could not be read: "
	last, sum, err := r.end(ctx, of.Segment)
	switch {
	case err != nil:
		return false, unread + err.Error()
	case sum != of.Checksum:
		return false, "this store has another archive than that of spec.cutover.token: both clusters have to use one " +
			"store. Take the token back at the other cluster"
	case last.Last.String() != of.GTID:
		return false, fmt.Sprintf("the archive ends with %s, and spec.cutover.token with %s", last.Last, of.GTID)
	}
	why, err = r.unlike(ctx, last)
	if err != nil {
		return false, unread + err.Error()
	}
	return why == "", why
}
