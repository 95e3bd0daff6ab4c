package archiver

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/manifest"
	"github.com/galera-operator/galera-operator/internal/backup/policy"
)

// TestClocks: times in the archive go by the clocks that agree.
func TestClocks(t *testing.T) {
	for name, c := range map[string]struct {
		a, b, c time.Duration
		fails   bool          // b does not answer any more
		want    time.Duration // how far the times are ahead of the archiver's clock
		says    string
	}{
		"all agree": {time.Second, -time.Second, 2 * time.Second, false, 0, ""},
		"the archiver's is ahead": {-time.Hour, -time.Hour, -time.Hour, false, -time.Hour,
			"archiver's host is 1h0m0s ahead"},
		"the archiver's is behind":  {time.Hour, time.Hour, time.Hour, false, time.Hour, "archiver's host is 1h0m0s behind"},
		"that of the node":          {time.Hour, 0, 0, false, 0, "that of a is 1h0m0s ahead"},
		"that of one that confirms": {0, -time.Hour, 0, false, 0, "that of b is 1h0m0s behind"},
		"one that fails shows none": {-time.Hour, -time.Hour, -time.Hour, true, -time.Hour,
			"archiver's host is 1h0m0s ahead"},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(w *world) {
				for s, ahead := range map[*server]time.Duration{w.a: c.a, w.b: c.b, w.c: c.c} {
					s.do(func() { s.ahead, s.down = ahead, nil })
				}
				w.stop()
				if err := w.store.bucket.Delete(t.Context(), w.store.key(1)); err != nil {
					t.Fatal(err)
				}
				w.archiver, w.stop = w.start()
				w.pass(throughEvery + 5*interval)
				near := func(what string, have time.Time, slack time.Duration) {
					t.Helper()
					if d := have.Sub(time.Now().Add(c.want)); d.Abs() > slack {
						t.Errorf("%s is %s, %s off", what, have, d)
					}
				}
				if c.fails {
					w.b.fail("gone")
				}
				w.pass(throughEvery + 5*interval)
				near("the beginning", w.heads()[0].Through, 2*time.Minute)
				near("the time through which all is archived", w.reportedThrough(), time.Minute)
				w.commit(6)
				w.pass(2 * interval)
				end := w.heads()[1]
				near("the earliest time of a transaction", end.Floor, time.Minute)
				near("the latest time of a transaction", end.Ceiling, time.Minute)
				near("the end of the segment", end.Through, time.Minute)
				now, known := w.reports.today()
				if near("the time to prune by", now, 10*time.Second); !known {
					t.Error("it is not known")
				}
				if says := w.reports.latest().Clocks; (says == "") != (c.says == "") || !strings.Contains(says, c.says) {
					t.Errorf("%q", says)
				}
			})
		})
	}
}

// TestClockOfAHost: the archiver, and the node that it follows, may run on one host, whose clock is ahead. Nothing is
// called archived that is not, or removed, because of it.
func TestClockOfAHost(t *testing.T) {
	play(t, func(w *world) {
		for _, s := range []*server{w.b, w.c} {
			s.do(func() { s.ahead = -time.Hour })
		}
		w.pass(throughEvery + 5*interval)
		w.commit(6)
		w.pass(2 * interval)
		now, known := w.reports.today()
		if d := time.Until(now) + time.Hour; !known || d.Abs() > 10*time.Second {
			t.Errorf("the time to prune by is off by %s", d)
		}
		end := w.heads()
		if late := time.Until(end[len(end)-1].Ceiling); late.Abs() > time.Minute {
			t.Errorf("the latest time of a transaction is off by %s", late)
		}
	})
}

// TestClockOfTheAPIServer: where the archiver runs on the host of one of two nodes, the clock that the operator sends
// keeps theirs from deciding alone, as long as it is sent.
func TestClockOfTheAPIServer(t *testing.T) {
	for name, c := range map[string]struct {
		sent string // the date, "" for the right one
		goes bool   // it is sent on and on
		want time.Duration
	}{
		"sent":             {"", true, -time.Hour},
		"not a date":       {"yesterday", true, 0},
		"not sent anymore": {"", false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(w *world) {
				w.b.do(func() { w.b.ahead = -time.Hour })
				w.c.fail("gone")
				w.reports.hear(time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat))
				for range 40 {
					if sent := c.sent; c.goes {
						if sent == "" {
							sent = time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat)
						} else {
							w.reports.hears(asked{})
						}
						w.reports.hear(sent)
					}
					w.pass(interval)
				}
				now, known := w.reports.today()
				if d := time.Until(now) - c.want; !known || d.Abs() > 10*time.Second {
					t.Errorf("the time to prune by is off by %s", d)
				}
				if says := w.reports.latest().Clocks; (c.want != 0) != strings.Contains(says, "1h0m0s between") {
					t.Errorf("%q", says)
				}
			})
		})
	}
}

