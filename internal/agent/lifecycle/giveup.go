package lifecycle

import (
	"maps"
	"slices"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

const (
	// noPrimaryTimeout is how long a starting joiner runs on once no member is Primary. Galera would look for a component
	// for 30 s, and no member could be bootstrapped meanwhile.
	noPrimaryTimeout = 1500 * time.Millisecond
	// noPeersTimeout is the same when no other member answers at all: the fault may be this member's network. So it is
	// while an SST is awaited: what a donor has begun may not be reported yet.
	noPeersTimeout = 10 * time.Second
	// disconnectedTimeout is how long a server may answer without being in any group. Galera stays so after some failures
	// ("node restart required").
	disconnectedTimeout = 3 * time.Second
)

// Run are the facts that decide whether a running server is given up.
type Run struct {
	// Server is what it answers, nil while it does not.
	Server *agentapi.Server
	// Joining is true until a server that was started to join has the component's state, SST while an SST is awaited or
	// running, Received once some of it has arrived. Served is true once it was Synced.
	Joining, SST, Received, Served bool
	Peers                          map[string]agentapi.PeerView
}

// GiveUp returns why a run is to be ended, "" when it may go on, and how long that must hold without a break before.
func GiveUp(r Run) (why string, timeout time.Duration) {
	switch {
	case r.Server != nil && r.Server.Component == galera.ComponentDisconnected:
		return "Galera was disconnected from the group for good", disconnectedTimeout
	case r.Server != nil || !r.Joining || r.Served || len(PrimaryPeers(r.Peers)) > 0:
		return "", 0
	case r.SST:
		if !copied(r) {
			return "no member is a donor, and there is no Primary component to choose one", noPeersTimeout
		}
		return "", 0
	case len(r.Peers) == 0:
		return "no other member answers any more", noPeersTimeout
	}
	return "there is no Primary component to join any more", noPrimaryTimeout
}

// copied reports whether an SST may go on without a Primary component: a donor sends on, and what has arrived may be
// all of it. Without one Galera awaits the first byte for ever, and no member could be bootstrapped meanwhile.
func copied(r Run) bool {
	return r.Received || len(r.Peers) == 0 || slices.ContainsFunc(slices.Collect(maps.Values(r.Peers)),
		func(p agentapi.PeerView) bool { return p.Donation != nil })
}
