package wsrep

import (
	"context"
	"time"

	"github.com/galera-operator/galera-operator/internal/eventloop"
)

// maxSettle bounds how long others are kept from joining because of an eviction.
const maxSettle = 10 * time.Second

// Forgetting follows the end of an eviction. All members remember who was evicted, and as long as they do, the
// next one that joins makes them wait for it: five seconds, in which no client can write. So each forgets
// as soon as the view without the evicted one is there, and joiners wait for that. Not safe for concurrent use; event
// loop only.
type Forgetting struct {
	loop eventloop.Loop
	// forget makes the running server forget whom the group has evicted.
	forget func(context.Context) error

	since  time.Time // an eviction was first seen; zero while none is remembered
	busy   bool
	server int // counts the servers that have exited
}

// NewForgetting returns one that remembers none.
func NewForgetting(loop eventloop.Loop, forget func(context.Context) error) Forgetting {
	return Forgetting{loop: loop, forget: forget}
}

// Settling reports whether joiners are to wait.
func (f *Forgetting) Settling(now time.Time) bool {
	return !f.since.IsZero() && now.Sub(f.since) < maxSettle
}

// Begin notes that a server is about to be evicted.
func (f *Forgetting) Begin() { f.since = time.Now() }

// Exited forgets with the server.
func (f *Forgetting) Exited() { f.since, f.busy = time.Time{}, false; f.server++ }

// See makes the running server forget whom the group has evicted, when that is over.
func (f *Forgetting) See(s Status) {
	switch {
	case !s.Evicted:
		f.since = time.Time{}
		return
	case f.since.IsZero():
		f.since = time.Now()
	}
	if !s.Agreed || f.busy {
		return
	}
	f.busy = true
	server := f.server
	go func() {
		err := f.forget(context.Background())
		f.loop.Post(func() {
			if f.server != server {
				return
			}
			f.busy = false
			if err != nil {
				f.loop.Logger.Warn("an evicted server cannot be forgotten", "error", err)
				return
			}
			f.since = time.Time{}
		})
	}()
}

// Busy implements handover.Part.
func (f *Forgetting) Busy() string {
	if f.busy || !f.since.IsZero() {
		return "the group is settling after an eviction"
	}
	return ""
}
