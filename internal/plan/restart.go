package plan

import (
	"fmt"

	"github.com/galera-operator/galera-operator/internal/cluster"
)

// restartOutdated rolls a new configuration or pod template through the cluster: one node at
// a time, only while all others are Synced and served, the primary last and after the writer
// has moved.
func restartOutdated(s cluster.Snapshot) (Decision, bool) {
	outdated := outdatedMembers(s)
	rolling := s.Operation != nil && s.Operation.Type == cluster.OpRestart
	if len(outdated) == 0 {
		if !rolling {
			return Decision{}, false
		}
		for _, m := range s.Members {
			if !m.Synced() || !m.Pod.Ready {
				return waitForRestarted(m)
			}
		}
		return complete("all nodes run with the current configuration")
	}
	if !rolling {
		return begin(s, cluster.Operation{Type: cluster.OpRestart, Target: s.ConfigRevision}, ReasonRestarting,
			"rolling restart of "+list(names(outdated)))
	}
	if m, ok := brokenAndOutdated(outdated); ok {
		return replace(m, "it does not run, and its pod is of an earlier template")
	}
	for _, m := range s.Members {
		if !m.Synced() || !m.Pod.Ready {
			return waitForRestarted(m)
		}
	}
	return restartNext(s, outdated)
}

func outdatedMembers(s cluster.Snapshot) []cluster.Member {
	var out []cluster.Member
	for _, m := range s.Members {
		if m.Pod.Exists && !m.Pod.Terminating && (m.Pod.Outdated || m.RestartNeeded) {
			out = append(out, m)
		}
	}
	return out
}

func names(members []cluster.Member) []string {
	out := make([]string, 0, len(members))
	for _, m := range members {
		out = append(out, m.Name)
	}
	return out
}

// brokenAndOutdated finds a member that cannot come up in its old pod: replacing it takes
// nobody down who serves.
func brokenAndOutdated(outdated []cluster.Member) (cluster.Member, bool) {
	for _, m := range outdated {
		if m.Pod.Outdated && !m.Pod.Ready && (!m.Known || m.Phase == cluster.PhaseFailed) {
			return m, true
		}
	}
	return cluster.Member{}, false
}

func waitForRestarted(m cluster.Member) (Decision, bool) {
	if m.Failure != nil {
		return wait(ReasonMemberFailed, fmt.Sprintf("the rolling restart is halted: %s: %s", m.Name, m.Failure.Message))
	}
	return wait(ReasonRestarting, "waiting for "+m.Name+" to be Synced and served before the next node is restarted")
}

func restartNext(s cluster.Snapshot, outdated []cluster.Member) (Decision, bool) {
	m := lastFirst(outdated, chooseWriter(s))
	if m.Pod.Role == rolePrimary && s.Replicas > 1 {
		return assign(otherWriter(s, m.Name))
	}
	if m.Pod.Outdated {
		return replace(m, "its pod is of an earlier template")
	}
	if m.ConfigLoaded != s.ConfigRevision {
		return wait(ReasonConfiguration, "waiting for "+m.Name+" to read the new configuration")
	}
	d, ok := order(*s.Operation, m.Name, OrderRestart, cluster.Position{}, ReasonRestarting, "restarting "+m.Name)
	send := d.Action.(SendOrder)
	send.ID += "/" + s.ConfigRevision // the operation may outlive several configurations
	d.Action = send
	return d, ok
}

func replace(m cluster.Member, why string) (Decision, bool) {
	return Decision{Action: DeletePod{m.Name}, Reason: ReasonRestarting, Message: "replacing the pod " + m.Name + ": " + why}, true
}

// otherWriter is where the writer goes before its node is restarted: the lowest ordinal else.
func otherWriter(s cluster.Snapshot, not string) string {
	for _, m := range s.Members {
		if m.Name != not && canWrite(m) {
			return m.Name
		}
	}
	return not
}
