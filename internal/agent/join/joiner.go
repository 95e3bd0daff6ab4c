package join

import (
	"strings"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/api"
	"github.com/galera-operator/galera-operator/internal/agent/config"
	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
	"github.com/galera-operator/galera-operator/internal/agent/process"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/datadir"
	"github.com/galera-operator/galera-operator/internal/eventloop"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/mariadbd"
	"github.com/galera-operator/galera-operator/internal/platform"
)

// reportInterval is how often the numbers of a running transfer change in the report.
const reportInterval = 10 * time.Second

// Dependencies are the components that a join uses.
type Dependencies struct {
	Run    *process.Supervisor
	Group  *api.Peers
	Volume *datadir.Volume
	Config *config.Manager
	Image  *mariadbd.Image
	Exam   *process.Examiner
}

// JoinerTracker is not safe for concurrent use; event loop only.
type JoinerTracker struct {
	Dependencies
	// Join is the last join, nil before the first one.
	Join *agentapi.Join

	following
	// failed finds the donor of the join that ended last.
	failed donorReports

	loop    eventloop.Loop
	places  platform.Places
	address string
	markers datadir.Markers
	// silence returns how long nothing was received on any established connection to a local port.
	silence func(port uint16) (time.Duration, bool)
	events  Events
}

// Events are callbacks into the event loop.
type Events struct {
	// Judge is called when the server may have become another one: the state it waited for is here.
	Judge func()
	// Copied is called from another goroutine, once an SST is complete and before that is recorded. It returns an error
	// when it has to be called again.
	Copied func() error
	// Unproved is called likewise at the end of a join without an SST, where one by rsync would have left no trace, and no
	// donor has reported the write-sets that have come.
	Unproved func() error
}

// following is the state of the transfer of one run.
type following struct {
	progress   *lifecycle.SSTProgress // nil unless an SST is awaited or running
	workers    *config.TransferWorkers
	observing  bool
	observedAt time.Time
	// istObservedAt is when the IST connection was last observed.
	istObservedAt time.Time
	ist           lifecycle.ISTWatch
	// measuring is true while the received bytes are added up, at the end.
	measuring bool
	// recording is true while a check for an SST, and its record in the marker, are in progress; known once the last one
	// is over.
	recording, known bool
	// synced is true once the SST is synced to disk, syncing from the start of that.
	syncing, synced bool
	// completing is true while the joining marker is being removed.
	completing bool
	shownAt    time.Time
	lag        lag   // the last one shown
	applied    int64 // the seqno it was shown at
	reports    donorReports
}

// NewJoinerTracker returns the Tracker of the member at an address.
func NewJoinerTracker(loop eventloop.Loop, places platform.Places, address string,
	silence func(port uint16) (time.Duration, bool),
	deps Dependencies, events Events) JoinerTracker {
	return JoinerTracker{Dependencies: deps, loop: loop, places: places, address: address,
		markers: datadir.Markers{Dir: places.State},
		silence: silence, events: events}
}

// Prepare begins a join, and returns its marker, which the launch writes first.
func (r *JoinerTracker) Prepare() datadir.Joining {
	note := datadir.Joining{
		Method: r.Config.Node.StateTransfer.Method, Address: r.address, From: r.Exam.Found.Position, Since: time.Now(),
		SST: r.Exam.Found.Data != galera.DataPresent,
	}
	note.Marked = !note.SST && r.Exam.Found.Replaced()
	kind := agentapi.JoinIST
	if note.SST || note.Marked {
		kind = agentapi.JoinSST
	}
	r.Join = &agentapi.Join{Kind: kind, Phase: agentapi.JoinWaiting, StartedAt: time.Now()}
	earlier := earlierTransfers(r.address, r.Group.Views)
	r.following, r.failed.next = following{reports: donorReports{to: r.address, earlier: earlier}}, earlier
	return note
}

// Clear forgets the last join: the next mariadbd is started by Bootstrap or Initialise.
func (r *JoinerTracker) Clear() { r.Join, r.following = nil, following{} }

