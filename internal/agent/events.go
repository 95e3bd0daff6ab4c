package agent

import (
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/api"
	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
	"github.com/galera-operator/galera-operator/internal/agent/wsrep"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/datadir"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/mariadbd"
)

// onConfig is called when another configuration has been taken over.
func (a *agent) onConfig() {
	a.LogFormat(a.config.Node.LogFormat)
	a.run.Attempts.Retry()
	a.exam.RetryAt = time.Time{}
	a.updateSubject()
	a.serving.SetLive()
}

// onLaunched is called when mariadbd has been started.
func (a *agent) onLaunched(proc *mariadbd.Process) {
	a.commands.Restart = false
	a.serving.Began()
	a.follow.Began()
	a.logged.began()
	a.updateSubject()
	go a.poll.Run(proc.Done(), func(asked time.Time, s wsrep.Status, err error) {
		a.queue.Post(func() { a.onStatus(proc, asked, s, err) })
	})
	go func() {
		<-proc.Done()
		a.queue.Post(func() { a.onExit(proc) })
	}()
}

// serverLine passes on a line of mariadbd's log. Two things are reported nowhere else: the TLS a transfer's program has
// spoken, as its port takes one connection only, and that the group does not count a transfer. Safe for concurrent use.
func (a *agent) serverLine(line string) {
	if !mariadbd.Chatter(line) {
		a.Output(line)
	}
	if h, ok := mariadbd.ParseHandshake(line); ok {
		a.queue.Post(func() { a.joiner.Handshake(h.Protocol, h.Cipher) })
	}
	if name := mariadbd.RejectedJoiner(line); name == agentapi.GroupName(a.Name) {
		a.queue.Post(a.joiner.Rejected)
	}
}

// onNotify is called when mariadbd has reported a change.
func (a *agent) onNotify(e wsrep.Notification) {
	if len(e.Members) > 0 && a.config.Node != nil { // no server of ours runs without one
		a.run.View.Take(wsrep.NodesOf(e.Members, a.config.Node.Members), e.Primary)
		a.prove.Kick() // a member may have come back with another encryption
		if !e.Primary {
			a.serving.LostPrimary()
			a.follow.LostPrimary()
		}
	}
	a.poll.Poke()
	a.group.Watch(a.run.Served)
}

// onStatus takes one reading of the status, that was asked for at a time.
func (a *agent) onStatus(proc *mariadbd.Process, asked time.Time, s wsrep.Status, err error) {
	if a.run.Proc != proc {
		return
	}
	a.joiner.Watch()
	if err != nil {
		a.run.HandleMissedReading(err)
		return
	}
	first := a.run.HandleStatus(asked, s, a.image.ServerVersion)
	a.image.ProviderVersion = s.ProviderVersion
	a.gcache.Status(s, time.Now())
	a.joiner.FollowCatchUp(time.Now())
	if first {
		a.updateSubject()
	}
	a.judgeServer()
	a.evicted.See(s)
	a.exam.See(s.VotedOut)
	a.serving.CheckScheduler(time.Now())
	a.follow.Check(time.Now())
	a.serving.SetLive()
}

// judgeServer acts on what the server has become.
func (a *agent) judgeServer() {
	if a.run.MustTerminate {
		return
	}
	if f := lifecycle.ReasonToTerminate(a.run.Status, a.run.Formed); f != nil {
		f.At = time.Now()
		a.Logger.Error("stopping mariadbd", "reason", f.Reason, "message", f.Message)
		a.run.MustTerminate, a.run.Attempts.NeedsOrder, a.run.Attempts.Failure = true, f, f
		return
	}
	if !a.serving.RecordFirstLine() {
		return
	}
	a.joiner.Judge()
	if a.run.Serves() && a.run.Note == nil && !a.run.Served && !a.run.Stopping {
		a.firstServed()
	}
}

// firstServed is called once per run, when the member serves.
func (a *agent) firstServed() {
	a.run.Served = true
	a.run.Attempts.MarkServing(time.Now())
	a.Logger.Info("serving", "uuid", a.run.Status.ClusterUUID, "size", a.run.Status.Size,
		"took", time.Since(a.run.Proc.StartedAt).Round(time.Millisecond).String())
	a.group.Watch(a.run.Served)
	a.serving.KeepSettings()
	a.serving.CheckRoot()
	a.serving.CheckUpgrade()
	a.updateSubject()
	a.commands.Served()
	a.orders.Belong(a.config.Identity())
	a.logged.check(time.Now())
	recordKeys(a)
}

// recordKeys records the keys of a server that has read the data with them.
func recordKeys(a *agent) {
	keys, _, err := a.config.ServerKeys()
	if err != nil {
		a.Logger.Warn("the keys of the data could not be read", "error", err)
		return
	}
	markers, data := datadir.Markers{Dir: a.Places.State}, a.Places.Data
	a.volume.Do(func() error { return markers.SetKeys(data, keys) }, func(err error) {
		if err != nil {
			a.Logger.Warn("the keys of the data could not be recorded", "error", err)
		}
	})
}

// onExit is called when mariadbd has ended.
func (a *agent) onExit(proc *mariadbd.Process) {
	if a.run.Proc != proc {
		return
	}
	a.gcache.Exited()
	run, exit, orderly := a.run.Exited()
	a.evicted.Exited()
	a.distance.Exited()
	a.certs.Exited()
	a.config.Exited()
	a.exam.Exited()
	a.prove.Exited()
	a.group.Forget()
	a.group.Set(api.PaceWaiting)
	go mariadbd.KillOrphans(&a.table)
	a.run.CountEnd(run, exit, orderly, a.joiner.Exited())
	a.follow.Exited(run.Leaving())
	a.commands.Exited(run.Order, exit)
	if !run.Served && !run.MustTerminate && !run.GivenUp && !orderly {
		if certain, possible := mariadbd.SettingsToBlame(exit); possible {
			a.config.FailedStart(run.Config, certain, exit.String())
		}
	}
	if run.Served && run.Stopping && !orderly && a.scan.Interrupted() {
		a.Logger.Error("pages in clear that InnoDB does not use were not overwritten: mariadbd did not stop in order")
	}
	a.updateSubject()
}

// onPeers takes the other members' answers to a question that was asked at a time.
func (a *agent) onPeers(asked time.Time, views map[string]agentapi.PeerView) {
	if !a.group.Take(asked, views) {
		return
	}
	a.joiner.FindDonor()
	if !a.run.Serves() {
		return
	}
	a.adoptLineage()
	if a.run.Served {
		a.group.SlowDown()
	}
}

// adoptLineage keeps a serving member's lineage that of its component: it is part of whatever line
// the component's other members are in.
func (a *agent) adoptLineage() {
	for _, p := range lifecycle.PrimaryPeers(a.group.Views) {
		if p.ClusterUUID == a.run.Status.ClusterUUID && p.State != galera.NodeJoining {
			a.orders.TakeLineage(p.Lineage)
		}
	}
}
