package agent

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/certs"
	"github.com/galera-operator/galera-operator/internal/agent/datadir"
	"github.com/galera-operator/galera-operator/internal/agent/examine"
	"github.com/galera-operator/galera-operator/internal/agent/gcache"
	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
	"github.com/galera-operator/galera-operator/internal/agent/ordering"
	"github.com/galera-operator/galera-operator/internal/agent/peers"
	"github.com/galera-operator/galera-operator/internal/agent/server"
	"github.com/galera-operator/galera-operator/internal/agent/servercnf"
	"github.com/galera-operator/galera-operator/internal/agent/wsrep"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

const installTime = 10 * time.Minute

// startJoin starts mariadbd to join the component the verdict is about.
func (a *agent) startJoin() {
	run := running{from: a.exam.Found.Position}
	note := datadir.Joining{
		Method: a.config.Node.StateTransfer.Method, Address: a.Address, From: a.exam.Found.Position, Since: time.Now(),
		Transfer: a.exam.Found.Replaced(),
	}
	run.note = &note
	run.follow.before = a.givenBefore()
	kind := agentapi.JoinIST
	if note.Transfer {
		kind = agentapi.JoinSST
	}
	a.join = &agentapi.Join{Kind: kind, Phase: agentapi.JoinWaiting, StartedAt: time.Now()}
	incomplete := note.Transfer && a.exam.Found.Data != galera.DataEmpty
	if a.exam.Found.Newer != "" {
		a.Logger.Warn("the data were used by a later MariaDB: a full copy will replace them", "version", a.exam.Found.Newer)
		a.exam.Found.Position = galera.Position{}
	}
	used := a.used()
	a.Logger.Info("joining", "from", a.exam.Found.Position.String(), "data", a.exam.Found.Data)
	// The verdict has just said that nothing here is beyond what the component has, so whatever is
	// here later is part of its lines, also when nobody sees the join end.
	a.orders.SetLineage(a.verdict.Line, func(error) {})
	a.launch(run, func() error {
		// The note comes first: what Clean removes may be the only other trace of a transfer.
		if err := a.markers.SetJoining(note); err != nil {
			return err
		}
		if !note.Transfer {
			if err := a.markers.SetVersions(used); err != nil {
				return err
			}
		}
		return datadir.Clean(a.Places.Data, incomplete)
	}, slices.Concat(a.exam.Found.Args(), a.donorArgs(), a.addressArgs(), a.methodArgs()))
}

// bootstrap starts the present database as a new component. The order is on the volume already.
func (a *agent) bootstrap() {
	pos := a.orders.Current.Position
	run := running{kind: agentapi.OrderBootstrap, order: a.orders.Current.ID, formed: pos.UUID, from: pos}
	a.join = nil
	if a.exam.Found.Position != pos || a.exam.Found.Data != galera.DataPresent || a.exam.Found.Newer != "" {
		// Judge has seen to that; a bootstrap anywhere else would cost acknowledged writes.
		a.endRun(run, "the member is not at the order's position any more")
		return
	}
	if why := a.notAlone(); why != "" {
		a.endRun(run, why)
		return
	}
	a.Logger.Info("bootstrapping", "order", a.orders.Current.ID, "position", pos.String())
	a.job = lifecycle.JobLaunch // the line is on the disk before anything is started
	a.orders.Record(a.orders.BeginLine(galera.Line{Epoch: a.orders.Current.Epoch, Start: pos}), func(err error) {
		a.job = lifecycle.JobNone
		switch why := a.notAlone(); {
		case err != nil:
			a.endRun(run, ordering.Unwritten(err).Error())
		case a.orders.Current == nil || a.orders.Current.ID != run.order || a.orders.OutOfDate():
			a.exam.Done = false
		case why != "" || a.draining:
			a.endRun(run, cmp.Or(why, "the pod is on its way out"))
		default:
			a.launchFormed(run, pos)
		}
	})
}

// notAlone says why a component must not be formed beside what the others are now, "" when it may.
func (a *agent) notAlone() string {
	if others := lifecycle.PrimaryPeers(a.peers); len(others) > 0 {
		return others[0].Name + " has become Primary meanwhile"
	}
	return ""
}

// launchFormed starts mariadbd as a component of its own.
func (a *agent) launchFormed(run running, pos galera.Position) {
	used, judged := a.used(), a.orders.JudgedAt
	a.launch(run, func() error {
		if err := a.markers.SetVersions(used); err != nil {
			return err
		}
		if err := datadir.Clean(a.Places.Data, false); err != nil {
			return err
		}
		if err := a.markers.ClearJoining(); err != nil {
			return err
		}
		if time.Since(judged) > 2*ordering.JudgedLasts { // a frozen volume; the order was recorded in time
			return errors.New("the data volume took too long: another member may have been made Primary since")
		}
		return datadir.PermitBootstrap(a.Places.Data, pos)
	}, append(a.exam.Found.Args(), "--wsrep-new-cluster"))
}

// initialise makes a new database and starts it as the first component.
func (a *agent) initialise() {
	a.job = lifecycle.JobInitialise
	id, p := a.orders.Current.ID, a.Places
	epoch := a.orders.Current.Epoch
	a.join = nil
	a.Logger.Info("initialising", "order", id)
	ctx, cancel := a.workerContext(installTime)
	started, wait, maker := time.Now(), a.volume.After(), a.maker()
	go func() {
		defer cancel()
		wait()
		err := maker.Make(ctx)
		a.post(func() {
			a.job = lifecycle.JobNone
			if err != nil {
				a.initialiseFailed(id, err)
				return
			}
			if a.orders.Current == nil || a.orders.Current.ID != id {
				a.exam.Done = false // the order was superseded: what was made has no history and goes
				return
			}
			a.Logger.Info("database made", "took", time.Since(started).Round(time.Millisecond).String())
			a.exam.Found = examine.Found{Data: galera.DataPresent}
			a.versions = made(a.image.ServerVersion)
			run := running{kind: agentapi.OrderInitialise, order: id, epoch: epoch}
			a.launch(run, func() error { return datadir.Clean(p.Data, false) }, []string{"--wsrep-new-cluster"})
		})
	}()
}

