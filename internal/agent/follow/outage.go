package follow

import (
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// steadyTime is how long a channel with nothing to apply has to run without an error until the last one is over.
const steadyTime = 10 * time.Second

// outage is the error that a channel has stopped with. Each attempt to go on removes it from the server, and takes a
// moment to fail again: it is reported until the channel goes on.
type outage struct {
	// state is how the channel was when it stopped, nil for no outage; applied is where.
	state   *agentapi.ChannelState
	applied string
	// steady is since when it runs without an error, zero while it does not; seen is when it was read last.
	steady, seen time.Time
}

// see takes what was read of the server.
func (o *outage) see(read agentapi.Following, now time.Time) {
	c := read.Channel
	unseen := now.Sub(o.seen) >= steadyTime/2 // it may have stopped meanwhile
	switch {
	case c == nil:
		*o = outage{}
	case c.Error != "" && (!c.Applying || !c.Connected):
		*o = outage{state: c, applied: read.Applied}
	case !c.Applying || !c.Connected:
		o.steady = time.Time{}
	case read.Applied != o.applied, !o.steady.IsZero() && !unseen && now.Sub(o.steady) >= steadyTime:
		*o = outage{}
	case o.steady.IsZero() || unseen:
		o.steady = now
	}
	o.seen = now
}

// restart starts a channel again that has stopped by itself: what it has applied is exact.
func (r *Follower) restart(now time.Time) {
	c := r.read.Channel
	if !r.gate.On() || c == nil || c.Applying && (c.Connected || c.ErrorNumber == 0) {
		r.stopped = time.Time{}
		return
	}
	switch {
	case r.stopped.IsZero():
		r.stopped = now
	case now.Sub(r.stopped) >= retryInterval:
		r.stopped = now
		r.gate.Again()
	}
}
