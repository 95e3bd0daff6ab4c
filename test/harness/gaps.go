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
}

// gapMeter records intervals without a success, over all connections together.
type gapMeter struct {
	mu   sync.Mutex
	last time.Time
	gaps []Gap
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
		g.gaps = append(g.gaps, Gap{Start: g.last, Length: d})
	}
	g.last = now
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

// outage is the shortest interval that counts as an interruption of the service and not as a
// stall, as every change of the membership causes one.
const outage = time.Second

// firstAfter returns when the first write was acknowledged after the interruption that ended
// after t; ok is false while it lasts. Without any interruption that is at once.
func (g *gapMeter) firstAfter(t time.Time) (first time.Time, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, gap := range g.gaps {
		if end := gap.Start.Add(gap.Length); end.After(t) && gap.Length >= outage {
			return end, true
		}
	}
	return t, g.last.After(t)
}
