package serving

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
)

// errAnew ends a replica's channel once: it may have a part of a transaction that is another one now, and receives it
// anew when its agent opens the channel again.
type errAnew struct{ error }

// remember notes what is about to be sent.
func (f *follower) remember(g binlog.GTID, is mark) error {
	if f.streams == nil || f.streams.memory.add(g, is) {
		return nil
	}
	return errAnew{fmt.Errorf("the transaction %s is another one than that which was sent before, and is sent anew", g)}
}

// resumes returns the mark of the position, if that was sent by this process.
func (f *follower) resumes() mark {
	if f.streams == nil {
		return mark{}
	}
	return f.streams.memory.of(f.from)
}

// prove makes sure that the archive has what the follower has up to its position, which is in the segment at. What a
// stream has brought may have been lost since: the cluster that is followed counts the same numbers again, in another
// line of history, which the archive may have gone on with.
func (f *follower) prove(ctx context.Context, at binlog.Head) error {
	if f.streams == nil {
		return nil
	}
	line := f.streams.limit(at)
	if line == "" {
		return nil
	}
	last, err := f.archive.last(ctx)
	if err != nil {
		return err
	}
	is, err := f.content(ctx, at)
	if err != nil {
		return err
	}
	sent, where := f.streams.memory.of(f.from), stands(at, last, line)
	switch {
	case sent.known() && is.known() && (sent.sum != is.sum || where == beyond && sent != is):
		return refuse("the transaction %s of this cluster is another one in the archive: the cluster that is followed has "+
			"lost transactions that this one has", f.from)
	case where == beyond && (!sent.known() || !is.known()):
		return refuse("what this cluster has up to %s may have been lost by the cluster that it follows, which has gone on "+
			"in the line of history %s; nothing shows that both have the same", f.from, at.Line())
	case where == beyond:
		f.streams.goOn(at.Line())
		return f.hold(ctx)
	case is.known():
		return f.remember(f.from, is)
	}
	return nil
}

// passes makes sure that nothing is sent of a later line of history before it is recorded that the follower has
// everything before it.
func (f *follower) passes(ctx context.Context, next binlog.Head) error {
	if f.streams == nil {
		return nil
	}
	line := f.streams.limit(next)
	if line == "" || !after(next, line) {
		return nil
	}
	f.streams.goOn(next.Line())
	return f.hold(ctx)
}

// hold keeps the connection until the process is started with another line of history.
func (f *follower) hold(ctx context.Context) error {
	say("waiting until the line of history is recorded in status.restore")
	for {
		if err := f.wait(ctx); err != nil {
			return err
		}
	}
}

// errFound ends the reading of a segment.
var errFound = errors.New("it is there")

// content reads the mark of the position from its segment, none if that has only what is after it.
func (f *follower) content(ctx context.Context, at binlog.Head) (is mark, err error) {
	if at.Empty() {
		return is, nil
	}
	var file *os.File
	err = f.meanwhile(ctx, func(ctx context.Context) (err error) {
		if file, err = f.archive.fetch(ctx, at); err != nil {
			return err
		}
		var m marker
		return f.archive.read(file, func(kind int, e binlog.Event, t binlog.Transaction) error {
			if one := m.see(kind, e, t); kind == binlog.End && t.GTID == f.from {
				is = one
				return errFound
			}
			return nil
		})
	})
	if file != nil {
		_ = file.Close()
	}
	if errors.Is(err, errFound) {
		err = nil
	}
	return is, err
}
