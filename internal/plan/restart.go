package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/galera-operator/galera-operator/internal/galera"
)

// restartOutdated rolls a new configuration or pod template through the cluster: one node at
// a time, only while all others are Synced and served, the primary last and after the writer
// has moved. Each node is an operation of its own: the journal, not what an operator happens
// to see, says whose turn it is.
func restartOutdated(s galera.Snapshot) (Decision, bool) {
	outdated := outdatedMembers(s)
	if len(outdated) == 0 {
		return Decision{}, false
	}
	next := lastFirst(outdated, chooseWriter(s))
	if i := slices.IndexFunc(outdated, broken); i >= 0 {
		next = outdated[i]
	} else if d, waiting := waitForSynced(s); waiting {
		return d, true
	} else if d, waiting := waitForConfiguration(s); waiting {
		return d, true
	}
	return begin(s, galera.Operation{Type: galera.OpRestart, Target: next.Name}, ReasonRestarting,
		"rolling restart of "+list(names(outdated))+"; the next is "+next.Name)
}

// continueRestart restarts one node and waits until it is back. It gives way when the
// component is lost meanwhile.
func continueRestart(s galera.Snapshot, op galera.Operation) (Decision, bool) {
	m, ok := s.Member(op.Target)
	switch {
	case !ok:
		return abandon(ReasonRestarting, op.Target+" is no member any more")
	case !anyPrimary(s) || s.Hibernate:
		return abandon(ReasonRecovering, "the rolling restart gives way: there is no Primary component any more, or the cluster is to hibernate")
	case broken(m):
		return replace(m, "it does not run, and its pod is of an earlier template")
	case m.Synced() && slices.ContainsFunc(s.Members, broken):
		if d, using := useUpTurn(s, op, m); using && !outdated(m) {
			return d, true
		}
		return abandon(ReasonRestarting, "a node that cannot come up in its pod has its turn first: "+m.Name+" would wait for it")
	case arbitratorFirst(s):
		return abandon(ReasonRestarting, "the arbitrator is away, and has its turn first")
	}
	if d, waiting := waitForOthersOf(s, m); waiting {
		return d, true
	}
	if m.StuckDonor && !comesBack(s, m) {
		return abandon(ReasonRestarting, m.Name+" stays a donor though it gives to nobody, but without it the cluster could not be started again by itself")
	}
	if !outdated(m) {
		if d, using := useUpTurn(s, op, m); using {
			return d, true
		}
		return complete(m.Name + " runs with the current configuration")
	}
	if turnUsed(op, m) {
		// It may have been this very configuration before the last one, and the order would be a known one.
		return abandon(ReasonRestarting, m.Name+" was restarted, and the configuration has changed again: another epoch is needed")
	}
	return restart(s, op, m)
}

func outdatedMembers(s galera.Snapshot) []galera.Member {
	var out []galera.Member
	for _, m := range s.Members {
		if outdated(m) {
			out = append(out, m)
		}
	}
	return out
}

func outdated(m galera.Member) bool {
	return m.Pod.Exists && !m.Pod.Terminating && (m.Pod.Outdated || m.RestartNeeded || m.StaleTrust || m.StuckDonor)
}

func names(members []galera.Member) []string {
	out := make([]string, 0, len(members))
	for _, m := range members {
		out = append(out, m.Name)
	}
	return out
}

// broken says that a member cannot come up in its old pod: replacing it takes nobody down
// who serves. One that has failed and waits for the next attempt runs nothing at this moment.
func broken(m galera.Member) bool {
	return outdated(m) && m.Pod.Outdated && !m.Pod.Ready &&
		(!m.Known || m.Phase == galera.PhaseFailed || m.Phase == galera.PhaseWaiting && m.Failure != nil)
}

// replaceStuck replaces, while there is no Primary component, a pod that cannot start in its old
// template: a corrected image must reach the very node that nothing starts without.
func replaceStuck(s galera.Snapshot) (Decision, bool) {
	if anyPrimary(s) || s.Hibernate {
		return Decision{}, false
	}
	for _, m := range s.Members {
		if broken(m) && (m.Known || m.Pod.Waiting) {
			return replace(m, "it cannot start, and its pod is of an earlier template")
		}
	}
	return Decision{}, false
}

