package policy

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
)

// anyArchive is one of some chains, in which numbers, and lines of history, repeat. Segments may be missing, and some
// cannot be read.
func anyArchive(r *rand.Rand) []binlog.Head {
	s := newStore()
	for range 1 + r.IntN(4) {
		if r.IntN(3) == 0 {
			s.another([]string{"s", "s2"}[r.IntN(2)], line([]string{"a", "b"}[r.IntN(2)], int64(100*r.IntN(20))))
		}
		last := uint64(5 + r.IntN(20))
		s.begins(last, "test")
		for n := range r.IntN(12) {
			switch {
			case r.IntN(8) == 0 && len(s.lines) < 3:
				s.continues(string(rune('c'+len(s.heads)%20)), int64(100*(last+uint64(r.IntN(3)))-100))
			default:
				last += 1 + uint64(r.IntN(4))
				s.segment(last, 10*n)
			}
			h := &s.heads[len(s.heads)-1]
			h.LastSum = fmt.Sprint(last, r.IntN(4)/3)
			switch r.IntN(6) {
			case 0:
				h.Seqno += int64(r.IntN(800)) // as it is reported of a node
			case 1:
				h.PreviousSeqno = 0
			}
		}
	}
	for i := range s.heads {
		if r.IntN(12) == 0 {
			s.heads[i] = binlog.Head{Number: s.heads[i].Number, Unreadable: "x"}
		}
	}
	return slices.DeleteFunc(s.heads, func(binlog.Head) bool { return r.IntN(20) == 0 })
}

// TestBisection: what is found by bisection is what is found by reading all.
func TestBisection(t *testing.T) {
	const runs = 20000
	found, also, starts := 0, 0, 0
	for seed := range uint64(runs) {
		r := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // a test
		all := anyArchive(r)
		b := base("b1", uint64(5+r.IntN(40)), 0)
		b.Seqno += int64(r.IntN(5)-2) * 100
		b.Line = line([]string{"a", "b"}[r.IntN(2)], 0)
		want := -1
		for i, h := range all {
			if reachedBy(h, b) {
				want = i
			}
		}
		heads := headsOf(all)
		first := heads.since(b)
		if first != want {
			t.Fatalf("seed %d: with %+v: %d, want %d", seed, b, first, want)
		}
		if first < 0 {
			continue
		}
		found++
		target := binlog.Target{GTID: gtid(b.GTID.Seq + uint64(r.IntN(15)))}
		other := anotherOf(all, first, b, target)
		if have := another(heads, first, b, target); !have.Same(other) {
			t.Fatalf("seed %d: with %+v, %s is in %s, too, want %s", seed, b, target, have, other)
		}
		if other.Known() {
			also++
		}
		start := slices.IndexFunc(all, func(h binlog.Head) bool {
			return h.Chain >= all[first].Chain && !h.Empty() && belongs(b, h) && atOrAfter(h.Last, b.GTID) && h.Seqno >= b.Seqno
		})
		if have := (walk{base: b, first: first}).start(heads); have != start {
			t.Fatalf("seed %d: with %+v: starts at %d, want %d", seed, b, have, start)
		}
		if start >= 0 {
			starts++
		}
	}
	if found < runs/10 || also < runs/100 || starts < runs/20 {
		t.Errorf("of %d archives %d go on from the base, %d have the target twice, %d have its end", runs, found, also,
			starts)
	}
}

// anotherOf is another, by reading all.
func anotherOf(all []binlog.Head, first int, b Base, t binlog.Target) binlog.Line {
	for _, h := range all[first:] {
		if h.Unreadable != "" || belongs(b, h) {
			continue
		}
		very := slices.ContainsFunc(all, func(of binlog.Head) bool {
			return of.Last == h.Last && of.LastSum == h.LastSum && of.LastSum != "" && belongs(b, of)
		})
		if h.Begins && h.Last == t.GTID && !very ||
			!h.Empty() && atOrAfter(t.GTID, h.First) && atOrAfter(h.Last, t.GTID) {
			return h.Line()
		}
	}
	return binlog.Line{}
}
