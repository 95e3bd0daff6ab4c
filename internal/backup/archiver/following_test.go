package archiver

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/binlog/binlogtest"
)

// following is a stream.
type following struct {
	*server
	from  binlog.GTID
	begun bool
	next  int // in the log
	file  int
	sent  []byte
	held  binlog.Event // one that is on its way, until
	due   time.Time
}

func (f *following) Close() {}

func (f *following) Event(ctx context.Context, wait time.Duration) (binlog.Event, error) {
	limit, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for {
		if f.held != nil {
			return f.arriving(wait), ctx.Err()
		}
		e, changed, err := f.take()
		if err != nil {
			return nil, err
		}
		if f.held, f.due = e, time.Now().Add(f.takes); e != nil {
			time.Sleep(f.slow)
			continue
		}
		select {
		case <-changed:
		case <-limit.Done():
			return nil, ctx.Err()
		}
	}
}

// arriving is the event that is on its way, nil when it takes longer than is waited for.
func (f *following) arriving(wait time.Duration) binlog.Event {
	left := time.Until(f.due)
	time.Sleep(min(left, wait))
	if left > wait {
		return nil
	}
	e := f.held
	f.held = nil
	return e
}

// take is what there is now; when there is nothing, the channel is closed at the next change.
func (f *following) take() (binlog.Event, chan struct{}, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.down != nil:
		return nil, nil, f.down
	case f.silent:
		return nil, f.changed, nil
	case !f.begun:
		f.begun = true
		if f.from.Seq < f.purged {
			return nil, nil, refusal{purged{errors.New("it was purged")}}
		}
		found := f.from.Seq == 0
		for i, l := range f.log {
			if l.gtid.Domain == 0 && l.gtid.Seq <= f.from.Seq {
				f.next, found = i+1, true
			}
		}
		if n := len(f.log); !found || n > 0 && f.from.Seq > f.log[n-1].gtid.Seq && f.log[n-1].gtid.Domain == 0 {
			return nil, nil, refusal{errors.New("it has no such transaction")}
		}
	}
	file := f.server.file
	if f.next < len(f.log) {
		file = f.log[f.next].file
	}
	if !bytes.Equal(f.sent, f.format) || file != f.file { // first of all, and with each file
		f.sent, f.file = f.format, file
		if f.rotated[file] {
			return binlogtest.Rotated(), nil, nil
		}
		return f.format, nil, nil
	}
	if f.next < len(f.log) {
		f.next++
		return f.log[f.next-1].event, nil, nil
	}
	return nil, f.changed, nil
}