// maker makes the first database.
func (a *agent) maker() server.Maker {
	return server.Maker{Table: &a.table, Places: a.Places, User: a.user, Version: a.image.ServerVersion, Log: a.Output}
}

func (a *agent) initialiseFailed(id string, err error) {
	a.Logger.Error("the initialisation failed", "error", err)
	a.exam.Done = false
	a.failure = &agentapi.Failure{Reason: agentapi.FailureInitialisation, Message: err.Error(), At: time.Now()}
	if strings.Contains(err.Error(), "No space left") || strings.Contains(err.Error(), "no space left") {
		a.failure.Reason = agentapi.FailureDiskFull
	}
	a.orders.Finish(id, agentapi.OrderFailed, err.Error())
}

// addressArgs tells a node with dynamic sockets whom to dial when it starts; the rest of the group meets it then.
func (a *agent) addressArgs() []string {
	if a.config.Output.Socket != galera.SocketDynamic {
		return nil
	}
	names := peers.DialFirst(peers.Staying(lifecycle.PrimaryPeers(a.peers)), a.failures)
	var first []agentapi.Peer
	for _, p := range a.config.Node.Members {
		if slices.Contains(names, p.Name) {
			first = append(first, p)
		}
	}
	if len(first) == 0 {
		return nil
	}
	return []string{"--wsrep-cluster-address=" + servercnf.ClusterAddress(first)}
}

// methodArgs hold mariadbd to the transfer method the join was noted with: the option file may be another one by the time it reads
// it. One that serves is told of a change (setLive).
func (a *agent) methodArgs() []string {
	method, ok := a.config.Output.MyCnf.Get("mysqld", "wsrep_sst_method")
	if !ok {
		return nil
	}
	return []string{"--wsrep-sst-method=" + method}
}

// cacheWish is what decides how large a gcache mariadbd is started with.
func (a *agent) cacheWish() gcache.Wish {
	st := a.config.Node.StateTransfer
	options, _ := a.config.Output.MyCnf.Get("mysqld", "wsrep_provider_options")
	return gcache.Wish{Options: options, Window: time.Duration(st.WindowSeconds) * time.Second, Budget: st.CacheBudget,
		Replaced: a.exam.Found.Replaced(), Copied: lifecycle.CopySize(a.peers)}
}

// launch prepares the data directory and starts mariadbd.
func (a *agent) launch(run running, prepare func() error, args []string) {
	a.job = lifecycle.JobLaunch
	run.config = a.config.ForStart()
	run.certs = certs.Run{Provider: a.config.Output.ProviderTLS(), Clients: a.config.Output.ClientTLS(), Pair: a.certs.Installed()}
	p := a.Places
	command := server.Command{Path: a.image.Mariadbd, Env: server.Env(a.Places), Dir: p.Data, Log: a.serverLine}
	serverArgs, cacheArgs, wait := server.Args(a.Places), a.gcache.Args(a.cacheWish()), a.volume.After()
	go func() {
		wait()
		command.Args = slices.Concat(serverArgs, cacheArgs(), args)
		proc, err := server.Launch(&a.table, p, command, prepare)
		a.post(func() { a.onLaunched(run, proc, err) })
	}()
}

func (a *agent) onLaunched(run running, proc *server.Process, err error) {
	a.job = lifecycle.JobNone
	if err != nil {
		a.attemptFailed(notStarted(err))
		a.endRun(run, err.Error())
		return
	}
	a.proc, a.run = proc, run
	a.run.hang = hanging{heardAt: time.Now(), since: time.Now()}
	a.status, a.missed = nil, 0
	a.view.Exited()
	a.restart = false
	a.config.Started(proc.PID, run.config)
	a.certs.Started(proc.PID, run.certs)
	a.exam.Done = false // what was found holds no longer
	a.position = run.from
	a.asking.Set(peers.PaceJoining)
	a.updateSubject()
	go a.poll.Run(proc.Done(), func(asked time.Time, s wsrep.Status, err error) {
		a.post(func() { a.onStatus(proc, asked, s, err) })
	})
	go func() {
		<-proc.Done()
		a.post(func() { a.onExit(proc) })
	}()
}

// notStarted is why mariadbd was not started. What is written first, the notes, needs room on the volume.
func notStarted(err error) *agentapi.Failure {
	f := &agentapi.Failure{Reason: agentapi.FailureStart, Message: "mariadbd could not be started: " + err.Error(), At: time.Now()}
	if errors.Is(err, syscall.ENOSPC) {
		f.Reason = agentapi.FailureDiskFull
	}
	return f
}

// attemptFailed counts a failed attempt and sets the time of the next one.
func (a *agent) attemptFailed(f *agentapi.Failure) {
	a.failures++
	a.failure = f
	a.retryAt = time.Now().Add(lifecycle.Backoff(a.failures))
	a.Logger.Error("mariadbd is down", "reason", f.Reason, "message", f.Message)
}

// endRun ends the order a run was for.
func (a *agent) endRun(run running, why string) {
	if a.orders.Current != nil && a.orders.Current.ID == run.order {
		a.orders.Finish(run.order, agentapi.OrderFailed, why)
	}
	if run.kind != "" {
		a.exam.Done = false
	}
}
