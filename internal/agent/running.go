package agent

import (
	"syscall"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
	"github.com/galera-operator/galera-operator/internal/agent/notify"
	"github.com/galera-operator/galera-operator/internal/agent/peers"
	"github.com/galera-operator/galera-operator/internal/agent/server"
	"github.com/galera-operator/galera-operator/internal/agent/wsrep"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// missedMost readings of the status in a row that fail make a server one that does not answer.
const missedMost = 4

// onNotify is called when mariadbd has told of a change.
func (a *agent) onNotify(e notify.Event) {
	if len(e.Members) > 0 && a.config.Node != nil { // no server of ours runs without one
		a.view.Take(wsrep.NodesOf(e.Members, a.config.Node.Members))
		a.prove.Kick() // somebody may have come back with another encryption
	}
	a.poll.Poke()
	a.watchPeers()
}

// onStatus takes one reading of the status, that was asked for at a time.
func (a *agent) onStatus(proc *server.Process, asked time.Time, s wsrep.Status, err error) {
	if a.proc != proc {
		return
	}
	a.watchTransfer()
	if err != nil {
		a.missed++
		if a.missed >= missedMost && a.status != nil {
			a.status = nil
			a.updateSubject()
		}
		return
	}
	first := a.status == nil
	a.missed, a.run.hang = 0, hanging{heardAt: time.Now(), since: time.Now(), answered: true}
	next := s.Server
	next.StartedAt, next.Version = proc.StartedAt, a.image.ServerVersion
	next.Members = a.view.Members(next, asked)
	a.status = &next
	a.watchService()
	a.image.ProviderVersion = s.ProviderVersion
	a.vitals.Count(s.Counters)
	a.gcache.Status(s, time.Now())
	if s.Position.UUID != "" && s.Position.UUID != galera.ZeroUUID && s.Position.Seqno >= 0 {
		a.position = s.Position
	}
	a.followCatchUp(time.Now())
	if first {
		a.updateSubject()
	}
	a.judgeServer()
	a.unevict(s)
	a.setLive()
}

// watchService notes when a running server stops taking queries, and when it takes them again.
func (a *agent) watchService() {
	if !a.run.stopping && a.status.Component == galera.ComponentPrimary && a.status.Ready {
		a.service.Back()
		return
	}
	a.leaveService()
}

// leaveService notes since when a member that served does not.
func (a *agent) leaveService() {
	if a.run.served {
		a.service.Leave()
	}
}

// judgeServer acts on what the server has become.
func (a *agent) judgeServer() {
	if f := lifecycle.Condemn(a.status, a.run.formed); f != nil && !a.run.condemned {
		f.At = time.Now()
		a.Logger.Error("stopping mariadbd", "reason", f.Reason, "message", f.Message)
		a.run.condemned, a.sticky, a.failure = true, f, f
		return
	}
	if a.run.condemned {
		return
	}
	if !a.recordFirstLine() {
		return
	}
	if lifecycle.HasState(a.status) && a.run.note != nil && a.transferKnown() && a.copyDurable() {
		a.stateComplete()
	}
	if a.caughtUp() {
		a.joinEnded()
	}
	if lifecycle.Serves(a.status) && a.run.note == nil && !a.run.served && !a.run.stopping {
		a.firstServed()
	}
}

// firstServed is called once per run, when the member serves.
func (a *agent) firstServed() {
	a.run.served = true
	a.failures, a.failure, a.sticky, a.retryAt = 0, nil, nil, time.Time{}
	a.Logger.Info("serving", "uuid", a.status.ClusterUUID, "size", a.status.Size,
		"took", time.Since(a.proc.StartedAt).Round(time.Millisecond).String())
	a.watchPeers()
	a.checkRoot()
	a.checkUpgrade()
	a.updateSubject()
	if a.orders.Current == nil {
		return
	}
	switch {
	case a.orders.Current.Kind == agentapi.OrderInitialise && a.orders.Current.ID == a.run.order:
		// Done when root's password is set, so that it is when somebody is told.
	case a.orders.Current.Kind == agentapi.OrderBootstrap && a.orders.Current.ID == a.run.order:
		a.orders.Finish(a.orders.Current.ID, agentapi.OrderDone, "")
	case a.orders.Current.Kind == agentapi.OrderRestart:
		a.orders.Finish(a.orders.Current.ID, agentapi.OrderDone, "")
	}
}

// onExit is called when mariadbd has ended.
func (a *agent) onExit(proc *server.Process) {
	if a.proc != proc {
		return
	}
	a.leaveService()
	run, exit := a.run, proc.Exit()
	a.gcache.Exited()
	orderly := run.stopping && exit.Code == 0 && exit.Signal == 0
	a.ended, a.forget = a.endedAs(orderly), forgetting{}
	if !orderly {
		a.downSince = time.Now()
	}
	a.proc, a.status, a.run = nil, nil, running{}
	a.view.Exited()
	a.certs.Exited()
	a.config.Exited()
	a.exam.Exited()
	a.restart = false
	a.prove.Exited()
	a.peers, a.peersFrom = nil, time.Now()
	a.asking.Set(peers.PaceWaiting)
	go server.KillOrphans(&a.table)
	a.Logger.Info("mariadbd has ended", "code", exit.Code, "signal", int(exit.Signal), "asked", run.stopping)
	join := a.join
	if join != nil && join.EndedAt == nil {
		a.join = nil // it never ended; the next one is another
	}
	switch {
	case run.condemned, run.givenUp: // counted when that was decided
	case orderly:
		a.failures, a.retryAt = 0, time.Time{}
	default:
		a.restarts++
		a.crashed(run, exit, join)
	}
	if run.note != nil && run.note.Transfer {
		a.quietUntil = time.Now().Add(lifecycle.RetryAfterTransfer)
	}
	if a.orders.Current != nil && a.orders.Current.ID == run.order {
		a.orders.Finish(run.order, agentapi.OrderFailed, "mariadbd ended before it served: "+exit.String())
	}
	a.updateSubject()
}

// endedTime is how long others are told that a server has ended. View numbers begin anew with a component.
const endedTime = 30 * time.Second

// joiner is what JudgeJoin is to know of this member.
func (a *agent) joiner(line galera.Lineage) lifecycle.Joiner {
	j := lifecycle.Joiner{Data: a.exam.Found.Data, Position: a.exam.Found.Position, Expelled: a.exam.Found.Expelled, Lineage: line}
	if lifecycle.AwaitNotice(time.Since(a.downSince)) {
		j.Crashed = a.Name
	}
	return j
}

// crashed records why a server ended that nobody had stopped.
func (a *agent) crashed(run running, exit server.Exit, join *agentapi.Join) {
	f := &agentapi.Failure{Reason: server.Classify(exit.Lines), ExitCode: exit.Code, At: time.Now(), Message: exit.String()}
	if run.served {
		f.Reason = agentapi.FailureStart
		f.Message = "mariadbd ended while it served: " + exit.String()
		a.failure = f
		a.retryAt = time.Now().Add(lifecycle.RetryAfterCrash)
		a.Logger.Error("mariadbd crashed", "message", f.Message)
		return
	}
	// A joiner that was killed says nothing about its transfer.
	if run.note == nil || exit.Signal == syscall.SIGKILL || !run.note.Transfer && !server.TransferBroke(exit) {
		a.attemptFailed(f)
		return
	}
	f.Reason, f.Message = server.TransferFailure(exit)
	kind := "incremental"
	if run.note.Transfer {
		kind = "full"
	}
	if join != nil && join.Donor != "" {
		f.Message = "the " + kind + " transfer from " + join.Donor + " failed: " + f.Message
	}
	a.transferFailed(f, join)
}
