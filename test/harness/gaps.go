package harness

import (
	"sync"
	"time"
)

// worthNoting is the shortest interval without a success that is remembered.
const worthNoting = 100 * time.Millisecond

// Gap is an interval in which no write was acknowledged.
type Gap struct {
	Start  time.Time
	Length time.Duration
	// Failed reports whether a statement failed in it; otherwise writes only waited.
	Failed bool
}

// gapMeter records intervals without a success, over all connections together.
type gapMeter struct {
	mu   sync.Mutex
	last time.Time
	// failed reports whether a statement failed since last.
	failed bool
	gaps   []Gap
	// ended is when the writing was ended on purpose: a silence after that is no gap.
	ended time.Time
}

func newGapMeter() *gapMeter { return &gapMeter{last: time.Now()} }

// success notes that a write was acknowledged now.
func (g *gapMeter) success() {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	if d := now.Sub(g.last); d > worthNoting {
		g.gaps = append(g.gaps, Gap{Start: g.last, Length: d, Failed: g.failed})
	}
	g.last, g.failed = now, false
}

// failure notes that a statement failed.
func (g *gapMeter) failure() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.failed = true
}

// end notes that no client writes any more.
func (g *gapMeter) end() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ended.IsZero() {
		g.ended = time.Now()
	}
}

// longest returns the longest gap that ended after since, the one that lasts now included.
func (g *gapMeter) longest(since time.Time) Gap {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	if !g.ended.IsZero() {
		now = g.ended
	}
	best := Gap{Start: g.last, Length: max(0, now.Sub(g.last))} // an answer may come after the end
	for _, gap := range g.gaps {
		if gap.Start.Add(gap.Length).After(since) && gap.Length > best.Length {
			best = gap
		}
	}
	return best
}

// firstAfter returns when the first write was acknowledged after the interruption at or after t: the first gap that
// ended after it in which a statement failed. In other gaps writes only waited, as they do at every change of the
// membership. Without an interruption that is at once; ok is false when no write was acknowledged after t.
func (g *gapMeter) firstAfter(t time.Time) (first time.Time, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, gap := range g.gaps {
		if end := gap.Start.Add(gap.Length); end.After(t) && gap.Failed {
			return end, true
		}
	}
	return t, g.last.After(t)
}
