package api

import (
	"slices"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// Staying leaves out those that are about to leave, or have only come, unless there are no others.
func Staying(peers []agentapi.PeerView) []agentapi.PeerView {
	out := slices.DeleteFunc(slices.Clone(peers), func(p agentapi.PeerView) bool {
		return p.Draining ||
			p.State == galera.NodeJoining
	})
	if len(out) == 0 {
		return peers
	}
	return out
}

// DialFirst returns the peers that a node with dynamic sockets dials first. While it finds out how a peer speaks, its
// only thread waits: half a second for a peer that speaks when it is spoken to (a strict one), three quarters for
// a dynamic one, which waits as well and gives up sooner or later, not at all for a plain one. A peer that answers
// its ClientHello after more than half a second is taken for one that speaks in clear (galerautils,
// AsioDynamicStreamEngine).
//
// So peers that are all dynamic or plain are dialled at once, and wait side by side: the group stands still while any
// of them waits. Two strict ones dialled at once would make the node fail with "Failed to unserialize message": it
// begins with one, if it can with a dynamic one, which would otherwise dial the node in its turn and wait once more.
// After a failed attempt it is a single one, another one each time.
func DialFirst(peers []agentapi.PeerView, attempt int) []string {
	var all, dynamic []string
	open := true
	for _, p := range peers {
		all = append(all, p.Name)
		if p.Socket == galera.SocketDynamic {
			dynamic = append(dynamic, p.Name)
		}
		open = open && (p.Socket == galera.SocketDynamic || p.Socket == galera.SocketPlain)
	}
	switch {
	case len(all) == 0, attempt == 0 && open:
		return all
	case attempt == 0 && len(dynamic) > 0:
		return dynamic[:1]
	default:
		return all[attempt%len(all):][:1]
	}
}
