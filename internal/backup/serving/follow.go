package serving

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/policy"
)

// gapChecks is after how many attempts a segment that is not there is looked for behind: a later one shows a gap.
const gapChecks = 20

// follower is a replica that is sent the archive.
type follower struct {
	*sender
	archive *archived
	streams *streams    // nil for the archive alone
	from    binlog.GTID // the replica has everything up to it
	until   binlog.GTID // where the replica is to end, none for nowhere
	beat    time.Duration
	poll    time.Duration
	sent    time.Time
}

// run sends what follows a position, until the replica goes or the archive cannot be followed any more.
func (f *follower) run(ctx context.Context) error {
	if err := f.stream(ctx, f.resumes()); err != nil {
		return err
	}
	at, err := f.find(ctx)
	if err == nil {
		err = f.prove(ctx, at)
	}
	if err == nil {
		err = f.stream(ctx, f.resumes())
	}
	if err != nil {
		return err
	}
	if err := f.rotate(at.Number); err != nil {
		return err
	}
	if err := f.give(ctx, at); err != nil {
		return err
	}
	for misses := 1; ; misses++ {
		if f.described && f.ended(f.from) {
			return f.end(ctx)
		}
		next, ok, err := f.archive.next(ctx, at)
		if err != nil {
			return err
		}
		if !ok {
			err := f.stream(ctx, f.resumes())
			if err == nil {
				err = f.idle(ctx, at, misses)
			}
			if err != nil {
				return err
			}
			continue
		}
		if err := f.passes(ctx, next); err != nil {
			return err
		}
		if at, misses = next, 0; at.Empty() {
			continue
		}
		if err := f.give(ctx, at); err != nil {
			return err
		}
	}
}

// give sends what of a segment the replica lacks, or its format alone: a replica takes no event before that one. Before
// the first transaction of a chain there is none, and a replica that is to end there waits for it.
func (f *follower) give(ctx context.Context, h binlog.Head) error {
	if f.from == h.Last || f.ended(f.from) {
		return f.describe(ctx, h)
	}
	return f.send(ctx, h)
}

// find waits until the archive reaches the position.
func (f *follower) find(ctx context.Context) (binlog.Head, error) {
	for {
		var numbers []uint64
		var at binlog.Head
		ok := false
		err := f.meanwhile(ctx, func(ctx context.Context) (err error) {
			if numbers, err = f.archive.segments(ctx); err != nil {
				return err
			}
			if err = f.archive.same(ctx, numbers); err != nil {
				return err
			}
			at, ok, err = locate(numbers, f.archive.chain, f.from, func(n uint64) (binlog.Head, error) {
				return f.archive.head(ctx, n)
			})
			return err
		})
		if ok || err != nil {
			return at, err
		}
		if err := f.await(ctx, numbers); err != nil {
			return at, err
		}
	}
}

