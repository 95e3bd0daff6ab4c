package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/galera-operator/galera-operator/internal/galera"
)

// restartOutdated is the rolling restart for a new configuration or pod template: one node at a
// time, only while all others are Synced and ready, the primary last and after a switchover. The
// restart of each node is an operation of its own: the journal, not an operator's view, determines
// which node is next.
func restartOutdated(s galera.Snapshot) (Decision, bool) {
	outdated := restartable(s)
	if len(outdated) == 0 {
		return Decision{}, false
	}
	next, d, waiting := chooseForRestart(s, outdated)
	if waiting {
		return d, true
	}
	if next.Backup != "" && !broken(next) {
		other, found := withoutBackup(outdated, chooseWriter(s))
		if !found {
			return wait(ReasonRestarting, fmt.Sprintf("%s gives the backup %s, and is restarted when that has ended", next.Name,
				next.Backup))
		}
		next = other
		if d, waiting := waitForSettled(s, next); waiting {
			return d, true
		}
	}
	return begin(s, galera.Operation{Type: galera.OpRestart, Target: next.Name}, ReasonRestarting,
		"rolling restart of "+list(names(outdated))+"; the next is "+next.Name)
}

// chooseForRestart returns the node to restart next: a broken one at once, any other when nothing has to be waited for.
func chooseForRestart(s galera.Snapshot, outdated []galera.Member) (next galera.Member, wait Decision, waiting bool) {
	if i := slices.IndexFunc(outdated, broken); i >= 0 {
		return outdated[i], Decision{}, false
	}
	next = nextToRestart(outdated, chooseWriter(s))
	if wait, waiting = waitForSynced(s); waiting {
		return next, wait, true
	}
	if wait, waiting = waitForSettled(s, next); waiting {
		return next, wait, true
	}
	wait, waiting = waitForConfiguration(s)
	return next, wait, waiting
}

// nextToRestart is nextToStop, but prefers a node whose outdated pod is not settled: a sidecar may fail, and
// only another pod ends that.
func nextToRestart(outdated []galera.Member, writer string) galera.Member {
	unsettled := slices.DeleteFunc(slices.Clone(outdated), func(m galera.Member) bool {
		return !m.Pod.Outdated ||
			m.Pod.Unsettled == ""
	})
	if len(unsettled) > 0 {
		if next := nextToStop(unsettled, writer); next.Name != writer {
			return next
		}
	}
	return nextToStop(outdated, writer)
}

// withoutBackup is a node to restart while others give a backup: not the primary, which is the last one.
func withoutBackup(outdated []galera.Member, writer string) (galera.Member, bool) {
	for _, m := range outdated {
		if m.Backup == "" && m.Name != writer {
			return m, true
		}
	}
	return galera.Member{}, false
}

// continueRestart restarts one node and waits until it is back. It is abandoned if the
// component is lost meanwhile.
func continueRestart(s galera.Snapshot, op galera.Operation) (Decision, bool) {
	m, ok := s.Member(op.Target)
	switch {
	case !ok:
		return abandon(ReasonRestarting, op.Target+" is no longer a member")
	case !anyPrimary(s) || s.Hibernate:
		return abandon(ReasonRecovering,
			"the rolling restart is abandoned: the Primary component is lost, or the cluster is to hibernate")
	case broken(m):
		return replace(m, "it does not run, and its pod template has changed")
	case m.Synced() && slices.ContainsFunc(s.Members, broken):
		if d, using := recordRestart(s, op, m); using && !outdated(m) {
			return d, true
		}
		return abandon(ReasonRestarting, "a node that cannot start in its pod is replaced first: "+m.Name+
			" would wait for it")
	case arbitratorFirst(s):
		return abandon(ReasonRestarting, "the arbitrator does not serve, and is restored first")
	}
	if d, waiting := waitForOthersOf(s, m); waiting {
		return d, true
	}
	if m.StuckDonor && !canStartAgain(s, m) {
		return abandon(ReasonRestarting, m.Name+
			" stays a donor without a joiner, but the cluster could not start by itself after its restart")
	}
	if !outdated(m) {
		if d, using := recordRestart(s, op, m); using {
			return d, true
		}
		return complete(m.Name + " runs with the current configuration")
	}
	if restartRecorded(op, m) {
		// The node may have had this configuration before the last one; the agent would ignore the order as a known one.
		return abandon(ReasonRestarting, m.Name+
			" was restarted, and the configuration has changed again: another epoch is needed")
	}
	return restart(s, op, m)
}

