package agent

import (
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
	"github.com/galera-operator/galera-operator/internal/agent/peers"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// watchTime is how long others are looked at often after the component has changed.
const watchTime = 20 * time.Second

// onPeers takes the other members' answers to a question that was asked at a time.
func (a *agent) onPeers(asked time.Time, views map[string]agentapi.PeerView) {
	if asked.Before(a.peersFrom) {
		return
	}
	a.peers = views
	a.findDonor()
	a.adoptLineage()
	if lifecycle.Serves(a.status) && a.run.served && time.Now().After(a.watchUntil) {
		a.asking.Set(peers.PaceIdle)
	}
}

// askAnew forgets what the others said: whoever is let go by an order joins nobody that served before it. The
// order is also how a member learns of a recovery, and it must not look for a component that has just ended.
func (a *agent) askAnew() {
	if a.proc == nil {
		a.peers, a.peersFrom = nil, time.Now()
	}
	a.asking.Now()
}

// watchPeers looks at the others often for a while: the component has changed, and whoever goes down
// before it knows of a new line of history would look as if it had gone on without the others.
func (a *agent) watchPeers() {
	a.watchUntil = time.Now().Add(watchTime)
	if a.run.served {
		a.asking.Set(peers.PaceJoining)
	}
	a.asking.Now()
}

// adoptLineage keeps a serving member's lineage that of its component: it is part of whatever line
// the component's other members are in.
func (a *agent) adoptLineage() {
	if !lifecycle.Serves(a.status) {
		return
	}
	for _, p := range lifecycle.PrimaryPeers(a.peers) {
		if p.ClusterUUID == a.status.ClusterUUID && p.State != galera.NodeJoining {
			a.orders.TakeLineage(p.Lineage)
		}
	}
}