// Exited ends a join whose server has ended, and returns its donor, "" when none is known.
func (r *JoinerTracker) Exited() (donor string) {
	r.failed, r.following = r.reports, following{}
	if r.Join == nil {
		return ""
	}
	donor = r.Join.Donor
	if r.Join.EndedAt == nil {
		r.Join = nil // it never ended; the next one is another
	}
	return donor
}

// inProgress reports whether a join is in progress on a server that is not about to end.
func inProgress(run *process.Supervisor) bool {
	return run.Proc != nil && run.Note != nil && !run.Leaving()
}

// donorLookupTimeout is how long after the end of a join its donor is still looked up: a short transfer ends before the
// other agents answer.
const donorLookupTimeout = 10 * time.Second

// FindDonor finds the donor and the size of its data in the other members' reports, and why the last transfer failed.
func (r *JoinerTracker) FindDonor() {
	r.Run.Attempts.Failure = explained(r.Run.Attempts.Failure, r.failed, r.Group.Views)
	j := r.Join
	if j == nil || j.EndedAt != nil && (j.Kind == agentapi.JoinNone || time.Since(*j.EndedAt) > donorLookupTimeout) {
		return
	}
	if p, ok := r.reports.last(r.Group.Views); ok {
		j.Donor = p.Name
		if r.Run.Note != nil && r.Run.Note.SST && r.reports.transferToUs(p).Kind == agentapi.JoinSST {
			j.Total = max(j.Total, p.DataBytes)
		}
		return
	}
	if j.Donor == "" && j.EndedAt == nil {
		j.Donor = lifecycle.OnlyDonor(r.Group.Views)
	}
}

// explained adds to the failure of a transfer why its donor's backup failed. The joiner sees no more than the end of a
// stream, and the donor reports the reason after that.
func explained(f *agentapi.Failure, d donorReports, views map[string]agentapi.PeerView) *agentapi.Failure {
	if f == nil || f.Reason != agentapi.FailureTransfer && f.Reason != agentapi.FailureDonorLost {
		return f
	}
	p, ok := d.last(views)
	if !ok {
		return f
	}
	why := d.transferToUs(p).Failure
	if why == "" || strings.Contains(f.Message, why) {
		return f
	}
	out := *f
	out.Reason, out.Message = agentapi.FailureTransfer, f.Message+"; the backup of "+p.Name+" failed: "+why
	return &out
}

// InTransfer returns whether a state transfer is awaited or running. It has its own stall rules (package lifecycle).
func (r *JoinerTracker) InTransfer() bool {
	n := r.Run.Note
	if n == nil {
		return false
	}
	copying := (n.SST || n.Marked) && (r.progress == nil || r.progress.Phase() != agentapi.JoinApplying)
	return copying || r.ist.Silent()
}

// Handshake records the TLS of the received state transfer. That of one this member sends is in its joiner's report.
func (r *JoinerTracker) Handshake(protocol, cipher string) {
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

// Rejected kills mariadbd when the group rejects its JOIN message. The group had dropped it during the state transfer
// and counts it as a new node since; its own Galera has not noticed, and would wait forever.
func (r *JoinerTracker) Rejected() {
	if inProgress(r.Run) {
		r.endTransfer(&agentapi.Failure{Reason: agentapi.FailureTransfer, At: time.Now(),
			Message: "the group dropped this node during " +
				"its state transfer and rejects its JOIN message; a new state transfer is started"})
	}
}

// endTransfer ends the run for its transfer.
func (r *JoinerTracker) endTransfer(f *agentapi.Failure) {
	donor := ""
	if r.Join != nil {
		donor = r.Join.Donor
	}
	r.Run.EndTransfer(f, donor)
}

// Report adds the last join to the report.
func (r *JoinerTracker) Report(to *agentapi.Report) {
	if r.Join != nil {
		j := *r.Join
		to.Join = &j
	}
}

// peerNewest is the highest seqno of the history that another Primary member reports, -1 without one.
func peerNewest(views map[string]agentapi.PeerView, at galera.Position) int64 {
	newest := int64(-1)
	for _, p := range lifecycle.PrimaryPeers(views) {
		if p.Position.UUID == at.UUID {
			newest = max(newest, p.Position.Seqno)
		}
	}
	return newest
}
