package follow

import (
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// TestUnwantedLease: that a lease is turned off is reported once a renewal counts that was asked for since the agent
// has read that: each time anew, and also after the agent was replaced.
func TestUnwantedLease(t *testing.T) {
	l := newLeased(t)
	l.launch()
	heard := func(when string, want int64) {
		t.Helper()
		if r := l.settle(); r == nil || !r.Heard || !r.Guarded || r.UnwantedHeard != want {
			t.Errorf("%s: %+v", when, r)
		}
	}
	l.renew(0)
	heard("it is wanted", 0)
	l.now += time.Second
	early := l.guard.Renew(agentapi.LeaseAnswer{})
	l.unwanted = 4
	heard("by a renewal from before", 0)
	l.now += time.Second
	late := l.guard.Renew(agentapi.LeaseAnswer(early))
	heard("by one that was asked for before", 0)
	l.guard.Renew(agentapi.LeaseAnswer(late))
	heard("by one that was asked for since", 4)
	l.now += time.Second
	l.unwanted = 6
	heard("it was turned on, and off again", 0)
	l.now += time.Second
	l.renew(0)
	heard("by one from after that", 6)

	l.handOver("b")
	l.f.TakenOver()
	heard("by a renewal of the agent before", 0)
	l.now += time.Second
	l.renew(0)
	heard("by one of this agent", 6)
	l.unwanted = 0
	heard("it is wanted again", 0)
}