func waitForSynced(s galera.Snapshot) (Decision, bool) {
	if m, found := stuckDonor(s); found && !comesBack(s, m) {
		return wait(ReasonRestarting, aloneAndStuck(s, m))
	}
	for _, m := range s.Members {
		serves := m.Synced() && m.Pod.Ready && m.CannotAct == galera.Able
		if serves && (!m.Upgrading || m.Pod.Outdated) { // in its next pod it is another matter
			continue
		}
		if m.CannotAct != galera.Able {
			return wait(ReasonMemberFailed, fmt.Sprintf("no node is taken down beside %s, which %s", m.Name, plight(m)))
		}
		if m.Failure != nil {
			return wait(ReasonMemberFailed, fmt.Sprintf("the rolling restart is halted: %s: %s", m.Name, m.Failure.Message))
		}
		if serves {
			return wait(ReasonUpgrading, "waiting for mariadb-upgrade on "+m.Name+" before the next node is restarted")
		}
		return wait(ReasonRestarting, "waiting for "+m.Name+" to be Synced and served before the next node is restarted"+but(m))
	}
	return waitForArbitrator(s)
}

// waitForConfiguration lets everybody read a new configuration before anybody is restarted for it: only
// then is it known who needs a restart, and whose turn is the last.
func waitForConfiguration(s galera.Snapshot) (Decision, bool) {
	if d, waiting := nodesRead(s); waiting {
		return d, true
	}
	return arbitratorReads(s)
}

func nodesRead(s galera.Snapshot) (Decision, bool) {
	for _, m := range s.Members {
		if m.ConfigLoaded != s.ConfigRevision {
			return wait(ReasonConfiguration, "waiting for "+m.Name+" to read the new configuration"+but(m))
		}
		if m.StaleTrust && m.Publication != s.Publication {
			return wait(ReasonConfiguration, "waiting for "+m.Name+" to read the new certificates"+but(m))
		}
	}
	return Decision{}, false
}

func restart(s galera.Snapshot, op galera.Operation, m galera.Member) (Decision, bool) {
	if other := otherWriter(s, m.Name); m.Pod.Role == rolePrimary && other != m.Name {
		return assign(other)
	}
	if _, found := onlyGiver(s); found {
		return replace(m, "it"+whyGiver)
	}
	if m.Pod.Outdated {
		return replace(m, "its pod is of an earlier template")
	}
	if d, waiting := waitForConfiguration(s); waiting {
		return d, true
	}
	why := ""
	if m.StuckDonor {
		why = ": it stays a donor though it gives to nobody"
	}
	d, ok := order(op, m.Name, OrderRestart, galera.Position{}, ReasonRestarting, "restarting "+m.Name+why)
	send := d.Action.(SendOrder)
	send.ID = restartID(s, op, m)
	d.Action = send
	return d, ok
}

// useUpTurn makes a node that came by its configuration without an order know the order all the same: one that an
// earlier leader has sent may still be under way, and would take the node down in somebody else's turn. Under
// the order's ID a Start, which changes nothing, takes its place.
func useUpTurn(s galera.Snapshot, op galera.Operation, m galera.Member) (Decision, bool) {
	if !m.Known || !m.Records() || m.Pod.Terminating || seenEpoch(m) >= op.Epoch {
		return Decision{}, false
	}
	return Decision{Reason: ReasonRestarting, Message: m.Name + " runs with the current configuration: its turn is over", Action: SendOrder{
		Member: m.Name, ID: restartID(s, op, m), Epoch: op.Epoch, Kind: OrderStart,
	}}, true
}

// turnUsed says that the node was restarted in this turn, or told that it is over: another order may be one it knows, and
// would not carry out.
func turnUsed(op galera.Operation, m galera.Member) bool {
	if m.Order == nil || m.Order.Epoch != op.Epoch || m.Order.State != orderDone || m.Pod.Outdated {
		return false
	}
	// For whatever configuration it was told: an earlier leader may have told it so for several, of which it shows the last.
	return m.Order.Kind == string(OrderRestart) || m.Order.Kind == string(OrderStart) && strings.HasPrefix(m.Order.ID, orderID(op, m.Name, OrderRestart)+"/")
}

// restartID tells apart the configurations a node is restarted for: they may change again before it is back.
func restartID(s galera.Snapshot, op galera.Operation, m galera.Member) string {
	id := orderID(op, m.Name, OrderRestart) + "/" + s.ConfigRevision
	if m.StaleTrust {
		id += "/" + s.Publication
	}
	return id
}

func replace(m galera.Member, why string) (Decision, bool) {
	return Decision{Action: DeletePod{m.Name}, Reason: ReasonRestarting, Message: "replacing the pod " + m.Name + ": " + why}, true
}

// otherWriter is where the writer goes before its node is restarted: the lowest ordinal else.
func otherWriter(s galera.Snapshot, not string) string {
	for _, m := range s.Members {
		if m.Name != not && canWrite(m) {
			return m.Name
		}
	}
	return not
}
