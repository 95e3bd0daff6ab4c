package lifecycle

import (
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

const (
	// noPrimaryPatience is how long a starting joiner is left alone once no member is Primary any more.
	// Galera itself would look for a component for 30 s, and nobody could be bootstrapped meanwhile.
	noPrimaryPatience = 1500 * time.Millisecond
	// noPeersPatience is the same when no other member answers at all: the fault may be this member's network.
	noPeersPatience = 10 * time.Second
	// disconnectedPatience is how long a server may answer and be in no group at all. Galera leaves it so for good
	// after some failures ("node restart required").
	disconnectedPatience = 3 * time.Second
)

// Run is what decides whether a running server is given up.
type Run struct {
	// Server is what it answers, nil while it does not.
	Server *agentapi.Server
	// Joining says that it was started to join and has not got the component's state yet, FullCopy that a full copy is awaited or
	// under way. Served says that it was Synced once.
	Joining, FullCopy, Served bool
	Peers                     map[string]agentapi.PeerView
}

// GiveUp says why a run leads nowhere, "" when it may lead somewhere, and how long it has to be so without a break before the
// server is ended.
func GiveUp(r Run) (why string, patience time.Duration) {
	switch {
	case r.Server != nil && r.Server.Component == galera.ComponentDisconnected:
		return "it has left the group for good", disconnectedPatience
	case r.Server == nil && r.Joining && !r.FullCopy && !r.Served && len(PrimaryPeers(r.Peers)) == 0:
		if len(r.Peers) == 0 {
			return "no other member answers any more", noPeersPatience
		}
		return "there is no Primary component to join any more", noPrimaryPatience
	}
	return "", 0
}
