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
	same, err := w.content(t.Context(), second, gtid(7))
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

// TestUnlike: a follower whose position has the number of the archive's last transaction is known to have the same one
// where that is of its line of history, or was sent to it.
func TestUnlike(t *testing.T) {
	t.Parallel()
	w := newWritten(t, gtid(3)) // 1
	w.add(gtid(5), 2, transactions(4, 5)...)
	first := w.at
	w.more, w.earlier, w.line, w.after = 0, lines("a"), "b", gtid(5)
	w.put(binlog.Head{Continues: true, Previous: gtid(5), Last: gtid(5), Chain: 1}, nil)
	continued := w.at
	w.add(gtid(8), 3, transactions(6, 7, 8)...) // 4
	second := w.at
	same, err := w.content(t.Context(), second, gtid(8))
	if err != nil || !same.known() {
		t.Fatal(same, err)
	}
	w.earlier, w.after = nil, binlog.GTID{}
	w.begin(gtid(8)) // 5: it is shown that nothing is missing
	joined := w.at
	w.more = 9
	w.begin(gtid(8)) // 6
	anew := w.at
	for name, tc := range map[string]struct {
		chain uint64
		line  string
		last  binlog.Head
		sent  mark
		says  string
	}{
		"the archive alone":              {1, "", second, mark{}, ""},
		"of its line":                    {1, "h/a", first, mark{}, ""},
		"nothing follows in a later one": {1, "h/a", continued, mark{}, ""},
		"of its line, which is later":    {1, "h/b", second, mark{}, ""},
		"of a later line":                {1, "h/a", second, mark{}, "may have been lost"},
		"of a later line, and sent":      {1, "h/a", second, same, ""},
		"another one was sent":           {1, "h/a", second, mark{"x", 1}, "another one in the archive"},
		"it was repeated":                {1, "h/a", second, mark{same.sum, same.time + 9}, "another one in the archive"},
		"of a chain that goes on":        {1, "h/b", joined, mark{}, ""},
		"of another chain":               {1, "h/b", anew, mark{}, "begun anew with the segment 000000000006"},
		"the archive alone, begun anew":  {1, "", anew, mark{}, "begun anew with the segment 000000000006"},
		"any chain":                      {0, "", anew, mark{}, ""},
		"of the chain that was begun":    {6, "h/b", anew, mark{}, ""},
	} {
		s := &streams{line: tc.line, pinned: tc.line}
		if tc.sent.known() {
			s.memory.add(tc.last.Last, tc.sent)
		}
		if tc.line == "" {
			s = nil
		}
		of := *w.archived
		of.chain = tc.chain
		why, err := s.unlike(t.Context(), &of, tc.last)
		if err != nil || (why == "") != (tc.says == "") || !strings.Contains(why, tc.says) {
			t.Errorf("%s: %q, %v", name, why, err)
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
