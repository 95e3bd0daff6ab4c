package archiver

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/binlog/binlogtest"
)

// reading is a reader of a, which has read up to the transaction 6, alongside b and c.
func reading(a, b, c *server) *reader {
	all := around{synced: []source{a, b, c}, away: map[string]string{}}
	at, _ := a.position(context.Background())
	return &reader{archiver: &archiver{reports: &board{}, refused: map[string]string{}}, node: a, all: all, at0: at,
		last: gtid(6), before: gtid(5), seqno: 6, numbers: newNumbers(a, all.synced)}
}

// TestConfirmed: what was committed is the last transaction of this node, or of another one. A node whose binary log is
// a copy has what its donor has: one with its own confirms more.
func TestConfirmed(t *testing.T) {
	for name, c := range map[string]struct {
		change func(r *reader, b, c *server)
		last   uint64
		alike  bool
		logged int64
		says   string
	}{
		"all have the same": {func(*reader, *server, *server) {}, 6, false, 1, ""},
		"another has more":  {func(_ *reader, b, _ *server) { b.commit(7) }, 7, false, 1, ""},
		"the last has more": {func(_ *reader, b, c *server) {
			b.since = 9
			c.commit(7)
		}, 7, false, 1, ""},
		"another has less":   {func(_ *reader, b, _ *server) { b.log = nil }, 6, false, 1, ""},
		"one has a copy":     {func(_ *reader, b, c *server) { b.since, c.since = 9, 4 }, 6, false, 4, ""},
		"up to the last one": {func(_ *reader, b, c *server) { b.since, c.since = 6, 4 }, 6, false, 6, ""},
		"both have":          {func(_ *reader, b, c *server) { b.since, c.since = 7, 8 }, 6, false, 7, ""},
		"it is not known":    {func(_ *reader, b, c *server) { b.since, c.since = 0, 4 }, 6, false, 4, ""},
		"one does not answer": {func(_ *reader, b, c *server) {
			b.fail("gone")
			c.since = 4
		}, 6, false, 4, ""},
		"one is not asked any more": {func(_ *reader, b, c *server) {
			b.since = 3
			c.commit(7)
		}, 6, false, 3, ""},
		"none answers": {func(_ *reader, b, c *server) {
			b.fail("is gone")
			c.fail("is gone, too")
		}, 6, false, 0, "archived: [b: is gone c: is gone, too]"},
		"one alone": {func(r *reader, _, _ *server) { r.all.synced = r.all.synced[:1] }, 6, true, 0, ""},
		"one alone, as others are away": {func(r *reader, _, _ *server) {
			r.all.synced, r.all.away["b"] = r.all.synced[:1], "gone"
		}, 6, false, 0, "b: gone"},
		"one that was compared": {func(r *reader, _, _ *server) { r.numbers.nodes[0].known = true }, 6, true, 1, ""},
		"another one was":       {func(r *reader, _, _ *server) { r.numbers.nodes[1].known = true }, 6, false, 1, ""},
		"another server has written": {func(_ *reader, b, _ *server) {
			b.commitAs(binlog.GTID{Domain: 5, Server: 9, Seq: 1}, "foreign")
		}, 6, false, 0, "b was written to by another server"},
	} {
		servers := [3]*server{newServer("a"), newServer("b"), newServer("c")}
		for _, s := range servers {
			s.commit(5)
			s.commit(6)
		}
		r := reading(servers[0], servers[1], servers[2])
		c.change(r, servers[1], servers[2])
		last, err := r.confirmed(t.Context(), gtid(6))
		if last != gtid(c.last) || r.alike != c.alike || r.logged != c.logged || (err == nil) != (c.says == "") ||
			err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %s, alike %v, a log since %d, %v", name, last, r.alike, r.logged, err)
		}
	}
}

// TestStill: a node that is in another view, or line of history, or that another server has written to, is checked
// again, and what was read is read again.
func TestStill(t *testing.T) {
	for name, c := range map[string]struct {
		change func(now *position)
		goes   bool
	}{
		"as before":             {func(*position) {}, true},
		"later":                 {func(p *position) { p.last, p.seqno = gtid(9), 9 }, true},
		"another view":          {func(p *position) { p.view = "another" }, false},
		"another line":          {func(p *position) { p.Lines = []binlog.Line{line("b", 6)} }, false},
		"its line is not known": {func(p *position) { p.Lines = nil }, false},
		"another server has written": {func(p *position) {
			p.foreign = []binlog.GTID{{Domain: 5, Server: 9, Seq: 1}}
		}, false},
	} {
		a := newServer("a")
		a.commit(6)
		r := reading(a, newServer("b"), newServer("c"))
		r.open = spoolOf(t, 1)
		now, _ := a.position(t.Context())
		c.change(&now)
		var at once
		if err := r.still(now); errors.As(err, &at) == c.goes || (r.open != nil) != c.goes {
			t.Errorf("%s: %v, what was read is there: %v", name, err, r.open != nil)
		}
	}
}

