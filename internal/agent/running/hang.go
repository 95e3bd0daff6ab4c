package running

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

// WatchHang follows the silence of the running server. inTransfer says that a state transfer is awaited or under way, which has its
// own rules about standing still.
func (r *Room) WatchHang(now time.Time, inTransfer bool) {
	if r.Proc == nil {
		return
	}
	h := &r.hang
	if r.Status != nil && now.Sub(h.heardAt) > deafAfter {
		r.Status = nil // the question has not come back either
		r.events.Changed()
	}
	if r.volume.Frozen() || !h.answered && inTransfer {
		h.since = now
	}
	if r.Leaving() {
		return
	}
	hung, kill := lifecycle.JudgeHang(lifecycle.Hang{Silent: now.Sub(h.since), Answered: h.answered, Self: r.name, UUID: r.Position.UUID,
		Peers: r.group.Views, VolumeAnswers: r.volume.Answers(now.Add(-2 * volume.TryEvery))})
	if hung && !h.hung {
		r.loop.Logger.Warn("mariadbd does not answer", "pid", r.Proc.PID, "since", h.heardAt)
		r.group.Set(peers.PaceJoining) // who is Primary, and with whom, decides what becomes of it
	}
	h.hung = hung
	if kill {
		r.killHung(now)
	}
}

// killHung ends a server that its group does without, or that keeps a recovery waiting.
func (r *Room) killHung(now time.Time) {
	f := r.HungFailure()
	f.Message += "; its group does not have it any more, so it was killed, and is to join anew"
	r.loop.Logger.Error("killing mariadbd", "reason", f.Reason, "message", f.Message)
	r.Attempts.Restarts++
	r.Attempts.Crash(f, now)
	r.end(now)
	r.leaveService()
	r.Proc.Kill()
}

// HungFailure tells of a server that does not answer, nil when there is none.
func (r *Room) HungFailure() *agentapi.Failure {
	h := r.hang
	if r.Proc == nil || !h.hung || r.GivenUp {
		return nil
	}
	return &agentapi.Failure{Reason: agentapi.FailureHung, At: h.since, Message: fmt.Sprintf(
		"mariadbd (process %d) runs and has not answered on its socket since %s", r.Proc.PID, h.heardAt.UTC().Format(time.RFC3339))}
}