// await waits until the archive goes on: all of it is listed only then. A stream may go on before.
func (f *follower) await(ctx context.Context, numbers []uint64) error {
	var last, newest uint64
	if len(numbers) > 0 {
		last = numbers[len(numbers)-1]
	}
	for newest <= last {
		err := f.wait(ctx)
		if err == nil {
			err = f.stream(ctx, f.resumes())
		}
		if err == nil {
			newest, err = f.archive.newest(ctx)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// idle waits for the next segment. From time to time it makes sure that there is none behind it.
func (f *follower) idle(ctx context.Context, at binlog.Head, misses int) error {
	if err := f.wait(ctx); err != nil || misses%gapChecks != 0 {
		return err
	}
	newest, err := f.archive.newest(ctx)
	if err != nil || newest <= at.Number {
		return err
	}
	if _, ok, err := f.archive.next(ctx, at); ok || err != nil {
		return err
	}
	return refuse("there is a gap in the archive: the segment %s is missing", binlog.Name(at.Number+1))
}

// wait lets a moment pass, and shows the replica that the connection is alive.
func (f *follower) wait(ctx context.Context) error {
	if time.Since(f.sent) >= f.beat {
		if err := f.show(); err != nil {
			return err
		}
	}
	select {
	case <-time.After(min(f.poll, f.beat)):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// show shows the replica that the connection is alive.
func (f *follower) show() error {
	if f.file == "" { // a replica refuses a heartbeat without a file
		if err := f.rotate(0); err != nil {
			return err
		}
	}
	f.sent = time.Now()
	return f.heartbeat()
}

// meanwhile does what may take longer than a replica waits: reading a segment with a transaction of gigabytes, or the
// list of a long archive. A replica that hears nothing connects again, and all of it would begin anew.
func (f *follower) meanwhile(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- do(ctx) }()
	for {
		select {
		case err := <-done:
			return err
		case <-time.After(max(f.beat-time.Since(f.sent), time.Millisecond)):
		}
		if err := f.show(); err != nil {
			cancel()
			<-done //nolint:errcheck // it was cancelled; it uses what is closed afterwards
			return err
		}
	}
}

func (f *follower) ended(at binlog.GTID) bool {
	return f.until != binlog.GTID{} && at.Seq >= f.until.Seq
}

// end reports that the replica has all it has asked for, and keeps the connection: the replica ends it.
func (f *follower) end(ctx context.Context) error {
	if err := f.reached(f.until); err != nil {
		return err
	}
	for {
		if err := f.wait(ctx); err != nil {
			return err
		}
	}
}

// send sends what of a segment the replica lacks. All of the segment is checked before.
func (f *follower) send(ctx context.Context, h binlog.Head) error {
	var file *os.File
	err := f.meanwhile(ctx, func(ctx context.Context) (err error) {
		if file, err = f.archive.fetch(ctx, h); err != nil {
			return err
		}
		return f.check(file, h)
	})
	if file != nil {
		defer func() { _ = file.Close() }()
	}
	if err != nil {
		return err
	}
	if err := f.rotate(h.Number); err != nil {
		return err
	}
	last, marks := f.from, marker{}
	err = f.archive.read(file, func(kind int, e binlog.Event, t binlog.Transaction) error {
		is := marks.see(kind, e, t)
		switch {
		case kind == binlog.Outside, kind != binlog.Format && (t.GTID.Seq <= f.from.Seq || f.ended(last)):
			return ctx.Err()
		case kind == binlog.End:
			if err := f.remember(t.GTID, is); err != nil {
				return err
			}
			last = t.GTID
		}
		f.sent = time.Now()
		return f.event(e)
	})
	if err != nil {
		return err
	}
	f.from = last
	return f.flush()
}

// errDescribed ends the reading of a segment.
var errDescribed = errors.New("its format is known")

// describe sends the format of a segment, or of the one with transactions before it.
func (f *follower) describe(ctx context.Context, h binlog.Head) (err error) {
	for h.Empty() && h.Number > h.Chain {
		if h, err = f.archive.head(ctx, h.Number-1); err != nil {
			return err
		}
	}
	if h.Empty() {
		return f.flush() // the first transactions follow it
	}
	var file *os.File
	err = f.meanwhile(ctx, func(ctx context.Context) (err error) {
		file, err = f.archive.fetch(ctx, h)
		return err
	})
	if file != nil {
		defer func() { _ = file.Close() }()
	}
	if err != nil {
		return err
	}
	err = f.archive.read(file, func(kind int, e binlog.Event, _ binlog.Transaction) error {
		if kind != binlog.Format {
			return nil
		}
		if err := f.event(e); err != nil {
			return err
		}
		return errDescribed
	})
	if err != nil && !errors.Is(err, errDescribed) {
		return err
	}
	return f.flush()
}

// check makes sure that a segment has every transaction that its head names, and with it what follows the replica's
// position.
func (f *follower) check(file *os.File, h binlog.Head) error {
	cut := policy.Cut{Base: f.from, Last: f.from, Target: binlog.Target{Latest: true}}
	err := cut.Segment(h, h.Number)
	if err == nil {
		err = f.archive.read(file, func(kind int, _ binlog.Event, t binlog.Transaction) error {
			if kind != binlog.End {
				return nil
			}
			_, err := cut.See(t)
			return err
		})
	}
	if err == nil {
		err = cut.End()
	}
	var closed locked
	switch {
	case binlog.IsOwn(err), errors.As(err, &closed):
		return err
	case err != nil:
		return refuse("the segment %s is damaged: %v", binlog.Name(h.Number), err)
	}
	return nil
}

// position reads the one of a domain of a replica's.
func position(state string, domain uint32) (binlog.GTID, error) {
	at, _ := binlog.In(state, domain)
	if at == (binlog.GTID{}) {
		return at, refuse("the replica has no position in the domain %d of the archive: %q", domain, state)
	}
	return at, nil
}
