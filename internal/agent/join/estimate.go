package join

import (
	"math"
	"time"
)

const (
	// smooth is the time constant of the average.
	smooth = 10 * time.Minute
	// halfLife is how long the memory of a busier time takes to fade by half: a node that starts
	// at night is to be ready for the day.
	halfLife = 24 * time.Hour
	// overhead of the cache over the write-sets in it.
	overhead = 1.2

	// MinSize is the smallest size of the cache, which is Galera's default.
	MinSize = 128 << 20
)

// WriteRate is what is remembered of the rate of writes. The zero value knows nothing.
type WriteRate struct {
	// Average and High are in bytes per second: the recent average, and its highest value, fading.
	Average float64 `json:"average"`
	High    float64 `json:"high"`
	// At is when it was renewed last.
	At time.Time `json:"at,omitzero"`
}

// Add takes into account that so many bytes were written during a span that ends now.
func (e WriteRate) Add(bytes int64, span time.Duration, now time.Time) WriteRate {
	if bytes < 0 || span <= 0 {
		return e
	}
	rate := float64(bytes) / span.Seconds()
	weight := 1 - math.Exp(-span.Seconds()/smooth.Seconds())
	e.Average += (rate - e.Average) * weight
	if !e.At.IsZero() && now.After(e.At) {
		e.High *= math.Exp2(-now.Sub(e.At).Hours() / halfLife.Hours())
	}
	e.High, e.At = max(e.High, e.Average), now
	return e
}

// gcacheSize is how large the cache is to be for a window, within a budget. present is its size so far, 0
// when it has none: it is kept unless it is too small, or more than twice what is needed, so that the
// size does not change with every start.
func gcacheSize(e WriteRate, window time.Duration, budget, present int64) int64 {
	if window <= 0 {
		return MinSize
	}
	limit := max(budget, MinSize)
	need := e.High * window.Seconds() * overhead
	want := min(step(need), limit)
	if present > limit || want > present || want < present/2 {
		return want
	}
	return present
}

// step rounds up to one of few sizes: 1, 1.5, 2, 3, 4, 6 … times the least.
func step(need float64) int64 {
	for size := float64(MinSize); ; size *= 2 {
		switch {
		case need <= size:
			return int64(size)
		case need <= 1.5*size:
			return int64(1.5 * size)
		case size > math.MaxInt64/4:
			return int64(size)
		}
	}
}

// windows are the steps a window is rounded down to: a more exact report would not be accurate, and
// would change all the time.
var windows = []time.Duration{
	10 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 20 * time.Minute,
	30 * time.Minute,
	time.Hour, 2 * time.Hour, 4 * time.Hour, 8 * time.Hour, 12 * time.Hour, 24 * time.Hour, 48 * time.Hour,
	168 * time.Hour, 720 * time.Hour,
}

// gcacheWindow is how long what is written fits into a cache, at the highest rate remembered, rounded down to
// a step; 0 when next to nothing is written, so that it is unknown. last is what was reported before:
// it is kept while it is nearly right.
func gcacheWindow(e WriteRate, size int64, last time.Duration) time.Duration {
	if e.High <= 0 {
		return 0
	}
	seconds := float64(size) / overhead / e.High
	if seconds >= 2*windows[len(windows)-1].Seconds() {
		return 0
	}
	best := windows[0]
	for _, w := range windows {
		if w.Seconds() <= seconds {
			best = w
		}
	}
	// A figure near the edge of two steps would go back and forth.
	if last > 0 && seconds > last.Seconds()*0.8 && best < last {
		return last
	}
	return best
}
