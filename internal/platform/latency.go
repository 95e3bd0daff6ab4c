package platform

import (
	"context"
	"sync"
	"time"
)

const (
	// Window is how far back Longest goes.
	Window = time.Minute
	// interval is the time between two wake-ups. Galera checks its own peers about twice a second.
	interval = 250 * time.Millisecond
	// slots divide the window.
	slots = 12
	slot  = Window / slots
)

// LatencyMeter keeps the longest delay of each slot of the window. The zero value is ready for use. Safe for concurrent
// use.
type LatencyMeter struct {
	mu      sync.Mutex
	longest [slots]time.Duration
	slot    [slots]int64 // which slot since the epoch a value belongs to
}

// Run measures until ctx is done.
func (m *LatencyMeter) Run(ctx context.Context) {
	timer := time.NewTimer(interval)
	defer timer.Stop()
	for {
		due := time.Now().Add(interval)
		timer.Reset(interval)
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			now := time.Now()
			m.add(now, now.Sub(due))
		}
	}
}

// add records a wake-up at now that came so much too late.
func (m *LatencyMeter) add(now time.Time, late time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := now.UnixNano() / int64(slot)
	i := n % slots
	if m.slot[i] != n {
		m.slot[i], m.longest[i] = n, 0
	}
	m.longest[i] = max(m.longest[i], late)
}

// Longest returns the longest delay within the window that ends at now.
func (m *LatencyMeter) Longest(now time.Time) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	var longest time.Duration
	newest := now.UnixNano() / int64(slot)
	for i, n := range m.slot {
		if n > newest-slots && n <= newest {
			longest = max(longest, m.longest[i])
		}
	}
	return longest
}
