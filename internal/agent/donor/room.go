// Package donor is the agent's room of the state transfers this member gives as donor, and of the size of its data, which others plan
// with.
package donor

import (
	"maps"
	"net"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/config"
	"github.com/galera-operator/galera-operator/internal/agent/datadir"
	"github.com/galera-operator/galera-operator/internal/agent/platform/paths"
	"github.com/galera-operator/galera-operator/internal/agent/platform/procs"
	"github.com/galera-operator/galera-operator/internal/agent/room"
	"github.com/galera-operator/galera-operator/internal/agent/running"
	"github.com/galera-operator/galera-operator/internal/agent/sst"
	"github.com/galera-operator/galera-operator/internal/agent/sst/streams"
	"github.com/galera-operator/galera-operator/internal/agent/sst/transfer"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

const (
	// sizeLasts is how long a measured size of the data is good enough for others to plan with.
	sizeLasts = 10 * time.Minute
	// transferPort is where a joiner takes the stream of a transfer script.
	transferPort = 4444
	// listenEvery is the pause between two looks at the connection to a joiner.
	listenEvery = 10 * time.Second
)

// Room is the loop's.
type Room struct {
	bytes      int64
	measuredAt time.Time
	measuring  bool
	giving     *agentapi.Giving
	gave       *agentapi.Giving // the last one that was given
	given      map[string]int64 // transfers given, by kind, since the agent started
	donation   sst.Donation
	hearing    hearing
	notes      int // of the transfer scripts of this run, read so far

	loop   room.Loop
	places paths.Places
	run    *running.Room
	config *config.Room
	// answers tells of the connection to a port of a host.
	answers func(host net.IP, port uint16) (streams.Answer, bool)
}

// hearing is what is known of the joiner a script of this member gives to.
type hearing struct {
	script int // its process
	at     time.Time
	watch  sst.JoinerWatch
	ended  bool
}

// New returns a room that has given nothing.
func New(loop room.Loop, places paths.Places, run *running.Room, config *config.Room, answers func(net.IP, uint16) (streams.Answer, bool)) Room {
	return Room{loop: loop, places: places, run: run, config: config, answers: answers}
}

// Began is called for a new run, whose scripts have noted nothing yet.
func (r *Room) Began() { r.notes = 0 }

// Tick looks for what the transfer scripts have noted since the last look.
func (r *Room) Tick() {
	if r.run.Proc == nil {
		r.giving, r.donation = nil, sst.Donation{}
		return
	}
	notes := transfer.Notes(r.places.TransferNotes())
	for _, n := range notes[min(r.notes, len(notes)):] {
		if n.Role == transfer.RoleDonor {
			r.began(n)
		}
	}
	r.notes = max(r.notes, len(notes)) // a file that cannot be read has none
	if len(notes) > 0 {
		switch last := notes[len(notes)-1]; {
		case !last.Running():
			r.giving = nil
		case last.Role == transfer.RoleDonor:
			r.endLostJoiner(last, time.Now())
		}
	}
	r.donation.See(r.run.Status, r.giving != nil, time.Now())
	r.measure()
}

// began notes a transfer that a script has begun to give.
func (r *Room) began(n transfer.Note) {
	given := maps.Clone(r.given) // reports hold the old one
	if given == nil {
		given = map[string]int64{}
	}
	given[n.Kind]++
	r.given = given
	r.giving = &agentapi.Giving{Kind: n.Kind, To: n.Host, Since: time.Now()}
	r.gave = r.giving
	r.measuredAt = time.Time{}
	r.loop.Logger.Info("giving a state transfer", "kind", n.Kind, "to", n.Host)
}

// measure lets a worker find out how large a full copy would be.
func (r *Room) measure() {
	if r.measuring || !r.run.Served || time.Since(r.measuredAt) < sizeLasts {
		return
	}
	r.measuring = true
	go func() {
		size := datadir.CopySize(r.places.Data)
		r.loop.Post(func() { r.measuring, r.measuredAt, r.bytes = false, time.Now(), size })
	}()
}

// endLostJoiner ends the script of a transfer this member gives when its joiner has gone without a word: its host has lost
// power, or the network swallows everything (sst.JoinerWatch). The script would wait until the kernel gives up, a quarter of an hour, or for ever
// while it has nothing to send; by rsync the member refuses all writes meanwhile. mariadbd goes on, and serves again.
//
// Only silence counts, not how far the copy comes: a joiner that is slow tells at least that it has no room, and one that
// lives judges that itself. It is none without a quorum, either: the group would never hear that the transfer has ended (sst.Donation),
// and no member can write.
func (r *Room) endLostJoiner(n transfer.Note, now time.Time) {
	h := &r.hearing
	if h.script != n.PID {
		*h = hearing{script: n.PID}
	}
	if r.config.Node == nil || now.Sub(h.at) < listenEvery {
		return
	}
	if h.ended {
		h.at = now
		procs.Kill(n.PID) // it has not heard
		return
	}
	answer, ok := r.answers(net.ParseIP(n.Host), transferPort)
	h.at = now
	silent := h.watch.See(now, sst.JoinerLook{Connected: ok && !r.run.WithoutQuorum(), Silent: answer.Silent, OwesACK: answer.Owed},
		r.config.Node.StateTransfer.Stall())
	if silent == 0 {
		return
	}
	h.ended = true
	r.loop.Logger.Warn("nothing comes from the joiner any more: ending the transfer to it", "kind", n.Kind, "to", n.Host,
		"silent", silent.Round(time.Second).String())
	procs.End(n.PID)
}

// Report tells of the transfer that is given, or was given last, and of the size of the data.
func (r *Room) Report(to *agentapi.Report) {
	if r.giving != nil {
		g := *r.giving
		to.Giving = &g
	} else if r.gave != nil {
		g := *r.gave
		to.Gave = &g
	}
	to.StuckDonor = r.donation.Stuck(r.run.Status, time.Now())
	to.Given, to.DataBytes = r.given, r.bytes
}
