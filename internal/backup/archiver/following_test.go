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
}

func (f *following) Close() {}

func (f *following) Event(ctx context.Context, wait time.Duration) (binlog.Event, error) {
	limit, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for {
		e, changed, err := f.take()
		if e != nil {
			time.Sleep(f.slow)
		}
		if e != nil || err != nil {
			return e, err
		}
		select {
		case <-changed:
		case <-limit.Done():
			return nil, ctx.Err()
		}
	}
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
