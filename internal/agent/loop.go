package agent

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/api"
	"github.com/galera-operator/galera-operator/internal/agent/join"
	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
	"github.com/galera-operator/galera-operator/internal/agent/orders"
	"github.com/galera-operator/galera-operator/internal/datadir"
)

// openVolume reads what an earlier run of the agent has left, by read. The ports answer meanwhile, and report a volume
// that does not.
func (a *agent) openVolume(read func()) {
	opened, began := make(chan struct{}), time.Now()
	go func() {
		read()
		close(opened)
	}()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-opened:
			return
		case <-tick.C:
			a.vitals.Beat()
			if pending := time.Since(began); pending > datadir.FrozenAfter {
				r := a.reports.Get()
				r.Failure = datadir.FrozenFailure(began, pending)
				a.reports.Set(r)
			}
		}
	}
}

func (a *agent) initState() {
	// A volume that is full or read-only is reported (datadir.VolumeWatch); an agent that did not start would report
	// nothing.
	if err := os.MkdirAll(a.Places.State, 0o750); err != nil {
		a.Logger.Error("the state directory cannot be made", "error", err)
	}
	a.orders.Open(a.Places.State)
	a.config.Remember(datadir.Markers{Dir: a.Places.State}.Settings())
	a.gcache.Open()
	a.group.Set(api.PaceWaiting)
}

// loop turns until the agent has nothing left to do.
func (a *agent) loop(ctx context.Context) error {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	// A broken log pipe must not end the database. Ignoring the signal would do the same for the
	// transfer scripts, whose pipelines need it.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	children := make(chan os.Signal, 1)
	signal.Notify(children, syscall.SIGCHLD)
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for !a.step() {
		select {
		case event := <-a.queue.Events:
			event()
		case <-signals:
			a.drain()
		case <-ctx.Done():
			a.drain()
			ctx = context.Background()
		case <-children:
			a.table.Reap()
		case <-ticker.C:
			a.table.Reap()
			a.onTick()
		}
		a.vitals.Beat()
	}
	a.queue.Settle(a.volume.After())
	return nil
}

// step takes the next step and publishes; it reports whether the agent is done.
func (a *agent) step() bool {
	a.run.GiveUp(join.Received(a.joiner.Join))
	a.joiner.EndStalledSST()
	a.joiner.EndStalledIST(time.Now())
	s := a.situation()
	step := lifecycle.Next(s)
	a.role.scheduleRecheck(s.DrainDelay.Wait(), a.queue.Post)
	switch step.Act {
	case lifecycle.ActExit:
		a.exited = true
	case lifecycle.ActStop:
		a.run.Stop()
	case lifecycle.ActExamine:
		a.exam.Begin()
	case lifecycle.ActInitialise:
		a.start.Initialise()
	case lifecycle.ActBootstrap:
		a.start.Bootstrap()
	case lifecycle.ActJoin:
		a.start.ToJoin(s.Join)
	}
	a.commands.EndStop()
	a.publish(step)
	return a.exited
}

// situation gathers what Next decides from.
func (a *agent) situation() lifecycle.Situation {
	a.role.setStopping(a.queue.Draining() || a.orders.Content().Held || a.commands.Restart, time.Now())
	s := lifecycle.Situation{
		Job: a.start.Job(), Alive: a.run.Proc != nil, Stopping: a.run.Stopping, Answers: a.run.Status != nil,
		Silent:   a.run.Silent(),
		Draining: a.queue.Draining(), Held: a.orders.Content().Held, Restart: a.commands.Restart,
		MustTerminate: a.run.MustTerminate,
		Hibernated:    a.config.Node != nil && a.config.Node.Hibernated, PositionUnavailable: a.start.PositionUnavailable(),
		StartUnavailable: a.start.StartUnavailable(), Examined: a.exam.Done,
		Trouble: a.exam.Trouble, Checking: a.config.Node == nil && a.config.Checking,
		NeedsOrder: a.run.Attempts.NeedsOrder, RetryIn: a.run.Attempts.RetryIn(time.Now()),
		CrashedIn: a.run.Attempts.CrashedIn(time.Now()), ExamineIn: max(0, time.Until(a.exam.RetryAt)),
		Join: a.start.MayJoin(), DrainDelay: a.role.drainDelay(a.Name, a.run.Status, a.queue.Draining(), time.Now()),
	}
	if a.orders.Current != nil && orders.Forms(a.orders.Current.Kind) {
		s.Form = a.orders.Current.Kind
	}
	return s
}

// drain begins the end of the pod.
func (a *agent) drain() {
	if !a.queue.Draining() {
		a.Logger.Info("shutting down")
		a.role.drained = time.Now()
		a.queue.Drain()
	}
}

// onFiles is called when a mounted file may have changed.
func (a *agent) onFiles() {
	if a.certs.Read() {
		a.updateSubject()
		a.serving.LoadCertificates()
	}
	a.config.Read()
	a.serving.CheckRoot()
}

// onTick is called every second.
func (a *agent) onTick() {
	a.joiner.Watch()
	a.donor.Tick()
	a.backup.Tick()
	a.run.WatchHang(time.Now(), a.joiner.InTransfer())
	a.commands.EndExamination(time.Now())
	a.run.EnforceStop()
	a.orders.Tick()
	a.volume.Tick()
	if !a.queue.Draining() {
		a.image.Tick()
	}
	a.serving.Tick()
	a.logged.check(time.Now())
	a.follow.Check(time.Now())
	if a.run.Served && a.run.Serves() && a.config.Node != nil {
		a.distance.Serving(time.Now(), a.config.Node.SendWindows)
	}
}
