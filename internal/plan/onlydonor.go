package plan

import (
	"fmt"

	"github.com/galera-operator/galera-operator/internal/galera"
)

// releaseOnlyDonor restarts the only node with data if it cannot be a donor: its image lacks programs that state
// transfers need, and the wanted image has them. An ordinary restart would wait for all others to be Synced, and
// they wait for this node. Members to be removed are removed first.
func releaseOnlyDonor(s galera.Snapshot) (Decision, bool) {
	m, found := onlyDonor(s)
	op := s.Operation
	switch {
	case !found || s.Hibernate || s.Replicas < len(s.Members):
		return Decision{}, false
	case op == nil:
		return begin(s, galera.Operation{Type: galera.OpRestart, Target: m.Name}, ReasonRestarting, m.Name+onlyDonorMessage)
	case op.Type == galera.OpRestart && op.Target != m.Name, op.Type == galera.OpSwitchTLS && !rebootstrapping(*op):
		return abandon(ReasonRestarting, fmt.Sprintf("no node can join before %s has another image, so it is restarted first",
			m.Name))
	}
	return Decision{}, false
}

const onlyDonorMessage = " is the only node with data, and its image lacks programs that state transfers need, so no " +
	"other node can join: " +
	"its pod is replaced by one of the current image, though no node serves meanwhile"

// onlyDonor is the member that serves and cannot be a donor, while all others are known to hold no data, to run no
// server, and to be able to join: its restart loses nothing, nothing else could end their wait, and its new image was
// seen to run and to have the programs.
func onlyDonor(s galera.Snapshot) (donor galera.Member, found bool) {
	for _, m := range s.Members {
		if m.Synced() && m.Pod.Ready && m.Pod.Outdated && m.LacksTools && m.Records() {
			donor, found = m, true
		}
	}
	for _, m := range s.Members {
		if m.Name != donor.Name && !waitsForSST(s, m, donor) {
			return donor, false
		}
	}
	// A member that is recorded to have held data, and has none, would keep the cluster from starting again by itself.
	return donor, found && len(s.Members) > 1 && len(missingIfCandidate(s, donor)) == 0
}

// waitsForSST reports whether a member of the present template and configuration holds no data and could join by SST,
// from a donor with its image. That image is known not to be of an earlier series, which could not use the data.
func waitsForSST(s galera.Snapshot, m, donor galera.Member) bool {
	return m.Down() && (m.Data == galera.DataEmpty || m.Data == galera.DataIncomplete) &&
		!m.Pod.Terminating && !m.Pod.Outdated && !m.LacksTools &&
		m.ConfigLoaded == s.ConfigRevision && m.ServerVersion != "" && !galera.Older(m.ServerVersion, donor.ServerVersion)
}
