package process

import (
	"context"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/mariadbd"
)

const (
	// The time mariadbd has for a stop: a joiner has no write to lose, a server that served flushes its pages.
	stopTimeoutJoiner = 10 * time.Second
	stopTimeoutServer = 15 * time.Minute
	// transactionTimeout is how long a stop waits at most for the clients' transactions to end, closeTimeout how long
	// closing the connections may delay it after that.
	transactionTimeout = 2 * time.Second
	closeTimeout       = 300 * time.Millisecond
)

// Stop asks mariadbd to stop.
func (r *Supervisor) Stop() {
	timeout := stopTimeoutServer
	if r.Note != nil && !r.Served {
		timeout = stopTimeoutJoiner
	}
	if h := r.hang; h.hung || h.answered && r.Status == nil {
		// mariadbd is hung or silent, and after SIGTERM silence proves nothing: it is killed when it would have counted as
		// hung, plus stopTimeoutJoiner.
		timeout = min(timeout, max(lifecycle.HungAfter-time.Since(h.since), 0)+stopTimeoutJoiner)
	}
	r.loop.Logger.Info("stopping mariadbd", "pid", r.Proc.PID)
	r.Stopping = true
	r.leaveService()
	r.stopTimeout, r.stopAt = timeout, time.Now().Add(timeout)
	go terminate(r.Proc, r.conn, !r.MustTerminate && r.Serves())
}

// terminate sends SIGTERM, and closes client connections itself, because mariadbd would wait one second for them:
// before, each between two transactions if the node serves, then the rest; afterwards, those opened meanwhile.
func terminate(proc *mariadbd.Process, conn connCloser, serves bool) {
	alive, ended := context.WithCancel(context.Background())
	defer ended()
	go func() {
		defer ended() // the next mariadbd has the same socket
		select {
		case <-proc.Done():
		case <-alive.Done():
		}
	}()
	closeAll := func() {
		ctx, cancel := context.WithTimeout(alive, closeTimeout)
		defer cancel()
		_ = conn.CloseAll(ctx) // one that does not answer is stopped all the same
	}
	if serves {
		ctx, cancel := context.WithTimeout(alive, transactionTimeout)
		_ = conn.CloseIdle(ctx) // the rest is closed below
		cancel()
	}
	closeAll()
	proc.Terminate()
	closeAll()
}

// EnforceStop kills a mariadbd that takes too long to stop. InnoDB loses nothing by it. While its volume is frozen no
// process ends, whatever signal it gets; its full time starts again when the volume answers.
func (r *Supervisor) EnforceStop() {
	if r.Proc == nil || !r.Stopping {
		return
	}
	if r.volume.Frozen() {
		r.stopAt = time.Now().Add(r.stopTimeout)
		return
	}
	if time.Now().After(r.stopAt) {
		r.loop.Logger.Warn("mariadbd does not stop; killing it")
		r.Proc.Kill()
	}
}

// end marks a server that the agent ends by itself; it has the time of a joiner.
func (r *Run) end(now time.Time) {
	r.Stopping, r.GivenUp = true, true
	r.stopTimeout, r.stopAt = stopTimeoutJoiner, now.Add(stopTimeoutJoiner)
}

// EndTransfer kills mariadbd when its transfer from donor ("" when not known) has failed though the process runs on.
func (r *Supervisor) EndTransfer(f *agentapi.Failure, donor string) {
	r.failTransfer(f, donor)
	r.end(time.Now())
	r.Proc.Kill() // never Synced: no write is lost
}

// GiveUp ends mariadbd when Galera was disconnected from the group for good, or has no Primary component to join.
// received reports whether some of an SST has arrived.
func (r *Supervisor) GiveUp(received bool) {
	if r.Proc == nil || r.Leaving() {
		return
	}
	if r.volume.Frozen() {
		r.giveUpSince = time.Time{}
		return
	}
	why, timeout := lifecycle.GiveUp(lifecycle.Run{Server: r.Status, Joining: r.Note != nil,
		SST: r.Note != nil && r.Note.SST, Received: received, Served: r.Served, Peers: r.group.Views})
	switch {
	case why == "":
		r.giveUpSince = time.Time{}
	case r.giveUpSince.IsZero():
		r.giveUpSince = time.Now()
	case time.Since(r.giveUpSince) > timeout:
		r.endGivenUp(why)
	}
}

func (r *Supervisor) endGivenUp(why string) {
	r.loop.Logger.Warn("ending mariadbd", "why", why)
	r.end(time.Now())
	if r.Served {
		r.Attempts.Restarts++
		r.Attempts.Failure = &agentapi.Failure{Reason: agentapi.FailureLeft, At: time.Now(),
			Message: "Galera was disconnected from the group for good; mariadbd is restarted"}
		r.Proc.Terminate()
		return
	}
	r.Attempts.Failed++ // the next attempt dials another member
	r.Proc.Kill()       // SIGTERM is ignored while Galera connects to the group; it was never Synced, so no write is lost
}
