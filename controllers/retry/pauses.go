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
	// maxPause is what pauses grow to.
	maxPause = time.Minute
)

// Pauses grow while an object waits for something that sends no event. Safe for concurrent use.
type Pauses struct {
	mu   sync.Mutex
	last map[types.NamespacedName]paused
	held map[types.NamespacedName]bool
}

type paused struct{ first, last time.Duration }

// Grow returns the pause to make: it doubles each time it is asked for in a row, up to maxPause. An object that looks
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
		next.last = min(2*before.last, maxPause)
	}
	p.last[of] = next
	return next.last
}

// Hold notes that an object may wait for an event, before what it waits for is read: none is missed.
func (p *Pauses) Hold(of types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held == nil {
		p.held = map[types.NamespacedName]bool{}
	}
	p.held[of] = true
}

// Release notes that an object waits for no event.
func (p *Pauses) Release(of types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.held, of)
}

// Held reports whether an object may wait for an event.
func (p *Pauses) Held(of types.NamespacedName) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.held[of]
}

// End forgets an object.
func (p *Pauses) End(of types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.last, of)
	delete(p.held, of)
}
