package agent

import (
	"time"

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
			a.beat.Store(time.Now().UnixNano())
			if pending := time.Since(began); pending > volume.FrozenAfter {
				r := a.reports.Get()
				r.Failure = volume.FrozenFailure(began, pending)
				a.reports.Set(r)
			}
		}
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
