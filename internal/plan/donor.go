package plan

import "github.com/galera-operator/galera-operator/internal/cluster"

// releaseDonor restarts a node that would be a donor for ever: its group was lost in the middle of a
// transfer, and Galera made it a donor again when the group came back. It takes nobody in and is
// waited for by everything that asks for Synced nodes, so what goes on gives way.
func releaseDonor(s cluster.Snapshot) (Decision, bool) {
	m, found := stuckDonor(s)
	op := s.Operation
	switch {
	case !found || s.Suspend:
		return Decision{}, false
	case op == nil:
		return begin(s, cluster.Operation{Type: cluster.OpRestart, Target: m.Name}, ReasonRestarting,
			m.Name+" stays a donor though it gives to nobody: it needs a restart")
	case op.Type == cluster.OpRestart && op.Target != m.Name, op.Type == cluster.OpScaleDown,
		op.Type == cluster.OpSwitchTLS && !rebootstrapping(*op):
		return abandon(ReasonRestarting, m.Name+" stays a donor though it gives to nobody, and has its turn first")
	}
	return Decision{}, false
}

// stuckDonor is the one to release next: the writer's node last.
func stuckDonor(s cluster.Snapshot) (cluster.Member, bool) {
	var stuck []cluster.Member
	for _, m := range s.Members {
		if m.StuckDonor && m.InPrimary() && outdated(m) {
			stuck = append(stuck, m)
		}
	}
	if len(stuck) == 0 {
		return cluster.Member{}, false
	}
	if op := s.Operation; op != nil && op.Type == cluster.OpRestart {
		for _, m := range stuck {
			if m.Name == op.Target {
				return m, true
			}
		}
	}
	return lastFirst(stuck, chooseWriter(s)), true
}

// waitForOthersOf is waitForSynced, except for a donor that has to be released: it is never Synced
// itself, and when nobody else can give, the others wait for it.
func waitForOthersOf(s cluster.Snapshot, m cluster.Member) (Decision, bool) {
	if !m.StuckDonor {
		return waitForSynced(s)
	}
	var others []cluster.Member
	able := false
	for _, o := range s.Members {
		if !o.StuckDonor {
			others = append(others, o)
			able = able || canWrite(o)
		}
	}
	if !able {
		return Decision{}, false
	}
	s.Members = others
	return waitForSynced(s)
}
