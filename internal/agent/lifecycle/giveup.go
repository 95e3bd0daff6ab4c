package lifecycle

import (
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

const (
	// noPrimaryTimeout is how long a starting joiner runs on once no member is Primary. Galera would look for a component
	// for 30 s, and no member could be bootstrapped meanwhile.
	noPrimaryTimeout = 1500 * time.Millisecond
	// noPeersTimeout is the same when no other member answers at all: the fault may be this member's network.
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
	// running. Served is true once it was Synced.
	Joining, SST, Served bool
	Peers                map[string]agentapi.PeerView
}

// GiveUp returns why a run is to be ended, "" when it may go on, and how long that must hold without a break before.
func GiveUp(r Run) (why string, timeout time.Duration) {
	switch {
	case r.Server != nil && r.Server.Component == galera.ComponentDisconnected:
		return "Galera was disconnected from the group for good", disconnectedTimeout
	case r.Server == nil && r.Joining && !r.SST && !r.Served && len(PrimaryPeers(r.Peers)) == 0:
		if len(r.Peers) == 0 {
			return "no other member answers any more", noPeersTimeout
		}
		return "there is no Primary component to join any more", noPrimaryTimeout
	}
	return "", 0
}
