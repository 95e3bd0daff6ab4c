package archiver

import (
	"context"
	"errors"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/promotion"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// promotionEvery is how often it is looked for another cluster that has taken over: it is part of how long both accept
// writes.
const promotionEvery = 10 * time.Second

// promotions looks for another cluster that has taken over from this one.
type promotions struct {
	store   *archive
	reports *board
	task    task.Archive
	create  promotion.Create
}

func (p promotions) run(ctx context.Context) {
	for {
		if err := p.once(ctx); err != nil && ctx.Err() == nil {
			say("whether another cluster has taken over is not known: %v", err)
		}
		select {
		case <-time.After(promotionEvery):
		case <-ctx.Done():
			return
		}
	}
}

// once looks once. What was found before stays when it fails.
func (p promotions) once(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, markTime)
	defer cancel()
	now, next, err := promotion.Latest(ctx, p.store.bucket, p.store.cluster)
	if err == nil && now != nil && (now.ID() == p.task.Overrules || now.ID() == p.task.Replaced) {
		now.Followed = now.ID() == p.task.Replaced
		err = promotion.Overrule(ctx, p.store.bucket, p.store.cluster, *now)
		now = nil
	}
	withdrawn := uint64(0)
	if mine := p.task.Withdraws; err == nil && now == nil && mine != nil {
		var counts *task.Promotion
		counts, err = promotion.Record(ctx, p.store.bucket, p.create, p.store.cluster, *mine)
		switch {
		case errors.Is(err, promotion.ErrOverruled): // it was used, and a person has overruled that
			withdrawn, err = mine.Number, nil
		case err != nil:
		case counts.Withdrawn:
			withdrawn, next = counts.Number, counts.Number+1
		default:
			now = counts
		}
	}
	if err != nil {
		err = explained("the promotions in the store", err)
		p.reports.set(func(a *task.Archived) { a.Unrecorded = err.Error() })
		return err
	}
	p.reports.set(func(a *task.Archived) {
		a.Promotion, a.Next, a.Withdrawn, a.Unrecorded = now, next, withdrawn, ""
	})
	return nil
}

// superseded is why no segment is removed while another cluster has taken over, "" while none is known to have.
func (b *board) superseded() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if p := b.now.Promotion; p != nil {
		return p.Namespace + "/" + p.Name + " has taken over, and lacks what follows " + p.GTID
	}
	return ""
}
