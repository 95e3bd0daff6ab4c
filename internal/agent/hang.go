package agent

import (
	"fmt"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
	"github.com/galera-operator/galera-operator/internal/agent/peers"
	"github.com/galera-operator/galera-operator/internal/agent/volume"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// deafAfter is how long what a server said last is passed on.
const deafAfter = 30 * time.Second

// hanging is what is known of the silence of one run of mariadbd.
type hanging struct {
	// heardAt is when it answered last, or was started. since is when patience with it began: no earlier, and later while it
	// takes its state, or its volume is frozen.
	heardAt, since time.Time
	answered       bool
	hung           bool
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
	hung, kill := lifecycle.JudgeHang(lifecycle.Hang{Silent: now.Sub(h.since), Answered: h.answered, Self: a.Name, UUID: a.position.UUID, Peers: a.peers,
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
	return copying || f.ist.Silent()
}

// killHung ends a server that its group does without, or that keeps a recovery waiting.
func (a *agent) killHung(now time.Time) {
	a.failure = a.hungFailure()
	a.failure.Message += "; its group does not have it any more, so it was killed, and is to join anew"
	a.Logger.Error("killing mariadbd", "reason", a.failure.Reason, "message", a.failure.Message)
	a.restarts++
	a.run.stopping, a.run.givenUp = true, true
	a.run.patience, a.run.stopAt = patienceJoiner, now.Add(patienceJoiner)
	a.retryAt = now.Add(lifecycle.RetryAfterCrash)
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
