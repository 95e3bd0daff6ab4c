package proxy

import (
	"slices"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// heldTimeout is how long sessions may keep a connection to a node that no longer serves in its group. Sessions with a
// table or a variable of their own never give theirs back, and no session does without multiplexing.
const heldTimeout = 5 * time.Minute

// server is a node in one of the groups.
type server struct {
	group   int
	address string
}

// drains remembers since when servers have been drained.
type drains map[server]time.Time

// next returns the drains of a state, and the servers whose connections end: those that have been drained for
// heldTimeout, while another node serves in their group. Without another one a session keeps the node that it has.
func (d drains) next(s agentapi.ProxyState, now time.Time) (after drains, cut []server) {
	after = drains{}
	for _, group := range groups {
		other := slices.ContainsFunc(s.Nodes, func(n agentapi.ProxyNode) bool { return serves(n, group) })
		for _, n := range s.Nodes {
			key := server{group, n.Address}
			if serves(n, group) || !other {
				continue
			}
			since, known := d[key]
			if !known {
				since = now
			}
			after[key] = since
			if now.Sub(since) >= heldTimeout {
				cut = append(cut, key)
			}
		}
	}
	return after, cut
}

// serves reports whether a node takes new statements of a group.
func serves(n agentapi.ProxyNode, group int) bool {
	return group == groupWriter && n.Writer || group == groupReader && n.Reader
}
