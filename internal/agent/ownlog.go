package agent

import (
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/config"
	"github.com/galera-operator/galera-operator/internal/agent/process"
	"github.com/galera-operator/galera-operator/internal/datadir"
	"github.com/galera-operator/galera-operator/internal/eventloop"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// ownLog knows since where the node has written a binary log of its own. The archiver asks that: a binary log that came
// with an SST, or was not written for a time, does not show that nothing else was committed before it. It is not safe
// for concurrent use; event loop only.
type ownLog struct {
	loop    eventloop.Loop
	markers datadir.Markers
	node    string // the namespace and the name
	volume  *datadir.Volume
	run     *process.Supervisor
	config  *config.Manager

	since   galera.Position // not known until the run has served
	busy    bool
	retryAt time.Time
}

func newOwnLog(a *agent, loop eventloop.Loop) ownLog {
	return ownLog{loop: loop, markers: datadir.Markers{Dir: a.Places.State}, node: a.Namespace + "/" + a.Name,
		volume: &a.volume, run: &a.run, config: &a.config}
}

// began is called for a new run.
func (r *ownLog) began() { r.since, r.retryAt = galera.Position{}, time.Time{} }

// check reads, or notes, the position once the member serves. What the server applies from here on it logs: the note
// may be of a later position than the first that is logged, and never of an earlier one.
func (r *ownLog) check(now time.Time) {
	if r.busy || r.since.Known() || now.Before(r.retryAt) || !r.run.Served || !r.run.Serves() || r.run.Stopping ||
		!r.config.Running().Output.WritesBinlog || !r.run.Position.Known() {
		return
	}
	r.busy = true
	proc, here := r.run.Proc, r.run.Position
	var since galera.Position
	r.volume.Do(func() error {
		if since = r.markers.LoggedSince(r.node); since.UUID == here.UUID && since.Known() && since.Seqno <= here.Seqno {
			return nil
		}
		since = here
		return r.markers.SetLoggedSince(r.node, here)
	}, func(err error) {
		r.busy = false
		switch {
		case err != nil:
			r.retryAt = now.Add(ownLogRetry)
			r.loop.Logger.Warn("since when there is a binary log could not be noted", "error", err)
		case r.run.Proc == proc:
			r.since = since
		}
	})
}

// ownLogRetry is the pause after the note could not be written.
const ownLogRetry = 10 * time.Second

// forget removes the note, before a server begins without a binary log, or once an SST has replaced the data. It is
// called from other goroutines.
func (r *ownLog) forget() error { return r.markers.ClearLoggedSince() }
