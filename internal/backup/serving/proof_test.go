package serving

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/binlog/binlogtest"
)

// lines are lines of history of one history.
func lines(names ...string) (out []binlog.Line) {
	for _, n := range names {
		out = append(out, binlog.Line{History: "h", ID: n})
	}
	return out
}

// TestStands: what is of the follower's line of history, or of one before it, is the archive's; what the archive has in
// a later one may be something else.
func TestStands(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		at, last []binlog.Line
		line     string
		want     standing
	}{
		"nothing was streamed":    {lines("a", "b"), lines("a", "b"), "", within},
		"its own":                 {lines("a"), lines("a"), "h/a", within},
		"its own, and a later":    {lines("a"), lines("a", "b"), "h/a", within},
		"the one before":          {lines("a"), lines("a", "b"), "h/b", within},
		"the one before, later":   {lines("a"), lines("a", "b", "c"), "h/b", within},
		"a later one":             {lines("a", "b"), lines("a", "b"), "h/a", beyond},
		"two later":               {lines("a", "b", "c"), lines("a", "b", "c"), "h/a", beyond},
		"of another chain":        {lines("c"), lines("c", "d"), "h/a", beyond},
		"a later one, cut short":  {lines("c"), lines("a", "c"), "h/a", beyond},
		"its own in a new chain":  {lines("b"), lines("b", "c"), "h/b", within},
		"no line is known":        {nil, lines("a"), "h/a", beyond},
		"another history's":       {[]binlog.Line{{History: "g", ID: "a"}}, lines("a"), "h/a", beyond},
		"nothing of the last one": {lines("a"), nil, "h/b", beyond},
	} {
		if got := stands(binlog.Head{Lines: tc.at}, binlog.Head{Lines: tc.last}, tc.line); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// markIn is the mark of one transaction of a statement that has begun at a time, and was committed at another.
func markIn(t *testing.T, seqno uint64, begun, committed uint32) (is mark) {
	t.Helper()
	var g binlog.Grouper
	var m marker
	for _, e := range []binlog.Event{binlogtest.FormatDescription(), binlogtest.Begin(0, 1, 7, committed, 0),
		binlogtest.Change(begun, 4, 0, "image"), binlogtest.Commit(committed, seqno)} {
		kind, err := g.See(e)
		if err != nil {
			t.Fatal(err)
		}
		is = m.see(kind, e, g.Done())
	}
	if !is.known() {
		t.Fatal("no mark")
	}
	return is
}

// TestMarker: nodes log a transaction with the times of its statements, and with other ones of its commit. The same
// statements at another time are another transaction, and so are those with another seqno.
func TestMarker(t *testing.T) {
	t.Parallel()
	is := markIn(t, 9, 10, 12)
	for name, tc := range map[string]struct {
		other mark
		same  bool
	}{
		"another node":  {markIn(t, 9, 10, 11), true},
		"repeated":      {markIn(t, 9, 11, 12), false},
		"another seqno": {markIn(t, 8, 10, 12), false},
	} {
		if (is == tc.other) != tc.same {
			t.Errorf("%s: %v, %v", name, is, tc.other)
		}
	}
}

// TestMemory: the last transactions are remembered, with what they were last.
func TestMemory(t *testing.T) {
	t.Parallel()
	var m memory
	for n := range uint64(remembered + 10) {
		if !m.add(gtid(n+1), mark{"sum", int64(n)}) {
			t.Fatal(n)
		}
	}
	if m.of(gtid(10)).known() || m.of(gtid(11)) != (mark{"sum", 10}) || len(m.marks) != remembered {
		t.Errorf("%v, %v, %d", m.of(gtid(10)), m.of(gtid(11)), len(m.marks))
	}
	if !m.add(gtid(11), mark{"sum", 11}) || m.add(gtid(11), mark{"other", 11}) || m.of(gtid(11)).sum != "other" {
		t.Error("another transaction with a number that was sent")
	}
}

// replicaAt is a follower with a position, of an archive and of streams.
func replicaAt(t *testing.T, w *written, s *streams, seq uint64) *follower {
	t.Helper()
	p := &packets{}
	return &follower{sender: &sender{packets: p}, archive: w.archived, streams: s, from: gtid(seq),
		beat: time.Minute, poll: time.Millisecond, sent: time.Now()}
}

// TestProve: a position that a stream may have led to is followed only where the archive has the same transactions.
func TestProve(t *testing.T) {
	t.Parallel()
	w := newWritten(t, gtid(3))
	w.add(gtid(5), 2, transactions(4, 5)...)
	first := w.at
	w.earlier, w.line = lines("a"), "b"
	w.add(gtid(8), 3, transactions(6, 7, 8)...)
	second := w.at
	server := []string{"db:3306"}
	own := replicaAt(t, w, nil, 7)
	same, err := own.content(t.Context(), second)
	if err != nil || !same.known() {
		t.Fatal(same, err)
	}
	for name, tc := range map[string]struct {
		line    string
		servers []string
		seq     uint64
		sent    mark
		refused string
		goesOn  string
		held    bool
	}{
		"the archive alone":                {seq: 7},
		"not recorded yet":                 {servers: server, seq: 7, goesOn: "h/b"},
		"of its line":                      {line: "h/a", servers: server, seq: 5},
		"where the chain begins":           {line: "h/a", servers: server, seq: 3},
		"of the line before":               {line: "h/b", servers: server, seq: 5},
		"of its line, later":               {line: "h/b", servers: server, seq: 7},
		"of a later line":                  {line: "h/a", servers: server, seq: 7, refused: "may have been lost"},
		"of a later line, streamed before": {line: "h/a", seq: 7, refused: "may have been lost"},
		"of a later line, and sent": {line: "h/a", servers: server, seq: 7, sent: same, goesOn: "h/b",
			held: true},
		"of a later line, and another was sent": {line: "h/a", seq: 7, sent: mark{"x", 1},
			refused: "another one in the archive"},
		"of a later line, and repeated": {line: "h/a", seq: 7, sent: mark{same.sum, same.time + 9},
			refused: "another one in the archive"},
		"of its line, at another time":      {line: "h/b", seq: 7, sent: mark{same.sum, same.time + 9}},
		"of its line, and another was sent": {line: "h/b", seq: 7, sent: mark{"x", 1}, refused: "another one in the archive"},
	} {
		s := &streams{line: tc.line, pinned: tc.line, servers: tc.servers}
		if tc.sent.known() {
			s.memory.add(gtid(tc.seq), tc.sent)
		}
		at := second
		if tc.seq <= 5 {
			at = first
		}
		ctx, cancel := context.WithCancel(t.Context())
		if tc.held {
			time.AfterFunc(50*time.Millisecond, cancel)
		}
		err := replicaAt(t, w, s, tc.seq).prove(ctx, at)
		cancel()
		var final Refusal
		switch {
		case errors.As(err, &final):
			if tc.refused == "" || !strings.Contains(final.Why, tc.refused) {
				t.Errorf("%s: %v", name, err)
			}
		case tc.held != errors.Is(err, context.Canceled), !tc.held && err != nil, tc.refused != "":
			t.Errorf("%s: %v", name, err)
		}
		if _, line := s.report(); line != tc.goesOn {
			t.Errorf("%s: records %q, want %q", name, line, tc.goesOn)
		}
	}
}

// TestPasses: nothing of a later line of history is sent before it is recorded.
func TestPasses(t *testing.T) {
	t.Parallel()
	w := newWritten(t, gtid(3))
	for name, tc := range map[string]struct {
		line   string
		next   []binlog.Line
		goesOn string
	}{
		"its own":            {"h/a", lines("a"), ""},
		"before its own":     {"h/b", lines("a"), ""},
		"a later one":        {"h/a", lines("a", "b"), "h/b"},
		"nothing to compare": {"", lines("a", "b"), ""},
	} {
		s := &streams{line: tc.line, pinned: tc.line}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(50*time.Millisecond, cancel)
		err := replicaAt(t, w, s, 3).passes(ctx, binlog.Head{Lines: tc.next})
		cancel()
		if _, line := s.report(); line != tc.goesOn || errors.Is(err, context.Canceled) != (tc.goesOn != "") {
			t.Errorf("%s: %v, records %q", name, err, line)
		}
	}
}

// TestLeaves: no stream runs while the archive is of another line of history, or of another chain, or has had for a
// while what the stream has not brought.
func TestLeaves(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reads []binlog.Head
		at    uint64
		says  string
		picks bool
	}{
		"nothing was read":     {at: 7, picks: true},
		"ahead of the archive": {[]binlog.Head{{Chain: 1, Last: gtid(5)}, {Chain: 1, Last: gtid(6)}}, 7, "", true},
		"read once":            {[]binlog.Head{{Chain: 1, Last: gtid(9)}}, 7, "", true},
		"not much behind":      {[]binlog.Head{{Chain: 1, Last: gtid(7)}, {Chain: 1, Last: gtid(9)}}, 7, "", true},
		"behind": {[]binlog.Head{{Chain: 1, Last: gtid(8)}, {Chain: 1, Last: gtid(9)}}, 7, "behind the archive",
			false},
		"another chain": {[]binlog.Head{{Chain: 4, Last: gtid(7)}}, 7, "begun anew", true},
		"another line":  {[]binlog.Head{{Chain: 1, Last: gtid(7), Lines: lines("a", "b")}}, 7, "h/b", true},
		"the line again": {[]binlog.Head{{Chain: 1, Last: gtid(7), Lines: lines("b")}, {Chain: 1, Last: gtid(7)}}, 7, "",
			true},
	} {
		s := &streams{line: "h/a", servers: []string{"db:3306"}}
		for _, h := range tc.reads {
			if h.Lines == nil {
				h.Lines = lines("a")
			}
			s.saw(h, 1)
		}
		if got := s.leaves(gtid(tc.at)); (got == "") != (tc.says == "") || !strings.Contains(got, tc.says) {
			t.Errorf("%s: %q", name, got)
		}
		if _, ok := s.pick(gtid(tc.at)); ok != tc.picks {
			t.Errorf("%s: picks %v", name, ok)
		}
	}
	if _, ok := (&streams{servers: []string{"db:3306"}}).pick(gtid(7)); ok {
		t.Error("a stream before a line of history is recorded")
	}
}
