package lifecycle

import (
	"slices"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

const (
	// HungAfter is how long a server that had answered may be silent.
	HungAfter = time.Minute
	// HungStart is how long one may be silent that has not answered yet.
	HungStart = 10 * time.Minute
	// hungNoPrimary is how long it may be silent while no member is Primary, before it is killed.
	hungNoPrimary = 3 * time.Minute
)

// Hang is what decides about a server that exists and does not answer on its socket.
type Hang struct {
	// Silent is how long it has been so, without state transfers and frozen volumes. Answered is true if it had answered
	// in this run.
	Silent   time.Duration
	Answered bool
	// Refused reports whether it answers, and refuses the agent's login: it may serve clients.
	Refused bool
	// VolumeAnswers reports whether a write to its volume has just succeeded.
	VolumeAnswers bool
	// Self is the member's name, UUID that of its history.
	Self, UUID string
	Peers      map[string]agentapi.PeerView
}

// JudgeHang reports whether a server is hung, and whether its agent kills it by itself.
//
// It does when others are in a Primary component, and each of them knows its members, and the server is none of them.
// Then it can do nothing for its group any more: it comes back only by joining anew. Killing it loses nothing: whatever
// it has acknowledged was delivered to all members of the view it was in, and those who are Primary now go on from that
// view; what it has not brought to its disk they give it again. What it took after that view without them it cannot
// have acknowledged: it has no quorum.
//
// When others answer and no member is Primary, nothing serves, and no recovery can do without this member unless a user
// gives it up. It is killed, too, after hungNoPrimary: what it has committed is on its disk, as after any crash, and
// then its position is known, so that the operator decides with all positions on the table and gives up nothing.
//
// One that refuses the agent's login is not killed for that: all may do so at once, and serve.
//
// As long as a Primary component counts it, its group waits for it, and it may only be slow: it is reported. One that
// never answered may be at work, with a long log to replay. On a volume that does not answer a kill brings nothing: the
// next server would hang as well. And when no other member answers, the fault may be the network's.
func JudgeHang(h Hang) (hung, kill bool) {
	limit := HungStart
	if h.Answered {
		limit = HungAfter
	}
	if h.Silent <= limit {
		return false, false
	}
	others := PrimaryPeers(h.Peers)
	counted := slices.ContainsFunc(others, func(p agentapi.PeerView) bool {
		return p.ClusterUUID != h.UUID || len(p.Members) == 0 || slices.Contains(p.Members, h.Self)
	})
	needless := len(others) > 0 && !counted
	alone := !h.Refused && len(others) == 0 && len(h.Peers) > 0 && h.Silent > hungNoPrimary
	return true, h.Answered && h.VolumeAnswers && (needless || alone)
}
