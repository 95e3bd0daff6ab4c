package plan

import (
	"fmt"
	"slices"

	"github.com/galera-operator/galera-operator/internal/galera"
)

// releaseDonor restarts a node that would be a donor for ever: its group was lost in the middle of a
// transfer, and Galera made it a donor again when the group came back. It takes nobody in and is
// waited for by everything that asks for Synced nodes, so what goes on gives way, as soon as the restart can
// go on in its place.
func releaseDonor(s galera.Snapshot) (Decision, bool) {
	m, found := stuckDonor(s)
	op := s.Operation
	switch {
	case !found || s.Hibernate || !releasable(s, m):
		return Decision{}, false
	case op == nil:
		return begin(s, galera.Operation{Type: galera.OpRestart, Target: m.Name}, ReasonRestarting,
			m.Name+" stays a donor though it gives to nobody: it needs a restart")
	case op.Type == galera.OpRestart && op.Target != m.Name, op.Type == galera.OpScaleDown,
		op.Type == galera.OpSwitchTLS && !rebootstrapping(*op):
		return abandon(ReasonRestarting, m.Name+" stays a donor though it gives to nobody, and has its turn first")
	}
	return Decision{}, false
}

// releasable says that the restart would not wait for anybody. Waiting, it would be in the way of what may help:
// of the removal of a member that is gone for good, for one.
func releasable(s galera.Snapshot, m galera.Member) bool {
	if _, waiting := waitForOthersOf(s, m); waiting {
		return false
	}
	if _, waiting := waitForConfiguration(s); waiting {
		return false
	}
	return comesBack(s, m)
}

// comesBack says that the cluster can be started again by itself when m, a stuck donor, is restarted: somebody else
// serves, or everybody else is known to have nothing that m lacks. Otherwise it serves on as it is, alone.
func comesBack(s galera.Snapshot, m galera.Member) bool {
	return slices.ContainsFunc(othersThanStuck(s), canWrite) || len(missingBeside(s, m)) == 0
}

// missingBeside are the members that may know more than m does, were all down. Those that try to join now and again
// are down every other moment.
func missingBeside(s galera.Snapshot, m galera.Member) []string {
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
	return judge(s).missing()
}

func aloneAndStuck(s galera.Snapshot, m galera.Member) string {
	return fmt.Sprintf("%s stays a donor though it gives to nobody, and takes nobody in before it is restarted. It serves alone, and the cluster could not be "+
		"started again by itself without %s. Bring back what they had; or, to go on without it, accept a time without service: "+
		"kubectl delete pod %s -n %s, and then the approval that this condition will ask for", m.Name, list(missingBeside(s, m)), m.Name, s.Namespace)
}

// catchesUp says that a node has its data, applies what came meanwhile, and becomes Synced without a donor.
func catchesUp(m galera.Member) bool {
	return m.InPrimary() && m.Data != galera.DataIncomplete && !m.Draining && !m.Pod.Terminating && m.Server.State == galera.NodeJoined
}

func othersThanStuck(s galera.Snapshot) []galera.Member {
	return slices.DeleteFunc(slices.Clone(s.Members), func(m galera.Member) bool { return m.StuckDonor })
}

// stuckDonor is the one to release next: the writer's node last.
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
	return lastFirst(stuck, chooseWriter(s)), true
}

// upToDate says of a stuck donor that it lacks nothing a Synced member has.
func upToDate(m galera.Member) bool {
	return m.StuckDonor && canWrite(m) && m.Server.ReceiveQueue == 0
}

// waitForOthersOf is waitForSynced, except for a node that nobody can join: a donor that has to be released, which is
// never Synced itself, or the only giver. When nobody else can give, the others wait for it.
func waitForOthersOf(s galera.Snapshot, m galera.Member) (Decision, bool) {
	if giver, found := onlyGiver(s); found && giver.Name == m.Name {
		return Decision{}, false
	}
	if !m.StuckDonor {
		return waitForSynced(s)
	}
	others := othersThanStuck(s)
	if !slices.ContainsFunc(others, canWrite) && !slices.ContainsFunc(others, catchesUp) {
		return Decision{}, false
	}
	rest := s
	rest.Members, rest.Arbitrator = others, nil
	if d, waiting := waitForSynced(rest); waiting {
		return d, true
	}
	if a := s.Arbitrator; a != nil && (a.Outdated || cannotRun(a)) {
		return Decision{}, false // its turn comes when every node serves
	}
	return waitForArbitrator(s)
}
