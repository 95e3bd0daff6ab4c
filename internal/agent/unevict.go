package agent

import (
	"context"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/wsrep"
)

// settleMost bounds how long others are kept from joining because of an eviction.
const settleMost = 10 * time.Second

// forgetting follows the end of an eviction. All members remember who was evicted, and as long as they do, the
// next one that joins makes them wait for it: five seconds, in which nobody can write. So each forgets
// as soon as the view without the evicted one is there, and whoever wants to join waits for that.
type forgetting struct {
	since time.Time // an eviction was first seen; zero while none is remembered
	busy  bool
}

func (f forgetting) settling(now time.Time) bool {
	return !f.since.IsZero() && now.Sub(f.since) < settleMost
}

// unevict makes the running server forget whom the group has evicted, when that is over.
func (a *agent) unevict(s wsrep.Status) {
	switch {
	case !s.Evicted:
		a.forget.since = time.Time{}
		return
	case a.forget.since.IsZero():
		a.forget.since = time.Now()
	}
	if !s.Agreed || a.forget.busy {
		return
	}
	a.forget.busy = true
	proc := a.proc
	go func() {
		err := a.conn.ForgetEvicted(context.Background())
		a.post(func() {
			if a.proc != proc {
				return
			}
			a.forget.busy = false
			if err != nil {
				a.Logger.Warn("an evicted server cannot be forgotten", "error", err)
				return
			}
			a.forget.since = time.Time{}
		})
	}()
}
