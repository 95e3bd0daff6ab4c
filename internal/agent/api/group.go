package api

import (
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// watchDuration is how long others are polled often after the component has changed.
const watchDuration = 20 * time.Second

// Peers holds what the other members answered last, and how often they are asked. Not safe for concurrent use (event
// loop only), except for what it embeds.
type Peers struct {
	Polling
	// Views are the last answers, by name; those of members that did not answer are missing.
	Views map[string]agentapi.PeerView
	// Asked is when they were asked for.
	Asked time.Time

	from       time.Time // what was asked before does not count
	watchUntil time.Time // the others are polled often until then
}

// Take takes the answers to a question that was asked at a time; it returns false when they are out of date.
func (g *Peers) Take(asked time.Time, views map[string]agentapi.PeerView) bool {
	if asked.Before(g.from) {
		return false
	}
	g.Views, g.Asked = views, asked
	return true
}

// Decide takes answers something is decided by: what was asked before must not end what these allow.
func (g *Peers) Decide(asked time.Time, views map[string]agentapi.PeerView) {
	g.Views, g.Asked, g.from = views, asked, asked
}

// Forget forgets all answers, and takes none to a question that was asked before.
func (g *Peers) Forget() { g.Views, g.Asked, g.from = nil, time.Time{}, time.Now() }

// Watch polls the others often for a while: the component has changed, and a member that goes down before it knows of a
// new line of history would look as if it had gone on without the others.
func (g *Peers) Watch(served bool) {
	g.watchUntil = time.Now().Add(watchDuration)
	if served {
		g.Set(PaceJoining)
	}
	g.Now()
}

// SlowDown polls the others rarely, once nothing has changed for a while.
func (g *Peers) SlowDown() {
	if time.Now().After(g.watchUntil) {
		g.Set(paceIdle)
	}
}