// TestAheadBy: a node that answers slowly has no wrong clock.
func TestAheadBy(t *testing.T) {
	asked := noon
	answered := noon.Add(10 * time.Second)
	for clock, want := range map[time.Duration]time.Duration{0: 0, 7 * time.Second: 0, 10 * time.Second: 0,
		-time.Minute: -time.Minute, 70 * time.Second: time.Minute} {
		if have := aheadBy(noon.Add(clock), asked, answered); have != want {
			t.Errorf("%s: %s", clock, have)
		}
	}
}

// TestPruneByClocks: segments go by the clocks that agree, and none goes before a node was asked for its clock.
func TestPruneByClocks(t *testing.T) {
	a := newStore(t)
	now := time.Now().UTC()
	tenFrom(t, a, now.Add(-4*time.Hour), time.Minute)
	backup(t, a, manifest.Manifest{ID: "b1", GTID: "0-1-25", CompletedAt: now.Add(-3 * time.Hour)})
	backup(t, a, manifest.Manifest{ID: "b2", GTID: "0-1-45", CompletedAt: now.Add(-90 * time.Minute)})
	s := surveying(a, time.Hour)
	for name, c := range map[string]struct {
		known  bool
		behind time.Duration // is what agrees
		want   int
	}{
		"no node was asked":            {false, 0, 0},
		"the own one agrees":           {true, 0, 4},
		"the own one is ahead by that": {true, 105 * time.Minute, 2},
	} {
		s.pruned, s.reports.clocked = time.Time{}, clocked{}
		if clear(s.doomed); c.known {
			s.reports.clock(time.Now().UTC().Add(-c.behind), policy.Clock{})
		}
		if s.report(t); len(s.doomed) != c.want {
			t.Errorf("%s: %v", name, s.doomed)
		}
	}
}

// TestTwoClocks: while two halves of the clocks differ, a segment has the bounds of both, and no time is called
// archived.
func TestTwoClocks(t *testing.T) {
	for _, ahead := range []time.Duration{time.Hour, -time.Hour} {
		play(t, func(w *world) {
			w.pass(5 * interval)
			w.stop()
			w.alone = true
			w.a.do(func() { w.a.ahead = ahead })
			w.archiver, w.stop = w.start()
			w.pass(5 * interval)
			known := w.reportedThrough()
			w.commit(6)
			w.pass(2 * interval)
			h := w.heads()[1]
			near := func(what string, have, want time.Time) {
				t.Helper()
				if d := have.Sub(want); d.Abs() > 15*time.Second {
					t.Errorf("%s ahead: %s is %s off", ahead, what, d)
				}
			}
			near("the later bound", h.LateCeiling, time.Now().Add(max(0, ahead)))
			near("the earlier one", h.Ceiling, binlog.Later(time.Now().Add(min(0, ahead)), known))
			if w.pass(2 * throughEvery); !w.reportedThrough().Equal(known) || !h.Through.Equal(known) || !h.Low.Equal(known) {
				t.Errorf("%s ahead: archived to %s, was %s: %+v", ahead, w.reportedThrough(), known, h)
			}
			w.reports.hear(time.Now().UTC().Format(http.TimeFormat))
			w.pass(2 * interval)
			w.commit(7)
			w.pass(2 * interval)
			if h := w.heads()[2]; !h.LateCeiling.IsZero() {
				t.Errorf("%s ahead: three clocks: %+v", ahead, h)
			}
			near("what is archived", w.reportedThrough(), time.Now())
		})
	}
}

// TestProblemEndsInDoubt: while no time is called archived, and nothing is written, a problem that has ended is not
// reported any more. That of the store is.
func TestProblemEndsInDoubt(t *testing.T) {
	play(t, func(w *world) {
		w.pass(5 * interval)
		w.stop()
		w.alone = true
		w.a.do(func() { w.a.ahead = time.Hour })
		w.archiver, w.stop = w.start()
		w.pass(5 * interval)
		w.a.fail("gone")
		w.pass(5 * interval)
		if now := w.reports.latest(); now.Problem == "" || now.Node != "" {
			t.Errorf("%+v", now)
		}
		w.a.fail("")
		w.pass(2 * maxRetry)
		if now := w.reports.latest(); now.Problem != "" || now.Node != "a" {
			t.Errorf("it goes on, and reports %+v", now)
		}
		comeBack := w.vanish()
		w.pass(2 * maxRetry)
		if now := w.reports.latest(); now.Problem == "" {
			t.Errorf("the store is away, and it reports %+v", now)
		}
		comeBack()
	})
}

