package serving

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
	"sync"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// streams are the servers of the cluster that is followed. A stream is begun only after a transaction that the follower
// has, and the server has alike; and only in the line of history that is recorded with the follower's cluster, which
// the archive is in.
type streams struct {
	dialled
	servers []string
	memory  memory

	mu sync.Mutex
	// line is the line of history that is recorded, "" before there is one. pinned is the one to record.
	line, pinned string
	tried        map[string]attempt
	now          task.Streamed
	// session is the number of the stream that now is about: a replica that connects again begins one before the last
	// one has ended.
	session int
	// left is why the archive is not of that line any more, "" while it is, as far as is known.
	left string
	// last and before are the archive's last transactions, as they were read last, and the time before that.
	last, before binlog.GTID
}

// limit is the line of history up to which the follower is served, "" for any. One that is not recorded yet is that of
// the first position: until it is recorded, nothing beyond it is sent.
func (s *streams) limit(first binlog.Head) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.line != "":
		return s.line
	case len(s.servers) == 0 || !first.Line().Known():
		return ""
	case s.pinned == "":
		s.pinned = first.Line().String()
	}
	return s.pinned
}

// number is the server_id that replicas see, which is usual for an archive alone. Another one for each line of history
// has a replica that has a part of a transaction refuse to go on, so that its agent has it receive all of it anew.
func (s *streams) number(usual uint32) uint32 {
	if s == nil || s.line == "" {
		return usual
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(s.line))
	return h.Sum32()&(1<<30-1) | 1<<30
}

// goOn asks for a later line to be recorded: the follower has everything before it, and nothing else.
func (s *streams) goOn(line binlog.Line) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pinned = line.String()
}

// report is what the operator reads.
func (s *streams) report() (of *task.Streamed, line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pinned != s.line {
		line = s.pinned
	}
	if len(s.servers) == 0 {
		return nil, line
	}
	now := s.now
	var why []string
	for _, server := range s.servers {
		if e := s.tried[server].err; e != "" && !now.Connected {
			why = append(why, server+": "+e)
		}
	}
	now.Error = strings.Join(why, ". ")
	return &now, line
}

// pick returns the server to stream from after a transaction, false for none: what the archive has had for a while is
// taken from there.
func (s *streams) pick(at binlog.GTID) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.line == "" || s.before.Follows(at) {
		return "", false
	}
	return choose(s.servers, s.tried, time.Now())
}

// began notes that a stream runs, and returns its number.
func (s *streams) began(server string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = task.Streamed{Endpoint: server, Connected: true}
	s.session++
	say("streaming from %s", server)
	return s.session
}

// broke notes that the stream of a number has ended, or, with the number 0, that none could be begun.
func (s *streams) broke(session int, server string, lasted time.Duration, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tried == nil {
		s.tried = map[string]attempt{}
	}
	s.tried[server] = s.tried[server].ended(time.Now(), lasted, err.Error())
	if session == s.session || !s.now.Connected {
		s.now = task.Streamed{Endpoint: server}
	}
	say("no stream from %s: %v", server, err)
}

// stopped notes that the stream of a number has ended with the replica.
func (s *streams) stopped(session int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if session == s.session {
		s.now.Connected = false
	}
}

// errStream ends a session whose stream has ended: the replica connects again, and is sent what there is then.
type errStream struct{ error }

// stream sends what a server has after the position, whose transaction has a mark, until that ends. It returns nil
// where the archive is to be followed.
func (f *follower) stream(ctx context.Context, is mark) error {
	if f.streams == nil || !is.known() {
		return nil
	}
	server, ok := f.streams.pick(f.from)
	if !ok {
		return nil
	}
	var up *upstream
	var format binlog.Event
	err := f.meanwhile(ctx, func(ctx context.Context) (err error) {
		if err = f.guard(ctx); err != nil {
			return err
		}
		if up, err = f.streams.open(ctx, server, f.from); err != nil {
			return err
		}
		format, err = up.verify(ctx, f.from, is)
		return err
	})
	if up != nil {
		defer up.log.Close()
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		f.streams.broke(0, server, 0, err)
		return nil
	}
	began := time.Now()
	session := f.streams.began(server)
	var gone bool
	gone, err = f.relay(ctx, up, format)
	if gone || ctx.Err() != nil {
		f.streams.stopped(session)
		return err
	}
	f.streams.broke(session, server, time.Since(began), err)
	return errStream{fmt.Errorf("the stream from %s has ended: %w", server, err)}
}

