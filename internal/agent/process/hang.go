package process

import (
	"fmt"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/api"
	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
	"github.com/galera-operator/galera-operator/internal/agent/wsrep"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/datadir"
)

// statusExpires is how long the last status stays in the report after mariadbd stops answering.
const statusExpires = 30 * time.Second

// hanging is the state of the hang watch over one run of mariadbd.
type hanging struct {
	// answeredAt is when mariadbd last answered, or was started. since starts the hang timeout: answeredAt, or later
	// while the node was in a state transfer before its first answer, or its volume was frozen.
	answeredAt, since time.Time
	answered          bool
	hung              bool
}

// readings are attempts to read the status of the running mariadbd.
type readings struct {
	missed int // in a row that failed
	// refused is the server's answer to the last login, "" when it was taken, or when there was no answer; since is when
	// the server began to refuse.
	refused string
	since   time.Time
}

func (r *readings) failed(err error, now time.Time) {
	if r.refused == "" {
		r.since = now
	}
	r.missed++
	r.refused = wsrep.Refusal(err)
}

// LoginFailure describes a mariadbd that refuses the agent's login, nil while it does not.
func (r *readings) LoginFailure() *agentapi.Failure {
	if r.refused == "" || r.missed < maxMissedReadings {
		return nil
	}
	return &agentapi.Failure{Reason: agentapi.FailureLogin, At: r.since,
		Message: "mariadbd runs and refuses the agent's login: " + r.refused}
}

// WatchHang follows the silence of the running mariadbd. inTransfer is true while a state transfer is awaited or
// running, which has its own stall rules (package lifecycle).
func (r *Supervisor) WatchHang(now time.Time, inTransfer bool) {
	if r.Proc == nil {
		return
	}
	h := &r.hang
	if r.Status != nil && now.Sub(h.answeredAt) > statusExpires {
		r.Status = nil // the question has not come back either
		r.events.Changed()
	}
	if r.volume.Frozen() || !h.answered && inTransfer {
		h.since = now
	}
	if r.Leaving() {
		return
	}
	hung, kill := lifecycle.JudgeHang(lifecycle.Hang{Silent: now.Sub(h.since), Answered: h.answered,
		Refused: r.refused != "",
		Self:    r.name, UUID: r.Position.UUID,
		Peers: r.group.Views, VolumeAnswers: r.volume.Answers(now.Add(-2 * datadir.TryInterval))})
	if hung && !h.hung {
		r.loop.Logger.Warn("mariadbd does not answer", "pid", r.Proc.PID, "since", h.answeredAt)
		r.group.Set(api.PaceJoining) // who is Primary, and with whom, decides what becomes of it
	}
	h.hung = hung
	if kill {
		r.killHung(now)
	}
}

// killHung kills a mariadbd that the Primary component does not list, or whose position a recovery needs
// (lifecycle.JudgeHang).
func (r *Supervisor) killHung(now time.Time) {
	f := &agentapi.Failure{Reason: agentapi.FailureHung, At: r.hang.since, Message: silence(r)}
	why := "no node is Primary, and recovery needs its position"
	if len(lifecycle.PrimaryPeers(r.group.Views)) > 0 {
		why = "the Primary component does not list it as a member"
	}
	f.Message += "; it was killed and will rejoin: " + why
	r.loop.Logger.Error("killing mariadbd", "reason", f.Reason, "message", f.Message)
	r.Attempts.Restarts++
	r.Attempts.Crash(f, now)
	r.end(now)
	r.leaveService()
	r.Proc.Kill()
}

// Silent reports whether the running mariadbd answered before, and does not now.
func (r *Supervisor) Silent() bool { return r.Proc != nil && r.Status == nil && r.hang.answered }

// HungFailure describes a mariadbd that does not answer, nil while it answers.
func (r *Supervisor) HungFailure() *agentapi.Failure {
	h := r.hang
	if r.Proc == nil || !h.hung || r.GivenUp || r.refused != "" {
		return nil
	}
	return &agentapi.Failure{Reason: agentapi.FailureHung, At: h.since, Message: silence(r)}
}

func silence(r *Supervisor) string {
	return fmt.Sprintf("mariadbd (process %d) runs and has not answered on its socket since %s", r.Proc.PID,
		r.hang.answeredAt.UTC().Format(time.RFC3339))
}
