package retry

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Workers is how many objects of a kind a controller reconciles at the same time. No pass waits for an agent (package
// calls).
const Workers = 16

const (
	// grows is the longest pause that grows: after a longer one nothing is polled for.
	grows = 15 * time.Second
	// MaxPause is what pauses grow to.
	MaxPause = time.Minute
)

// Pauses grow while an object waits for something that sends no event. Safe for concurrent use.
type Pauses struct {
	mu   sync.Mutex
	last map[types.NamespacedName]paused
}

type paused struct{ first, last time.Duration }

// Grow returns the pause to make: it doubles each time it is asked for in a row, up to MostPause. An object that looks
// again at once, or not for long, does not poll.
func (p *Pauses) Grow(of types.NamespacedName, pause time.Duration) time.Duration {
	if pause < time.Second {
		return pause
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if pause > grows {
		delete(p.last, of)
		return pause
	}
	if p.last == nil {
		p.last = map[types.NamespacedName]paused{}
	}
	next := paused{pause, pause}
	if before := p.last[of]; before.first == pause {
		next.last = min(2*before.last, MaxPause)
	}
	p.last[of] = next
	return next.last
}

// End forgets an object.
func (p *Pauses) End(of types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.last, of)
}
