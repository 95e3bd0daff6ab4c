package plan

import (
	"fmt"
	"slices"

	"github.com/galera-operator/galera-operator/internal/galera"
)

// releaseDonor restarts a node that would stay a donor forever: its component was lost during a transfer,
// and Galera made it a donor again when the component came back. It accepts no joiner, and operations that
// need Synced nodes wait for it. So the operation in progress gives way as soon as the restart can begin.
func releaseDonor(s galera.Snapshot) (Decision, bool) {
	m, found := stuckDonor(s)
	op := s.Operation
	switch {
	case !found || s.Hibernate || !releasable(s, m):
		return Decision{}, false
	case op == nil:
		return begin(s, galera.Operation{Type: galera.OpRestart, Target: m.Name}, ReasonRestarting,
			m.Name+" stays a donor without a joiner: it needs a restart")
	case op.Type == galera.OpRestart && op.Target != m.Name, op.Type == galera.OpScaleDown,
		op.Type == galera.OpSwitchTLS && !rebootstrapping(*op):
		return abandon(ReasonRestarting, m.Name+" stays a donor without a joiner, and is restarted first")
	}
	return Decision{}, false
}

// releasable reports whether the restart would not have to wait. A waiting restart would block other work that may
// help, for instance the removal of a member that is gone for good.
func releasable(s galera.Snapshot, m galera.Member) bool {
	if _, waiting := waitForOthersOf(s, m); waiting {
		return false
	}
	if _, waiting := waitForConfiguration(s); waiting {
		return false
	}
	return canStartAgain(s, m)
}

// canStartAgain returns whether the cluster can start again by itself after a restart of m, a stuck donor: another
// member serves, or all others are known to hold no write-set that m lacks. Otherwise m continues to serve alone.
func canStartAgain(s galera.Snapshot, m galera.Member) bool {
	return slices.ContainsFunc(membersNotStuck(s), canWrite) || len(missingIfCandidate(s, m)) == 0
}

// missingIfCandidate are the members that would be missing if all members were down and m were the candidate. A member
// that tries to join again and again counts as down: it is, between two attempts.
func missingIfCandidate(s galera.Snapshot, m galera.Member) []string {
	var rest []galera.Member
	for _, o := range s.Members {
		if o.Name == m.Name {
			continue
		}
		if o.Known && !o.Down() {
			o.Phase, o.Server = galera.PhaseWaiting, nil
		}
		rest = append(rest, o)
	}
	s.Members = rest
	return sortMembers(s).missing()
}

func aloneAndStuck(s galera.Snapshot, m galera.Member) string {
	return fmt.Sprintf(
		"%s stays a donor without a joiner, and accepts no joiner before its restart. It serves alone, and after its "+
			"restart the cluster could not "+
			"start by itself without %s. Bring their data back; or, to give that data up, accept an outage: "+
			"delete the pod %s, and then give the approval that is asked for", m.Name, list(missingIfCandidate(s, m)), m.Name)
}

// catchesUp reports whether a node has its data, still applies write-sets, and will become Synced without a donor.
func catchesUp(m galera.Member) bool {
	return m.InPrimary() && m.Data != galera.DataIncomplete && !m.Draining && !m.Pod.Terminating &&
		m.Server.State == galera.NodeJoined
}

func membersNotStuck(s galera.Snapshot) []galera.Member {
	return slices.DeleteFunc(slices.Clone(s.Members), func(m galera.Member) bool { return m.StuckDonor })
}

// stuckDonor is the donor to release next: the primary last.
func stuckDonor(s galera.Snapshot) (galera.Member, bool) {
	var stuck []galera.Member
	for _, m := range s.Members {
		if m.StuckDonor && m.InPrimary() && outdated(m) && m.Records() {
			stuck = append(stuck, m)
		}
	}
	if len(stuck) == 0 {
		return galera.Member{}, false
	}
	if op := s.Operation; op != nil && op.Type == galera.OpRestart {
		for _, m := range stuck {
			if m.Name == op.Target {
				return m, true
			}
		}
	}
	return nextToStop(stuck, chooseWriter(s)), true
}

// upToDate reports whether a stuck donor has applied everything, like a Synced member.
func upToDate(m galera.Member) bool {
	return m.StuckDonor && canWrite(m) && m.Server.ReceiveQueue == 0
}

// waitForOthersOf is waitForSynced, except for a node that no other can join: a stuck donor, which is never Synced
// itself, or the only donor, whose image lacks programs. If no other node can be a donor, the others wait for this one.
func waitForOthersOf(s galera.Snapshot, m galera.Member) (Decision, bool) {
	if donor, found := onlyDonor(s); found && donor.Name == m.Name {
		return Decision{}, false
	}
	if !m.StuckDonor {
		return waitForSynced(s)
	}
	others := membersNotStuck(s)
	if !slices.ContainsFunc(others, canWrite) && !slices.ContainsFunc(others, catchesUp) {
		return Decision{}, false
	}
	rest := s
	rest.Members, rest.Arbitrator = others, nil
	if d, waiting := waitForSynced(rest); waiting {
		return d, true
	}
	if a := s.Arbitrator; a != nil && (a.Outdated || cannotRun(a)) {
		return Decision{}, false // it is restarted when every node serves
	}
	return waitForArbitrator(s)
}