// Outdated reports whether a node is to be restarted for what it runs with.
func Outdated(m galera.Member) bool { return outdated(m) }

// Deferred reports whether the restart of an outdated node waits for maintenance: it serves, neither the spec nor a
// person asks for the restart, and no certificate needs it.
func Deferred(s galera.Snapshot, m galera.Member) bool {
	return s.RestartsWait != "" && !broken(m) && !m.RestartAsked && !m.StaleTrust && !m.KeepsOldKey && !m.StuckDonor
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

// restartable are the outdated members whose restart does not wait for maintenance.
func restartable(s galera.Snapshot) []galera.Member {
	return slices.DeleteFunc(outdatedMembers(s), func(m galera.Member) bool { return Deferred(s, m) })
}

func outdated(m galera.Member) bool {
	return m.Pod.Exists && !m.Pod.Terminating && (m.Pod.Outdated || m.RestartNeeded || m.RestartAsked || m.StaleTrust ||
		m.StuckDonor)
}

func names(members []galera.Member) []string {
	out := make([]string, 0, len(members))
	for _, m := range members {
		out = append(out, m.Name)
	}
	return out
}

// broken reports whether a member cannot start in its old pod: replacing the pod stops no node that serves.
// A member that has failed and waits for its next attempt runs no server at this moment.
func broken(m galera.Member) bool {
	return outdated(m) && m.Pod.Outdated && !m.Pod.Ready &&
		(!m.Known || m.Phase == galera.PhaseFailed || m.Phase == galera.PhaseWaiting && m.Failure != nil)
}

// replaceStuck replaces, while there is no Primary component, a pod of an old template that cannot start:
// a corrected image must reach the node that has to bootstrap.
func replaceStuck(s galera.Snapshot) (Decision, bool) {
	if anyPrimary(s) || s.Hibernate {
		return Decision{}, false
	}
	for _, m := range s.Members {
		if broken(m) && (m.Known || m.Pod.Waiting) {
			return replace(m, "it cannot start, and its pod template has changed")
		}
	}
	return Decision{}, false
}

func waitForSynced(s galera.Snapshot) (Decision, bool) {
	if m, found := stuckDonor(s); found && !canStartAgain(s, m) {
		return Decision{Reason: ReasonRestarting, Message: aloneAndStuck(s, m), DeletePod: m.Name}, true
	}
	for _, m := range s.Members {
		serves := m.Synced() && m.Pod.Ready && m.CannotAct == galera.Able
		if serves && (!m.Upgrading || m.Pod.Outdated) { // a new pod begins the upgrade anew
			continue
		}
		if m.CannotAct != galera.Able {
			return wait(ReasonMemberFailed, fmt.Sprintf("no node is restarted while %s %s", m.Name, memberProblem(m)))
		}
		if m.Failure != nil {
			return wait(ReasonMemberFailed, fmt.Sprintf("the rolling restart is halted: %s: %s", m.Name, m.Failure.Message))
		}
		if serves {
			return wait(ReasonUpgrading, "waiting for mariadb-upgrade on "+m.Name+" before the next node is restarted")
		}
		return wait(ReasonRestarting, "waiting for "+m.Name+" to be Synced and ready before the next node is restarted"+
			problemSuffix(m))
	}
	return waitForArbitrator(s)
}

// waitForSettled waits, before another pod is replaced by one of the present template, until those that were made from
// it have shown that it is a good one. An outdated pod need not: it goes itself; nor is a stuck donor kept waiting,
// without which none joins. A server that is restarted in its pod does not wait: its containers stay.
func waitForSettled(s galera.Snapshot, next galera.Member) (Decision, bool) {
	if !next.Pod.Outdated || next.StuckDonor {
		return Decision{}, false
	}
	for _, m := range s.Members {
		if m.Name != next.Name && !m.Pod.Outdated && m.Pod.Unsettled != "" {
			return wait(ReasonRestarting, fmt.Sprintf("%s serves, but no other pod is replaced yet: %s", m.Name,
				m.Pod.Unsettled))
		}
	}
	return Decision{}, false
}

// waitForConfiguration lets every node read a new configuration before any node is restarted for it: only
// then is it known which nodes need a restart, and which is last.
func waitForConfiguration(s galera.Snapshot) (Decision, bool) {
	if d, waiting := nodesRead(s); waiting {
		return d, true
	}
	return arbitratorReads(s)
}

func nodesRead(s galera.Snapshot) (Decision, bool) {
	for _, m := range s.Members {
		if neverRan(s, m) {
			continue // it runs nothing that could need a restart
		}
		if m.ConfigLoaded != s.ConfigRevision {
			return wait(ReasonConfigurationStale, "waiting for "+m.Name+" to read the new configuration"+problemSuffix(m))
		}
		if m.StaleTrust && m.Publication != s.Publication {
			return wait(ReasonConfigurationStale, "waiting for "+m.Name+" to read the new certificates"+problemSuffix(m))
		}
	}
	return Decision{}, false
}

func restart(s galera.Snapshot, op galera.Operation, m galera.Member) (Decision, bool) {
	if other := otherWriter(s, m.Name); m.Pod.Role == rolePrimary && other != m.Name {
		return assign(other)
	}
	if _, found := onlyDonor(s); found {
		return replace(m, "it"+onlyDonorMessage)
	}
	if d, waiting := waitForSettled(s, m); waiting {
		return abandon(d.Reason, d.Message)
	}
	if m.Pod.Outdated {
		return replace(m, "its pod template has changed")
	}
	if d, waiting := waitForConfiguration(s); waiting {
		return d, true
	}
	why := ""
	if m.StuckDonor {
		why = ": it stays a donor without a joiner"
	}
	d, ok := order(op, m.Name, OrderRestart, galera.Position{}, ReasonRestarting, "restarting "+m.Name+why)
	send := d.Action.(SendOrder)
	send.ID = restartID(s, op, m)
	d.Action = send
	return d, ok
}

// recordRestart records the restart order on a node that got its configuration without it: an order of an earlier
// leader may still be in flight, and would stop the node while another one is restarted. A Start, which changes
// nothing, uses up the order's ID.
func recordRestart(s galera.Snapshot, op galera.Operation, m galera.Member) (Decision, bool) {
	if !m.Known || !m.Records() || m.Pod.Terminating || seenEpoch(m) >= op.Epoch {
		return Decision{}, false
	}
	return Decision{Reason: ReasonRestarting,
		Message: m.Name + " runs with the current configuration: its restart is done", Action: SendOrder{
			Member: m.Name, ID: restartID(s, op, m), Epoch: op.Epoch, Kind: OrderStart,
		}}, true
}

// restartRecorded reports whether the node was restarted by this operation, or has recorded the order without a
// restart, or whether something else has ended its server meanwhile: it may know the next order already, and would not
// carry it out.
func restartRecorded(op galera.Operation, m galera.Member) bool {
	if m.Order == nil || m.Order.Epoch != op.Epoch || m.Order.State != orderDone && m.Order.State != orderFailed ||
		m.Pod.Outdated {
		return false
	}
	// For any configuration: an earlier leader may have sent orders for several, and the node reports the last one only.
	return m.Order.Kind == string(OrderRestart) || m.Order.Kind == string(OrderStart) && strings.HasPrefix(m.Order.ID,
		orderID(op, m.Name, OrderRestart)+"/")
}

// restartID is different for each configuration for which a node is restarted: it may change again before the node is
// back.
func restartID(s galera.Snapshot, op galera.Operation, m galera.Member) string {
	id := orderID(op, m.Name, OrderRestart) + "/" + s.ConfigRevision
	if m.StaleTrust {
		id += "/" + s.Publication
	}
	return id
}

func replace(m galera.Member, why string) (Decision, bool) {
	return Decision{Action: DeletePod{m.Name}, Reason: ReasonRestarting, Message: "replacing the pod " + m.Name + ": " +
		why}, true
}

// otherWriter is the next primary before the present one is restarted or removed: the one that would be chosen without
// it.
func otherWriter(s galera.Snapshot, present string) string {
	s.Members = slices.DeleteFunc(slices.Clone(s.Members), func(m galera.Member) bool { return m.Name == present })
	return cmp.Or(chooseWriter(s), present)
}
