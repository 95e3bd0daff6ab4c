package agent

import (
	"context"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
	"github.com/galera-operator/galera-operator/internal/agent/server"
	"github.com/galera-operator/galera-operator/internal/agent/wsrep"
)

const (
	// patience with a stop: a joiner has nothing to lose, a server that served flushes its pages.
	patienceJoiner = 10 * time.Second
	patienceServer = 15 * time.Minute
	// dismissTime is how long a stop is put off at most to send clients away.
	dismissTime = 300 * time.Millisecond
)

// stop asks mariadbd to stop.
func (a *agent) stop() {
	patience := patienceServer
	if a.run.note != nil && !a.run.served {
		patience = patienceJoiner
	}
	if h := a.run.hang; h.hung || h.answered && a.status == nil {
		// It does not hear, or would count as hung soon; a server that is told to stop is silent in any case.
		patience = min(patience, max(lifecycle.HungAfter-time.Since(h.since), 0)+patienceJoiner)
	}
	a.Logger.Info("stopping mariadbd", "pid", a.proc.PID)
	a.run.stopping = true
	a.leaveService()
	a.run.patience, a.run.stopAt = patience, time.Now().Add(patience)
	go terminate(a.proc, a.conn)
}

// terminate asks mariadbd to stop, and sends its clients away, which it would wait a second for: before, and
// again those that came meanwhile. Once asked it takes no new ones.
func terminate(proc *server.Process, conn *wsrep.Conn) {
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
	dismiss()
	proc.Terminate()
	dismiss()
}

// enforceStop ends a server whose stop takes too long. InnoDB loses nothing by it.
// Nothing ends while its volume is frozen, whatever it is sent; it has all its time again when that answers.
func (a *agent) enforceStop() {
	if a.proc != nil && a.run.stopping && a.volume.Frozen() {
		a.run.stopAt = time.Now().Add(a.run.patience)
		return
	}
	if a.proc != nil && a.run.stopping && time.Now().After(a.run.stopAt) {
		a.Logger.Warn("mariadbd does not stop; killing it")
		a.proc.Kill()
	}
}
