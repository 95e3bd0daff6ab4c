package serving

import (
	"context"
	"errors"
	"fmt"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/policy"
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
	var is mark
	err = f.meanwhile(ctx, func(ctx context.Context) (err error) {
		is, err = f.archive.content(ctx, at, f.from)
		return err
	})
	if err != nil {
		return err
	}
	beyond := !policy.Within(at.Line(), last.Lines, line)
	why := differs(f.from, f.streams.memory.of(f.from), is, beyond, at.Line())
	switch {
	case why != "":
		return Refusal{why}
	case beyond:
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

// content reads the mark of a transaction from its segment, none if that has only what is after it.
func (a *archived) content(ctx context.Context, at binlog.Head, of binlog.GTID) (is mark, err error) {
	if at.Empty() {
		return is, nil
	}
	file, err := a.fetch(ctx, at)
	if err != nil {
		return is, err
	}
	defer func() { _ = file.Close() }()
	var m marker
	err = a.read(file, func(kind int, e binlog.Event, t binlog.Transaction) error {
		if one := m.see(kind, e, t); kind == binlog.End && t.GTID == of {
			is = one
			return errFound
		}
		return nil
	})
	if errors.Is(err, errFound) {
		err = nil
	}
	return is, err
}

// unlike is why a follower that has the archive's last transaction, by its number, is not known to have what the
// archive has, "" where it is. It is what is found out of a replica that connects (prove): none may, once the follower
// is to take over.
func (s *streams) unlike(ctx context.Context, a *archived, last binlog.Head) (why string, err error) {
	since, err := a.continued(ctx, last)
	if err != nil {
		return "", err
	}
	if a.chain != 0 && last.Chain != a.chain && since.Number == 0 {
		return fmt.Sprintf("the archive has begun anew with the segment %s: what was written before it may be missing here",
			binlog.Name(last.Chain)), nil
	}
	of := last.LineOf(last.Last)
	if s == nil || policy.Within(of, last.Lines, s.line) {
		return "", nil
	}
	at := last
	for at.Empty() && !at.Begins {
		if at, err = a.head(ctx, at.Number-1); err != nil {
			return "", err
		}
	}
	is, err := a.content(ctx, at, last.Last)
	return differs(last.Last, s.memory.of(last.Last), is, true, of), err
}
