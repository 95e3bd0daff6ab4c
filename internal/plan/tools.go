package plan

import (
	"fmt"

	"github.com/galera-operator/galera-operator/internal/galera"
)

// releaseGiver restarts the only node with data when no other can get them as it is: its image lacks what a state
// transfer needs, and another image is wanted that has it. A restart waits for all others to be Synced, and they
// wait for it. Members that are to leave leave first.
func releaseGiver(s galera.Snapshot) (Decision, bool) {
	m, found := onlyGiver(s)
	op := s.Operation
	switch {
	case !found || s.Hibernate || s.Replicas < len(s.Members):
		return Decision{}, false
	case op == nil:
		return begin(s, galera.Operation{Type: galera.OpRestart, Target: m.Name}, ReasonRestarting, m.Name+whyGiver)
	case op.Type == galera.OpRestart && op.Target != m.Name, op.Type == galera.OpSwitchTLS && !rebootstrapping(*op):
		return abandon(ReasonRestarting, fmt.Sprintf("nobody can join before %s has another image, and it has its turn first", m.Name))
	}
	return Decision{}, false
}

const whyGiver = " is the only node with data, and its image lacks programs of a state transfer, so that no other can join: " +
	"its pod is replaced by one of the present image, though nothing serves meanwhile"

// onlyGiver is the member that serves and cannot give, while all others are known to hold nothing, to run nothing, and
// to be able to take: nothing is lost when it is restarted, nothing else could end their waiting, and the image
// it is restarted with was seen to run and to have the programs.
func onlyGiver(s galera.Snapshot) (giver galera.Member, found bool) {
	for _, m := range s.Members {
		if m.Synced() && m.Pod.Ready && m.Pod.Outdated && m.LacksTools && m.Records() {
			giver, found = m, true
		}
	}
	for _, m := range s.Members {
		if m.Name != giver.Name && !waitsForCopy(s, m, giver) {
			return giver, false
		}
	}
	// Whoever is recorded to have held data, and has none, would keep the giver from being started again.
	return giver, found && len(s.Members) > 1 && len(missingBeside(s, giver)) == 0
}

// waitsForCopy says that a member of the present template and configuration holds nothing and could be given a copy, by
// a giver with its image: that is known to be of no earlier series, which could not use the data.
func waitsForCopy(s galera.Snapshot, m, giver galera.Member) bool {
	return m.Down() && (m.Data == galera.DataEmpty || m.Data == galera.DataIncomplete) &&
		!m.Pod.Terminating && !m.Pod.Outdated && !m.LacksTools &&
		m.ConfigLoaded == s.ConfigRevision && m.ServerVersion != "" && !galera.Older(m.ServerVersion, giver.ServerVersion)
}