// TestClocksAtOnce: a segment that is stored before anything was asked for an interval goes by the clocks of all nodes.
func TestClocksAtOnce(t *testing.T) {
	play(t, func(w *world) {
		w.pass(5 * interval)
		w.stop()
		w.a.do(func() { w.a.ahead = time.Hour })
		w.archiver, w.stop = w.start()
		w.pass(interval / 2)
		for n := uint64(6); n < 8; n++ {
			w.a.commitAs(gtid(n), strings.Repeat("x", 9<<20))
		}
		w.pass(time.Millisecond)
		w.expect("@5 6-7")
		if h := w.heads()[1]; !h.LateCeiling.IsZero() || time.Until(h.Ceiling) > time.Minute {
			t.Errorf("%+v", h.Times)
		}
	})
}

// TestClocksOfBefore: clocks of nodes that do not answer any more do not count when a node begins to be followed.
func TestClocksOfBefore(t *testing.T) {
	play(t, func(w *world) {
		w.pass(5 * interval)
		for _, s := range []*server{w.b, w.c} {
			s.do(func() { s.ahead = time.Hour })
		}
		w.pass(2 * interval)
		for _, s := range w.servers() {
			s.fail("gone")
		}
		w.pass(interval)
		w.a.fail("")
		for i := 0; i < 200 && w.reports.latest().Node != "a"; i++ {
			w.pass(interval / 10)
		}
		for n := uint64(6); n < 8; n++ {
			w.a.commitAs(gtid(n), strings.Repeat("x", 9<<20))
		}
		w.pass(time.Millisecond)
		w.expect("@5 6-7")
		if h := w.heads()[1]; !h.LateCeiling.IsZero() {
			t.Errorf("%+v", h.Times)
		}
	})
}

// TestClocksKept: clocks of before count until the node that is followed answers again, and no longer.
func TestClocksKept(t *testing.T) {
	for name, c := range map[string]struct {
		a, b string // why they do not answer
		want int    // how many clocks count then
	}{
		"all answer":                        {"", "", 3},
		"the one that is followed does not": {"gone", "", 3},
		"another one does not":              {"", "gone", 2},
	} {
		nodes := []*server{newServer("a"), newServer("b"), newServer("c")}
		for _, s := range nodes {
			s.commit(6)
			s.ahead = -time.Hour
		}
		r := reading(nodes[0], nodes[1], nodes[2])
		r.at, r.last = place{binlog.Head{Last: gtid(5), Lines: nodes[0].lines}}, gtid(5) // nothing is stored
		if err := r.tick(t.Context()); err != nil || len(r.clocks) != len(nodes) {
			t.Fatalf("%v, %v", r.clocks, err)
		}
		for i, why := range []string{c.a, c.b} {
			if why != "" {
				nodes[i].fail(why)
			}
		}
		r.asked, r.next = time.Time{}, time.Time{}
		err := r.tick(t.Context())
		if (err != nil) != (c.a != "") || len(r.clocks) != c.want || r.judged().Early != -time.Hour {
			t.Errorf("%s: %v, %v", name, r.clocks, err)
		}
	}
}

// TestAskedAgain: a question of before a doubted segment was stored does not show that it was stored by then.
func TestAskedAgain(t *testing.T) {
	a := newServer("a")
	a.commit(6)
	for doubted, ahead := range map[bool]time.Duration{true: time.Hour, false: 0} {
		r := reading(a, newServer("b"), newServer("c"))
		r.store, r.known, r.at = newStore(t), time.Now(), place{binlog.Head{Number: 1, Last: gtid(5), Lines: a.lines}}
		r.open = spoolOf(t, 1)
		r.open.head.Transactions, r.open.head.First, r.open.head.Last = 1, gtid(6), gtid(6)
		a.ahead, r.asked = ahead, noon
		if err := r.flush(t.Context(), noon); err != nil || r.asked.IsZero() != doubted {
			t.Errorf("doubted: %v, asked at %s, %v", doubted, r.asked, err)
		}
		if h := r.at.Head; h.LateCeiling.IsZero() == doubted || h.Through.IsZero() != doubted {
			t.Errorf("doubted: %v, %+v", doubted, h)
		}
	}
}

// TestBeginsInDoubt: a chain that begins while two halves of the clocks differ has no time of its own.
func TestBeginsInDoubt(t *testing.T) {
	for heard, want := range map[bool]bool{true: false, false: true} {
		a, b := newServer("a"), newServer("b")
		for _, s := range []*server{a, b} {
			s.commit(5)
		}
		b.ahead = -time.Hour
		x := &archiver{store: newStore(t), reports: &board{}, refused: map[string]string{}, known: time.Now()}
		if heard {
			x.reports.asked = asked{-time.Hour, time.Now()}
		}
		err := x.begin(t.Context(), a, []source{a, b}, "it is the first")
		if !errors.As(err, &begun{}) || x.at.Through.IsZero() == want {
			t.Errorf("the API server's clock is known: %v; archived to %s, %v", heard, x.at.Through, err)
		}
	}
}
