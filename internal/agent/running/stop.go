package running

import (
	"context"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
	"github.com/galera-operator/galera-operator/internal/agent/mariadbd"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

const (
	// patience with a stop: a joiner has nothing to lose, a server that served flushes its pages.
	patienceJoiner = 10 * time.Second
	patienceServer = 15 * time.Minute
	// transactionTime is how long the transactions of clients have at most to end before a stop, and dismissTime how long it is
	// put off after that.
	transactionTime = 2 * time.Second
	dismissTime     = 300 * time.Millisecond
)

// Stop asks mariadbd to stop.
func (r *Room) Stop() {
	patience := patienceServer
	if r.Note != nil && !r.Served {
		patience = patienceJoiner
	}
	if h := r.hang; h.hung || h.answered && r.Status == nil {
		// It does not hear, or would count as hung soon; a server that is told to stop is silent in any case.
		patience = min(patience, max(lifecycle.HungAfter-time.Since(h.since), 0)+patienceJoiner)
	}
	r.loop.Logger.Info("stopping mariadbd", "pid", r.Proc.PID)
	r.Stopping = true
	r.leaveService()
	r.patience, r.stopAt = patience, time.Now().Add(patience)
	go terminate(r.Proc, r.conn, !r.Condemned && r.Serves())
}

// terminate asks mariadbd to stop, and sends its clients away, which it would wait a second for: before, each between two
// transactions if it serves, and again those that came meanwhile. Once asked it takes no new ones.
func terminate(proc *mariadbd.Process, conn dismisser, serves bool) {
	alive, ended := context.WithCancel(context.Background())
	defer ended()
	go func() {
		defer ended() // the next mariadbd has the same socket
		select {
		case <-proc.Done():
		case <-alive.Done():
		}
	}()
	dismiss := func() {
		ctx, cancel := context.WithTimeout(alive, dismissTime)
		defer cancel()
		_ = conn.Dismiss(ctx) // one that does not answer is stopped all the same
	}
	if serves {
		ctx, cancel := context.WithTimeout(alive, transactionTime)
		_ = conn.SendAway(ctx) // who is left is sent away by force
		cancel()
	}
	dismiss()
	proc.Terminate()
	dismiss()
}

// EnforceStop ends a server whose stop takes too long. InnoDB loses nothing by it.
// Nothing ends while its volume is frozen, whatever it is sent; it has all its time again when that answers.
func (r *Room) EnforceStop() {
	if r.Proc == nil || !r.Stopping {
		return
	}
	if r.volume.Frozen() {
		r.stopAt = time.Now().Add(r.patience)
		return
	}
	if time.Now().After(r.stopAt) {
		r.loop.Logger.Warn("mariadbd does not stop; killing it")
		r.Proc.Kill()
	}
}

// end gives a server that is ended by the agent itself the time of a joiner.
func (r *Room) end(now time.Time) {
	r.Stopping, r.GivenUp = true, true
	r.patience, r.stopAt = patienceJoiner, now.Add(patienceJoiner)
}

// EndTransfer ends a run whose transfer from donor ("" when it is not known) has failed though its server goes on.
func (r *Room) EndTransfer(f *agentapi.Failure, donor string) {
	r.failTransfer(f, donor)
	r.end(time.Now())
	r.Proc.Kill() // it has served nobody: there is nothing to lose
}

// GiveUp ends a run of mariadbd that leads nowhere.
func (r *Room) GiveUp() {
	if r.Proc == nil || r.Leaving() {
		return
	}
	if r.volume.Frozen() {
		r.nowhereSince = time.Time{}
		return
	}
	why, patience := lifecycle.GiveUp(lifecycle.Run{Server: r.Status, Joining: r.Note != nil, FullCopy: r.Note != nil && r.Note.Transfer,
		Served: r.Served, Peers: r.group.Views})
	switch {
	case why == "":
		r.nowhereSince = time.Time{}
	case r.nowhereSince.IsZero():
		r.nowhereSince = time.Now()
	case time.Since(r.nowhereSince) > patience:
		r.endNowhere(why)
	}
}

func (r *Room) endNowhere(why string) {
	r.loop.Logger.Warn("ending mariadbd", "why", why)
	r.end(time.Now())
	if r.Served {
		r.Attempts.Restarts++
		r.Attempts.Failure = &agentapi.Failure{Reason: agentapi.FailureLeft, At: time.Now(), Message: "mariadbd had left the group and was started anew"}
		r.Proc.Terminate()
		return
	}
	r.Attempts.Failed++ // the next attempt dials another member
	r.Proc.Kill()       // in the middle of connecting it hears nothing else, and there is nothing to lose
}
