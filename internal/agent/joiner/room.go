// Package joiner is the agent's room of a join: it notes by which transfer the state comes and from which donor, follows how far it
// has come, ends a transfer that stands still, and removes the note of the join once the state is complete and on the disk. The rules
// are package sst's.
package joiner

import (
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/config"
	"github.com/galera-operator/galera-operator/internal/agent/datadir"
	"github.com/galera-operator/galera-operator/internal/agent/examine"
	"github.com/galera-operator/galera-operator/internal/agent/image"
	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
	"github.com/galera-operator/galera-operator/internal/agent/peers"
	"github.com/galera-operator/galera-operator/internal/agent/platform/paths"
	"github.com/galera-operator/galera-operator/internal/agent/room"
	"github.com/galera-operator/galera-operator/internal/agent/running"
	"github.com/galera-operator/galera-operator/internal/agent/sst"
	"github.com/galera-operator/galera-operator/internal/agent/sst/transfer"
	"github.com/galera-operator/galera-operator/internal/agent/volume"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// showEvery is how often the numbers of a running transfer change in the report.
const showEvery = 10 * time.Second

// Rooms are those a join has to do with.
type Rooms struct {
	Run    *running.Room
	Group  *peers.Group
	Volume *volume.Volume
	Config *config.Room
	Image  *image.Image
	Exam   *examine.Room
}

// Room is the loop's.
type Room struct {
	Rooms
	// Join is the last join, nil before the first one.
	Join *agentapi.Join

	following

	loop    room.Loop
	places  paths.Places
	address string
	markers datadir.Markers
	// silence says for how long nothing has come over the connection of a port of ours.
	silence func(port uint16) (time.Duration, bool)
	events  Events
}

// Events are what the room tells the loop.
type Events struct {
	// Judge is called when the server may have become another one: the state it waited for is here.
	Judge func()
}

// following is what is known of the state transfer of one run.
type following struct {
	progress *sst.Progress // nil unless a full transfer is awaited or under way
	workers  *transfer.Workers
	looking  bool
	lookedAt time.Time
	// heardAt is when the connection the write-sets come over was looked at.
	heardAt time.Time
	ist     sst.ISTWatch
	// measuring says that the bytes that came are being added up, at the end.
	measuring bool
	// noting says that a look for a full copy, and its note, are on their way; known that the last one is over.
	noting, known bool
	// kept says that the copy is on the disk, keeping that it is on its way there.
	keeping, kept bool
	// completing says that the note of the join is being removed.
	completing bool
	shownAt    time.Time
	lag        lag   // the last one shown
	applied    int64 // the seqno it was shown at
	gifts      gifts
}

// New returns the room of the member at an address.
func New(loop room.Loop, places paths.Places, address string, silence func(port uint16) (time.Duration, bool), rooms Rooms, events Events) Room {
	return Room{Rooms: rooms, loop: loop, places: places, address: address, markers: datadir.Markers{Dir: places.State},
		silence: silence, events: events}
}

// Prepare begins a join, and returns its note, which the launch writes down first.
func (r *Room) Prepare() datadir.Joining {
	note := datadir.Joining{
		Method: r.Config.Node.StateTransfer.Method, Address: r.address, From: r.Exam.Found.Position, Since: time.Now(),
		Transfer: r.Exam.Found.Data != galera.DataPresent,
	}
	note.Marked = !note.Transfer && r.Exam.Found.Replaced()
	kind := agentapi.JoinIST
	if note.Transfer || note.Marked {
		kind = agentapi.JoinSST
	}
	r.Join = &agentapi.Join{Kind: kind, Phase: agentapi.JoinWaiting, StartedAt: time.Now()}
	r.following = following{gifts: gifts{to: r.address, before: givenBefore(r.address, r.Group.Views)}}
	return note
}

// None says that the next run is no join.
func (r *Room) None() { r.Join, r.following = nil, following{} }

// Exited ends a join whose server has ended, and returns its donor, "" when none is known.
func (r *Room) Exited() (donor string) {
	r.following = following{}
	if r.Join == nil {
		return ""
	}
	donor = r.Join.Donor
	if r.Join.EndedAt == nil {
		r.Join = nil // it never ended; the next one is another
	}
	return donor
}

// under says that a join is under way on a server that is not about to end.
func (r *Room) under() bool { return r.Run.Proc != nil && r.Run.Note != nil && !r.Run.Leaving() }

// donorTold is how long after a join its donor is asked for: a short one is over before the answers come.
const donorTold = 10 * time.Second

// FindDonor takes from the other members' answers who gives to this one, and how much there is.
func (r *Room) FindDonor() {
	j := r.Join
	if j == nil || j.EndedAt != nil && (j.Kind == agentapi.JoinNone || time.Since(*j.EndedAt) > donorTold) {
		return
	}
	if p, ok := r.gifts.last(r.Group.Views); ok {
		j.Donor = p.Name
		if r.Run.Note != nil && r.Run.Note.Transfer && r.gifts.toUs(p).Kind == agentapi.JoinSST {
			j.Total = max(j.Total, p.DataBytes)
		}
		return
	}
	if j.Donor == "" && j.EndedAt == nil {
		j.Donor = lifecycle.OnlyDonor(r.Group.Views)
	}
}

// InTransfer says that a state transfer is awaited or under way, which has its own rules about standing still.
func (r *Room) InTransfer() bool {
	n := r.Run.Note
	if n == nil {
		return false
	}
	copying := (n.Transfer || n.Marked) && (r.progress == nil || r.progress.Phase() != agentapi.JoinApplying)
	return copying || r.ist.Silent()
}

// Handshake notes the TLS of the copy that comes. That of one that goes is in its joiner's report.
func (r *Room) Handshake(protocol, cipher string) {
	j := r.Join
	if j == nil || j.EndedAt != nil || r.Run.Note == nil {
		return
	}
	if protocol != "" {
		j.Protocol = protocol
	}
	if cipher != "" {
		j.Cipher = cipher
	}
}

// Rejected ends a server that the group will never let in. It was lost to the group while its data came, and to the
// group it is a new node since; its own Galera goes on as if nothing had been, and waits for ever.
func (r *Room) Rejected() {
	if r.under() {
		r.end(&agentapi.Failure{Reason: agentapi.FailureTransfer, At: time.Now(), Message: "the group lost sight of the node " +
			"while its data came, and wants a new state transfer; this one is begun anew"})
	}
}

// end ends the run for its transfer.
func (r *Room) end(f *agentapi.Failure) {
	donor := ""
	if r.Join != nil {
		donor = r.Join.Donor
	}
	r.Run.EndTransfer(f, donor)
}

// Report tells of the last join.
func (r *Room) Report(to *agentapi.Report) {
	if r.Join != nil {
		j := *r.Join
		to.Join = &j
	}
}

// peerNewest is the newest write-set any other member of a history is known to hold, -1 when none is.
func peerNewest(views map[string]agentapi.PeerView, at galera.Position) int64 {
	newest := int64(-1)
	for _, p := range lifecycle.PrimaryPeers(views) {
		if p.Position.UUID == at.UUID {
			newest = max(newest, p.Position.Seqno)
		}
	}
	return newest
}