// guard makes sure that the archive is of the line of history in which the follower may be sent a stream. A server that
// was recovered is of a later line.
func (f *follower) guard(ctx context.Context) error {
	last, err := f.archive.last(ctx)
	if err != nil {
		return fmt.Errorf("the archive is needed to begin a stream: %w", err)
	}
	f.streams.check(last, f.archive.chain)
	if why := f.streams.leaves(f.from); why != "" {
		return errors.New(why)
	}
	return nil
}

// saw takes the archive's last segment, as it is read now and then.
func (s *streams) saw(last binlog.Head, chain uint64) {
	if s == nil {
		return
	}
	s.check(last, chain)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last, s.before = last.Last, s.last
}

// check compares the archive's last segment with what is followed.
func (s *streams) check(last binlog.Head, chain uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch line := last.Line().String(); {
	case chain != 0 && last.Chain != chain:
		s.left = "the archive has begun anew with the segment " + binlog.Name(last.Chain)
	case line != s.line:
		s.left = fmt.Sprintf("the archive goes on in the line of history %s, and this cluster is in %s", line, s.line)
	default:
		s.left = ""
	}
}

// leaves is why no stream may run that is at a transaction: a node outside of the Primary component answers, and gets
// nothing any more, while the archive goes on with others.
func (s *streams) leaves(at binlog.GTID) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left == "" && s.before.Follows(at) {
		return fmt.Sprintf("it is behind the archive, which has had %s for %s", s.before, lookTime)
	}
	return s.left
}

// relay sends whole transactions: what a replica has of one may not be completed by another server. gone reports
// whether the replica has ended it.
func (f *follower) relay(ctx context.Context, up *upstream, format binlog.Event) (gone bool, err error) {
	if err := f.rotate(0); err != nil {
		return true, err
	}
	if err := f.event(format); err != nil {
		return true, err
	}
	if err := f.flush(); err != nil {
		return true, err
	}
	var whole binlog.Buffer
	defer func() { whole.Close() }()
	for {
		if f.ended(f.from) {
			return true, f.end(ctx)
		}
		kind, e, is, err := up.event(ctx, min(f.poll, f.beat))
		switch {
		case err != nil:
			return false, err
		case kind == binlog.Begin:
			whole.Close()
			_, err = whole.Write(e)
		case kind == binlog.Inside, kind == binlog.End:
			_, err = whole.Write(e)
		}
		if err != nil {
			return false, err
		}
		switch {
		case kind == binlog.Format:
			err = f.event(e)
		case kind == binlog.End:
			err = f.transaction(&whole, up.group.Done().GTID, is)
		case time.Since(f.sent) >= f.beat:
			err = f.show()
		}
		if err != nil {
			return true, err
		}
		if why := f.streams.leaves(f.from); why != "" {
			return false, errors.New(why)
		}
	}
}

// transaction sends one.
func (f *follower) transaction(whole *binlog.Buffer, g binlog.GTID, is mark) error {
	if err := f.remember(g, is); err != nil {
		return err
	}
	all, err := whole.Event()
	if err != nil {
		return err
	}
	for len(all) > 0 {
		size := int(binary.LittleEndian.Uint32(all[atSize:])) // each was checked when it was read
		if err := f.event(all[:size]); err != nil {
			return err
		}
		all = all[size:]
	}
	f.from, f.sent = g, time.Now()
	return f.flush()
}
