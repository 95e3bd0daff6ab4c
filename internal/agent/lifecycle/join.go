package lifecycle

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// Joiner is what a member that is down knows of itself.
type Joiner struct {
	Data     galera.DataState
	Position galera.Position
	// Marked is true if only an SST makes a member of a component out of the data (galera.Member).
	Marked  bool
	Lineage galera.Lineage
	// History is the recorded UUID of the cluster's history, "" before there is one.
	History string
	// Crashed is the member's name while others may still count on the server that has ended.
	Crashed string
}

// JoinDecision records whether a member may be started to join.
type JoinDecision struct {
	Join bool
	// Failure is set when joining would destroy something: it stays down until the facts change.
	Failure *agentapi.Failure
	// Wait describes what is waited for when there is neither.
	Wait string
	// Line is the history that is joined.
	Line galera.Lineage
	// SST is true if an SST replaces the member's data.
	SST bool
}

// JudgeJoin is the join rule. A member joins only what is Primary, and only when what it holds
// is either nothing or an earlier state of what it joins: Galera would answer anything else with
// a full state transfer over data that exist nowhere else.
func JudgeJoin(self Joiner, peers map[string]agentapi.PeerView) JoinDecision {
	primaries := PrimaryPeers(peers)
	if len(primaries) == 0 {
		return JoinDecision{Wait: "no other member is in a Primary component"}
	}
	first := primaries[0]
	line := first.Lineage
	for _, p := range primaries[1:] {
		if p.ClusterUUID != first.ClusterUUID {
			return Refused(agentapi.FailureForeignUUID, "%s and %s are Primary with different histories (%s, %s)",
				first.Name, p.Name, first.ClusterUUID, p.ClusterUUID)
		}
		if p.Lineage.Epoch > line.Epoch {
			line = p.Lineage
		}
	}
	if v, bad := judgeHistory(self, first, line); bad {
		return v
	}
	if slices.ContainsFunc(primaries, func(p agentapi.PeerView) bool { return p.Settling }) {
		return JoinDecision{Wait: "the group to finish evicting a terminated server"}
	}
	if slices.ContainsFunc(primaries, func(p agentapi.PeerView) bool {
		return self.Crashed != "" &&
			slices.Contains(p.Members, self.Crashed)
	}) {
		return JoinDecision{Wait: "the group has not noticed yet that the server ended"}
	}
	if !slices.ContainsFunc(primaries, func(p agentapi.PeerView) bool {
		return !p.Draining &&
			p.State != galera.NodeJoining
	}) {
		return JoinDecision{Wait: "the members of the Primary component are joining or terminating"}
	}
	forgotten, _ := line.Forgotten(self.Lineage, self.Position)
	return JoinDecision{Join: true, Line: line, SST: self.Data != galera.DataPresent || self.Marked || forgotten ||
		line.Copies(self.Lineage)}
}

// NameOthers adds to a wait that the addresses of members are answered by agents of other clusters, and no member
// answers. An address passes to another pod, and a copy of the objects names the hosts of the original.
func NameOthers(v JoinDecision, peers map[string]agentapi.PeerView, others map[string]agentapi.Identity) JoinDecision {
	return nameUnanswered(v, peers, others, "at the addresses of %s, agents of the cluster %s answer")
}

// NameRefused adds to a wait that no member answers, and that the certificates of some are refused, or refuse ours.
func NameRefused(v JoinDecision, peers map[string]agentapi.PeerView, refused map[string]string) JoinDecision {
	return nameUnanswered(v, peers, refused, "%s cannot be asked, because of its certificate: %s")
}

// nameUnanswered adds to a wait, while no member answers, the names that why has an entry for, and the first entry.
func nameUnanswered[T any](v JoinDecision, peers map[string]agentapi.PeerView, why map[string]T,
	format string) JoinDecision {
	if v.Join || v.Failure != nil || len(peers) > 0 || len(why) == 0 {
		return v
	}
	names := slices.Sorted(maps.Keys(why))
	v.Wait = "a member of this cluster to answer: " + fmt.Sprintf(format, strings.Join(names, ", "), why[names[0]])
	return v
}

// judgeHistory reports whether what a member holds may be brought to the state of the component.
func judgeHistory(self Joiner, first agentapi.PeerView, line galera.Lineage) (JoinDecision, bool) {
	if self.History != "" && self.History != first.ClusterUUID {
		return Refused(agentapi.FailureForeignUUID,
			"%s is in the history %s, but that of this cluster is %s: it is not joined",
			first.Name, first.ClusterUUID, self.History), true
	}
	if self.Data != galera.DataPresent {
		return JoinDecision{}, false
	}
	switch {
	case !self.Position.Known():
		return Refused(agentapi.FailureRecovery,
			"the data directory holds a database whose place in the cluster's history is not known; "+
				"joining would replace it"), true
	case self.Position.UUID != first.ClusterUUID:
		return Refused(agentapi.FailureForeignUUID,
			"the data here belong to the history %s, %s is in %s; joining would replace them",
			self.Position.UUID, first.Name, first.ClusterUUID), true
	}
	if forgotten, beyond := line.Forgotten(self.Lineage, self.Position); beyond {
		return Refused(agentapi.FailureDiverged,
			"the cluster was bootstrapped %d times or more without this member, and remembers no "+
				"more: whether its data, up to %s, hold write-sets that the cluster has not cannot be known; joining would "+
				"replace them",
			galera.RememberedLines, self.Position), true
	} else if forgotten {
		return JoinDecision{}, false // replaced by a copy
	}
	if from, diverged := line.Diverged(self.Lineage, self.Position); diverged {
		return Refused(agentapi.FailureDiverged,
			"the cluster went on from %s without this member, which holds %s up to %s; joining would lose or mix them", from,
			galera.Count(self.Position.Seqno-from.Seqno, "later write-set"), self.Position), true
	}
	return JoinDecision{}, false
}

// Refused is the decision on a member that must not join, with a reason of agentapi and what to do.
func Refused(reason, format string, args ...any) JoinDecision {
	return JoinDecision{Failure: &agentapi.Failure{Reason: reason, Message: fmt.Sprintf(format, args...)}}
}

// PrimaryPeers returns the members of Primary components with a real history, by name.
func PrimaryPeers(peers map[string]agentapi.PeerView) []agentapi.PeerView {
	var out []agentapi.PeerView
	for _, name := range slices.Sorted(maps.Keys(peers)) {
		p := peers[name]
		if p.Component == galera.ComponentPrimary && p.ClusterUUID != "" && p.ClusterUUID != galera.ZeroUUID {
			out = append(out, p)
		}
	}
	return out
}

// OnlyDonor returns the one member that gives its state, "" when it is not certain which.
func OnlyDonor(peers map[string]agentapi.PeerView) string {
	var donors []string
	for _, p := range PrimaryPeers(peers) {
		if p.State == galera.NodeDonor {
			donors = append(donors, p.Name)
		}
	}
	if len(donors) != 1 {
		return ""
	}
	return strings.Join(donors, "")
}