// TestBeginsTransaction: the transaction that begins is the next one, or the one that is compared. One of the node
// itself is left out, and one of another server ends it.
func TestBeginsTransaction(t *testing.T) {
	const refuses, looksAgain = "refuses", "looks again"
	for name, c := range map[string]struct {
		g      binlog.GTID
		verify bool
		skip   bool
		want   string
	}{
		"the next one":              {gtid(7), false, false, ""},
		"the same one":              {gtid(6), false, false, refuses},
		"one of another server_id":  {binlog.GTID{Server: 2, Seq: 7}, false, false, refuses},
		"the one that is compared":  {gtid(6), true, true, ""},
		"another one in its place":  {gtid(7), true, true, refuses},
		"the node's own":            {binlog.GTID{Domain: 1, Server: 1, Seq: 3}, false, true, ""},
		"while another is compared": {binlog.GTID{Domain: 1, Server: 1, Seq: 3}, true, true, ""},
		"one of another server":     {binlog.GTID{Domain: 5, Server: 9, Seq: 3}, false, true, looksAgain},
		"of one that is known":      {binlog.GTID{Domain: 6, Server: 9, Seq: 3}, false, true, ""},
	} {
		a := newServer("a")
		a.commit(6)
		r := reading(a, newServer("b"), newServer("c"))
		r.at.Foreign = []binlog.GTID{{Domain: 6, Server: 9, Seq: 3}}
		r.verify, r.hole = c.verify, &binlog.Hole{}
		err := r.begins(t.Context(), c.g)
		var no refusal
		var at once
		if r.skip != c.skip || r.hole != nil || errors.As(err, &no) != (c.want == refuses) ||
			errors.As(err, &at) != (c.want == looksAgain) || (err == nil) != (c.want == "") {
			t.Errorf("%s: left out %v, %v", name, r.skip, err)
		}
	}
}

// TestTimesOfASegment: a head has the time of its first transaction, and the earliest and the latest ones.
func TestTimesOfASegment(t *testing.T) {
	play(t, func(w *world) {
		w.pass(interval + 500*time.Millisecond)
		made := time.Now().UTC().Truncate(time.Second)
		for i, later := range []time.Duration{0, -time.Second, time.Second, 0} {
			at, n := uint32(made.Add(later).Unix()), uint64(6+i) //nolint:gosec // small, and in this century
			for _, s := range w.servers() {
				s.add(gtid(n), binlogtest.Begin(0, 1, n, at, 0), binlogtest.Commit(at, n))
			}
		}
		w.pass(2 * interval)
		w.expect("@5 6-9")
		if h := w.heads()[1]; !h.FirstTime.Equal(made) || !h.Earliest.Equal(made.Add(-time.Second)) ||
			!h.LastTime.Equal(made.Add(time.Second)) {
			t.Errorf("from %s to %s, not before %s, by %s", h.FirstTime, h.LastTime, h.Earliest, made)
		}
	})
}

// TestHolesOfASegment: numbers that are missing on all nodes are named, so that a restore does not miss them, and the
// seqnos of some transactions are; a segment names as many holes as its head can.
func TestHolesOfASegment(t *testing.T) {
	play(t, func(w *world) {
		w.pass(interval)
		w.commit(6)
		for n := uint64(8); n <= 6+2*(binlog.MaxHoles+1); n += 2 {
			w.commit(n)
		}
		w.pass(3 * interval)
		const full = 6 + 2*binlog.MaxHoles
		w.expect(fmt.Sprintf("@5 6-%d %d-%d", full, full+2, full+2))
		all := w.heads()
		for i, h := range all[1:] {
			for k, hole := range h.Holes {
				after := uint64(6 + 2*(k+i*binlog.MaxHoles)) //nolint:gosec // small
				if hole.After != gtid(after) || hole.Next != gtid(after+2) || hole.Why == "" {
					t.Errorf("the hole %d of %d: %+v", k, h.Number, hole)
				}
			}
			if len(h.Holes) != []int{binlog.MaxHoles, 1}[i] {
				t.Errorf("%d has %d holes", h.Number, len(h.Holes))
			}
		}
		if have := all[1].SeqnoAtLeast(10); have != 10 {
			t.Errorf("0-1-10 has the seqno %d at least", have)
		}
	})
}
