package agent

import (
	"fmt"
	"slices"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/peers"
	"github.com/galera-operator/galera-operator/internal/agent/volume"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

const (
	// hungAfter is how long a server that had answered may be silent, hungStart one that has not answered yet.
	hungAfter = time.Minute
	hungStart = 10 * time.Minute
	// hungAlone is how long it may be silent while no member is Primary.
	hungAlone = 3 * time.Minute
	// deafAfter is how long what a server said last is passed on.
	deafAfter = 30 * time.Second
)

// hanging is what is known of the silence of one run of mariadbd.
type hanging struct {
	// heardAt is when it answered last, or was started. since is when patience with it began: no earlier, and later while it
	// takes its state, or its volume is frozen.
	heardAt, since time.Time
	answered       bool
	hung           bool
}

// Hang is what decides about a server that exists and does not answer on its socket.
type Hang struct {
	// Silent is how long it has been so, beside state transfers and frozen volumes. Answered says that it had answered in this run.
	Silent   time.Duration
	Answered bool
	// VolumeAnswers says that a write to its volume has just succeeded.
	VolumeAnswers bool
	// Self is the member's name, UUID that of its history.
	Self, UUID string
	Peers      map[string]agentapi.PeerView
}

// JudgeHang says whether a server is hung, and whether its agent kills it by itself.
//
// It does when others are in a Primary component, and each of them knows its members, and the server is none of them. Then it
// can do nothing for its group any more: it comes back only by joining anew. Killing it loses nothing: whatever it has acknowledged was
// delivered to all members of the view it was in, and those who are Primary now go on from that view; what it
// has not brought to its disk they give it again. What it took after that view without them it cannot have acknowledged: it has no quorum.
//
// When others answer and no member is Primary, nothing serves, and no recovery can do without this member unless a person gives
// it up. It is killed, too, after hungAlone: what it has committed is on its disk, as after any crash, and then its
// position can be told, so that the operator decides with all positions on the table and gives up nothing.
//
// As long as a Primary component counts it, its group waits for it, and it may only be slow: it is told. One that never answered
// may be at work, with a long log to replay. On a volume that does not answer a kill brings nothing: the next server would hang as
// well. And when no other member answers, the fault may be the network's.
func JudgeHang(h Hang) (hung, kill bool) {
	limit := hungStart
	if h.Answered {
		limit = hungAfter
	}
	if h.Silent <= limit {
		return false, false
	}
	others := primaryPeers(h.Peers)
	counted := slices.ContainsFunc(others, func(p agentapi.PeerView) bool {
		return p.ClusterUUID != h.UUID || len(p.Members) == 0 || slices.Contains(p.Members, h.Self)
	})
	needless := len(others) > 0 && !counted
	alone := len(others) == 0 && len(h.Peers) > 0 && h.Silent > hungAlone
	return true, h.Answered && h.VolumeAnswers && (needless || alone)
}

// watchHang follows the silence of the running server.
func (a *agent) watchHang(now time.Time) {
	if a.proc == nil {
		return
	}
	h := &a.run.hang
	if a.status != nil && now.Sub(h.heardAt) > deafAfter {
		a.status = nil // the question has not come back either
		a.updateSubject()
	}
	if a.volume.Frozen() || !h.answered && a.inTransfer() {
		h.since = now
	}
	if a.run.stopping || a.run.condemned {
		return
	}
	hung, kill := JudgeHang(Hang{Silent: now.Sub(h.since), Answered: h.answered, Self: a.Name, UUID: a.position.UUID, Peers: a.peers,
		VolumeAnswers: a.volume.Answers(now.Add(-2 * volume.TryEvery))})
	if hung && !h.hung {
		a.Logger.Warn("mariadbd does not answer", "pid", a.proc.PID, "since", h.heardAt)
		a.asking.Set(peers.PaceJoining) // who is Primary, and with whom, decides what becomes of it
	}
	h.hung = hung
	if kill {
		a.killHung(now)
	}
}

// inTransfer says that a state transfer is awaited or under way, which has its own rules about standing still.
func (a *agent) inTransfer() bool {
	n, f := a.run.note, &a.run.follow
	if n == nil {
		return false
	}
	copying := n.Transfer && (f.progress == nil || f.progress.Phase() != agentapi.JoinApplying)
	return copying || !f.silentSince.IsZero()
}

// killHung ends a server that its group does without, or that keeps a recovery waiting.
func (a *agent) killHung(now time.Time) {
	a.failure = a.hungFailure()
	a.failure.Message += "; its group does not have it any more, so it was killed, and is to join anew"
	a.Logger.Error("killing mariadbd", "reason", a.failure.Reason, "message", a.failure.Message)
	a.restarts++
	a.run.stopping, a.run.givenUp = true, true
	a.run.patience, a.run.stopAt = patienceJoiner, now.Add(patienceJoiner)
	a.retryAt = now.Add(missedTime)
	a.leaveService()
	a.proc.Kill()
}

// hungFailure tells of a server that does not answer.
func (a *agent) hungFailure() *agentapi.Failure {
	h := a.run.hang
	if a.proc == nil || !h.hung || a.run.givenUp {
		return nil
	}
	return &agentapi.Failure{Reason: agentapi.FailureHung, At: h.since, Message: fmt.Sprintf(
		"mariadbd (process %d) runs and has not answered on its socket since %s", a.proc.PID, h.heardAt.UTC().Format(time.RFC3339))}
}
