package agent

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/datadir"
	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
	"github.com/galera-operator/galera-operator/internal/agent/peers"
	"github.com/galera-operator/galera-operator/internal/agent/volume"
)

// settleTime is how long the end of the agent waits for what is on its way to the volume.
const settleTime = 5 * time.Second

// openVolume reads what an earlier run of the agent has left. The ports answer meanwhile, and tell of a volume that does not.
func (a *agent) openVolume() error {
	opened, began := make(chan error, 1), time.Now()
	go func() { opened <- a.initState() }()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case err := <-opened:
			return err
		case <-tick.C:
			a.vitals.Beat()
			if pending := time.Since(began); pending > volume.FrozenAfter {
				r := a.reports.Get()
				r.Failure = volume.FrozenFailure(began, pending)
				a.reports.Set(r)
			}
		}
	}
}

func (a *agent) initState() error {
	if err := os.MkdirAll(a.Places.State, 0o750); err != nil {
		return err
	}
	if err := a.orders.Open(a.Places.State); err != nil {
		return err
	}
	a.drainContext, a.endWork = context.WithCancel(context.Background())
	a.gcache.Open()
	a.markers = datadir.Markers{Dir: a.Places.State}
	a.certs.Adopt()
	a.asking.Set(peers.PaceWaiting)
	return nil
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
	a.onFiles()
	for !a.turn() {
		select {
		case event := <-a.events:
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
	a.settle()
	return nil
}

// turn does the next thing and publishes; it says whether the agent is done.
func (a *agent) turn() bool {
	a.giveUp()
	a.endStalledCopy()
	a.endStalledIST(time.Now())
	step := lifecycle.Next(a.situation())
	switch step.Act {
	case lifecycle.ActExit:
		a.exited = true
	case lifecycle.ActStop:
		a.stop()
	case lifecycle.ActExamine:
		a.examine()
	case lifecycle.ActInitialise:
		a.initialise()
	case lifecycle.ActBootstrap:
		a.bootstrap()
	case lifecycle.ActJoin:
		a.startJoin()
	}
	a.endStop()
	a.publish(step)
	return a.exited
}

// drain begins the end of the pod.
func (a *agent) drain() {
	if !a.draining {
		a.Logger.Info("shutting down")
		a.draining = true
		a.endWork()
	}
}

// settle gives what is on its way to the volume a moment before the agent ends.
func (a *agent) settle() {
	done := make(chan struct{})
	wait := a.volume.After()
	go func() { wait(); close(done) }()
	limit := time.NewTimer(settleTime)
	defer limit.Stop()
	for {
		select {
		case <-a.events: // nothing follows from it any more
		case <-done:
			return
		case <-limit.C:
			return
		}
	}
}

// post hands an event to the loop.
func (a *agent) post(event func()) { a.events <- event }

// workerContext ends when the pod is drained.
func (a *agent) workerContext(limit time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	stop := context.AfterFunc(a.drainContext, cancel)
	return ctx, func() { stop(); cancel() }
}

// onFiles is called when a mounted file may have changed.
func (a *agent) onFiles() {
	if a.certs.Read() {
		a.updateSubject()
		a.loadCertificates()
	}
	a.config.Read()
	a.checkRoot()
}

// onTick is called every second.
func (a *agent) onTick() {
	a.watchTransfer()
	a.watchGiving()
	a.watchHang(time.Now())
	a.endExamination(time.Now())
	a.enforceStop()
	a.orders.Tick()
	a.volume.Tick()
	if !a.draining {
		a.image.Tick()
	}
	a.loadCertificates()
	a.checkRoot()
	a.checkUpgrade()
}
