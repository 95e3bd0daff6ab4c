package observe

import (
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// ForeignMembers are signs that what is not this cluster's has its names or addresses, as after a copy of its objects.
type ForeignMembers struct {
	// Members are in a Primary component of this cluster's nodes, and are none of them.
	Members []agentapi.GroupMember
	// Misled are this cluster's nodes that are in no Primary component, and at whose peers' addresses agents of another
	// cluster answer.
	Misled []Misled
}

// Misled is one node, the peers whose addresses lead elsewhere, and where one of them leads.
type Misled struct {
	Member string
	Peers  []string
	Of     agentapi.Identity
}

// foreignMemberDelay is how long a stranger has to be seen. The group remembers a server that ended for some seconds,
// and kubelet delivers a configuration, with the cluster's identity, to each node at another time.
const foreignMemberDelay = 2 * time.Minute

// ForeignMembers returns those that this process has seen for long.
func (w *Waits) ForeignMembers(key types.NamespacedName, s galera.Snapshot, seen map[string]Seen, now time.Time) (
	out ForeignMembers) {
	w.mu.Lock()
	defer w.mu.Unlock()
	last, next := w.foreign[key], map[string]time.Time{}
	lasts := func(id string) bool {
		next[id] = now
		if since, ok := last[id]; ok && !since.After(now) {
			next[id] = since
		}
		return now.Sub(next[id]) >= foreignMemberDelay
	}
	for _, m := range foreignMembers(s, seen) {
		if lasts("member " + m.UUID) {
			out.Members = append(out.Members, m)
		}
	}
	for _, m := range misled(s, seen) {
		if lasts("misled " + m.Member) {
			out.Misled = append(out.Misled, m)
		}
	}
	if w.foreign == nil {
		w.foreign = map[types.NamespacedName]map[string]time.Time{}
	}
	w.foreign[key] = next
	return out
}

// foreignMembers returns the members of Primary components whose UUID is that of no server of this cluster. A node that
// does not report which server it runs has a place by its name; a second one of the same name is a stranger.
func foreignMembers(s galera.Snapshot, seen map[string]Seen) (out []agentapi.GroupMember) {
	own, unsaid := map[string]bool{}, map[string]bool{}
	for _, m := range s.Members {
		r := seen[m.Name].Report
		if m.Known && r.Server != nil && r.Server.NodeUUID != "" {
			own[r.Server.NodeUUID] = true
		} else {
			unsaid[agentapi.GroupName(m.Name)] = true
		}
	}
	for _, m := range s.Members {
		if !m.InPrimary() {
			continue
		}
		here := map[string]bool{}
		for _, g := range seen[m.Name].Report.Server.Group {
			name := agentapi.GroupName(g.Name) // an agent that does not know the node yet reports it as the group names it
			known := own[g.UUID] || ownArbitrator(s.Arbitrator, g.Name) || unsaid[name] && !here[name]
			here[name] = here[name] || !own[g.UUID]
			if !known && !slices.ContainsFunc(out, func(o agentapi.GroupMember) bool { return o.UUID == g.UUID }) {
				out = append(out, g)
			}
		}
	}
	slices.SortFunc(out, func(a, b agentapi.GroupMember) int { return strings.Compare(a.UUID, b.UUID) })
	return out
}

// ownArbitrator reports whether an arbitrator of that name is the cluster's. While its agent does not report which
// process it runs, any is.
func ownArbitrator(a *galera.Arbitrator, name string) bool {
	return a != nil && agentapi.IsArbitrator(name) && (!a.Known || a.Process == "" || a.Process == name)
}

func misled(s galera.Snapshot, seen map[string]Seen) (out []Misled) {
	for _, m := range s.Members {
		others := seen[m.Name].Report.OtherPeers
		if !m.Known || m.InPrimary() || len(others) == 0 {
			continue
		}
		names := slices.Sorted(maps.Keys(others))
		out = append(out, Misled{Member: m.Name, Peers: names, Of: others[names[0]]})
	}
	return out
}
