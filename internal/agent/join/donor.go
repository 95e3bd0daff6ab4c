package join

import (
	"maps"
	"net"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/config"
	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
	"github.com/galera-operator/galera-operator/internal/agent/process"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/datadir"
	"github.com/galera-operator/galera-operator/internal/eventloop"
	"github.com/galera-operator/galera-operator/internal/platform"
)

const (
	// sizeTTL is how long a measured size of the data is good enough for joiners.
	sizeTTL = 10 * time.Minute
	// transferPort is where a joiner receives the stream of a transfer script.
	transferPort = 4444
	// joinerObserveInterval is the pause between two observations of the connection to a joiner.
	joinerObserveInterval = 10 * time.Second
)

// DonorTracker is not safe for concurrent use; event loop only.
type DonorTracker struct {
	bytes       int64
	measuredAt  time.Time
	measuring   bool
	current     *agentapi.Donation
	last        *agentapi.Donation // the last one that was given
	counts      map[string]int64   // transfers given, by kind, since the agent started
	donation    lifecycle.Donation
	joinerWatch joinerWatch
	notes       int // of the transfer scripts of this run, read so far

	loop   eventloop.Loop
	places platform.Places
	run    *process.Supervisor
	config *config.Manager
	// peerAnswer observes the connection to a port of a host.
	peerAnswer func(host net.IP, port uint16) (platform.StreamAnswer, bool)
}

// joinerWatch is the state of the watch over the joiner of one transfer script.
type joinerWatch struct {
	script int // its process
	at     time.Time
	watch  lifecycle.JoinerWatch
	ended  bool
}

// NewDonorTracker returns the Tracker of a member that was no donor yet.
func NewDonorTracker(loop eventloop.Loop, places platform.Places, run *process.Supervisor, config *config.Manager,
	peerAnswer func(net.IP, uint16) (platform.StreamAnswer, bool)) DonorTracker {
	return DonorTracker{loop: loop, places: places, run: run, config: config, peerAnswer: peerAnswer}
}

// Began is called for a new run, whose scripts have noted nothing yet.
func (r *DonorTracker) Began() { r.notes = 0 }

// Tick reads what the transfer scripts have noted since the last time.
func (r *DonorTracker) Tick() {
	if r.run.Proc == nil {
		r.current, r.donation = nil, lifecycle.Donation{}
		return
	}
	notes := config.TransferNotes(r.places.TransferNotes())
	for _, n := range notes[min(r.notes, len(notes)):] {
		if n.Role == config.RoleDonor {
			r.began(n)
		}
	}
	r.notes = max(r.notes, len(notes)) // a file that cannot be read has none
	if len(notes) > 0 {
		switch last := notes[len(notes)-1]; {
		case !last.Running():
			r.ended()
		case last.Role == config.RoleDonor:
			r.endLostJoiner(last, time.Now())
		}
	}
	r.donation.See(r.run.Status, r.current != nil, time.Now())
	r.measure()
}

// began records that a transfer script of this donor has begun.
func (r *DonorTracker) began(n config.TransferNote) {
	given := maps.Clone(r.counts) // reports hold the old one
	if given == nil {
		given = map[string]int64{}
	}
	given[n.Kind]++
	r.counts = given
	r.current = &agentapi.Donation{Kind: n.Kind, To: n.Host, Since: time.Now()}
	r.last = r.current
	r.measuredAt = time.Time{}
	r.loop.Logger.Info("state transfer started as donor", "kind", n.Kind, "to", n.Host)
}

// ended records that the running transfer is over, and starts a worker that finds out why its backup failed.
func (r *DonorTracker) ended() {
	given := r.current
	r.current = nil
	if given == nil {
		return
	}
	go func() {
		why := config.BackupFailure(r.places.Data, given.Since)
		r.loop.Post(func() {
			if why == "" || r.last != given {
				return
			}
			failed := *given
			failed.Failure = why
			r.last = &failed
			r.loop.Logger.Error("the backup of a state transfer failed", "to", given.To, "why", why)
		})
	}()
}

// measure starts a worker that measures how large an SST would be.
func (r *DonorTracker) measure() {
	if r.measuring || !r.run.Served || time.Since(r.measuredAt) < sizeTTL {
		return
	}
	r.measuring = true
	go func() {
		size := datadir.SSTSize(r.places.Data)
		r.loop.Post(func() { r.measuring, r.measuredAt, r.bytes = false, time.Now(), size })
	}()
}

// endLostJoiner ends the transfer script when its joiner is unreachable, because its host lost power, or the network
// drops all packets; or when it takes no data, because its volume is frozen (lifecycle.JoinerWatch). The script would
// wait a quarter of an hour for the kernel to give up, or forever with nothing to send or a full window; with rsync the
// donor rejects all writes meanwhile. mariadbd goes on, and serves again.
//
// Without quorum none of that counts: the end of the transfer could not be reported to the group (lifecycle.Donation),
// and no member can write.
func (r *DonorTracker) endLostJoiner(n config.TransferNote, now time.Time) {
	w := &r.joinerWatch
	if w.script != n.PID {
		*w = joinerWatch{script: n.PID}
	}
	if r.config.Node == nil || now.Sub(w.at) < joinerObserveInterval {
		return
	}
	if w.ended {
		w.at = now
		platform.KillProcess(n.PID) // it ignored SIGTERM
		return
	}
	answer, ok := r.peerAnswer(net.ParseIP(n.Host), transferPort)
	w.at = now
	why, since := w.watch.See(now, lifecycle.JoinerObservation{Connected: ok && !r.run.WithoutQuorum(),
		Silent: answer.Silent, OwesACK: answer.Owed, Queued: answer.Queued, Taken: answer.Taken},
		r.config.Node.StateTransfer.Stall())
	if why == "" {
		return
	}
	w.ended = true
	r.loop.Logger.Warn(string(why)+": ending the state transfer to it", "kind", n.Kind, "to", n.Host,
		"for", since.Round(time.Second).String())
	platform.EndProcess(n.PID)
}

// Report adds the running or last transfer as donor, and the size of the data.
func (r *DonorTracker) Report(to *agentapi.Report) {
	if r.current != nil {
		g := *r.current
		to.Donation = &g
	} else if r.last != nil {
		g := *r.last
		to.LastDonation = &g
	}
	to.StuckDonor = r.donation.Stuck(r.run.Status, time.Now())
	to.Donations, to.DataBytes = r.counts, r.bytes
}
