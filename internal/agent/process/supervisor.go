package process

import (
	"context"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/api"
	"github.com/galera-operator/galera-operator/internal/agent/certs"
	"github.com/galera-operator/galera-operator/internal/agent/config"
	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
	"github.com/galera-operator/galera-operator/internal/agent/wsrep"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/datadir"
	"github.com/galera-operator/galera-operator/internal/eventloop"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/mariadbd"
	"github.com/galera-operator/galera-operator/internal/platform"
)

// maxMissedReadings failed readings of the status in a row mean that mariadbd does not answer.
const maxMissedReadings = 4

// endedTime is how long the report shows that a server has ended. View numbers begin anew with a component.
const endedTime = 30 * time.Second

// Run is the state of one run of mariadbd.
type Run struct {
	// Kind is Initialise, Bootstrap, or "" for a join; Order is the id of the order that started it, Line the first line
	// of a history that is initialised.
	Kind  agentapi.OrderKind
	Order string
	Line  galera.Line
	// Formed is the UUID that a bootstrap continues, From the position before a join.
	Formed string
	From   galera.Position
	Config config.Run
	Certs  certs.Run
	// Note is the joining marker, nil once the join is over.
	Note *datadir.Joining
	// Served reports whether it was Synced once, Stopping whether it was asked to stop, GivenUp whether the agent ended
	// it, MustTerminate whether it is a danger to the data.
	Served, Stopping, GivenUp, MustTerminate bool

	stopAt      time.Time // when mariadbd is killed if it has not stopped
	stopTimeout time.Duration
	hang        hanging
	giveUpSince time.Time // since when lifecycle.GiveUp has a reason to end it
}

// Leaving returns whether the run is about to end, whatever its status.
func (r *Run) Leaving() bool { return r.Stopping || r.MustTerminate }

// Supervisor is not safe for concurrent use; event loop only.
type Supervisor struct {
	Run // the present one; zero while none
	// Proc is the process, nil while there is none. Status is what it answered last, nil while it does not.
	Proc   *mariadbd.Process
	Status *agentapi.Server
	// Asked is when Status was asked for.
	Asked time.Time
	// Position is the last one known of the run.
	Position galera.Position
	View     wsrep.View
	Service  wsrep.Service
	Attempts lifecycle.Attempts
	// DownSince is the time of the last unclean exit of mariadbd, or of the agent's start: the mariadbd of an earlier
	// agent may have ended then.
	DownSince time.Time
	// EndedInOrder reports whether the last server of this agent was stopped in order, and no other one was started since.
	EndedInOrder bool

	ended *agentapi.Ended // the last run, when it ended without leaving its component
	notes *lastRun
	readings

	name   string
	take   func(mariadbd.Handed) (*mariadbd.Process, error)
	loop   eventloop.Loop
	conn   connCloser
	volume *datadir.Volume
	group  *api.Peers
	events SupervisorEvents
}

// connCloser closes client connections: each between two transactions, or all at once.
type connCloser interface {
	CloseIdle(ctx context.Context) error
	CloseAll(ctx context.Context) error
}

// SupervisorEvents are callbacks into the event loop.
type SupervisorEvents struct {
	// Changed is called when the server no longer answers.
	Changed func()
	// Line gets the lines of a server that another agent has started. Safe for concurrent use.
	Line func(line string)
}

// NewSupervisor returns the Supervisor of the member called name.
func NewSupervisor(loop eventloop.Loop, name, notes string, table *platform.ProcessTable, conn connCloser,
	volume *datadir.Volume,
	group *api.Peers, events SupervisorEvents) Supervisor {
	take := func(h mariadbd.Handed) (*mariadbd.Process, error) { return mariadbd.Take(table, h, events.Line) }
	last, ended := openLastRun(notes)
	return Supervisor{notes: last, ended: ended, name: name, take: take, loop: loop, conn: conn, volume: volume,
		group: group, events: events, DownSince: time.Now()}
}

// Began takes over a run whose process has just started.
func (r *Supervisor) Began(run Run, proc *mariadbd.Process) {
	r.Proc, r.Run, r.Position, r.EndedInOrder = proc, run, run.From, false
	r.hang = hanging{answeredAt: time.Now(), since: time.Now()}
	r.Status, r.readings = nil, readings{}
	r.View.Exited()
	r.notes.keep(nil, r.loop.Logger)
}

// HandleMissedReading counts a reading of the status that failed.
func (r *Supervisor) HandleMissedReading(err error) {
	r.failed(err, time.Now())
	if r.missed >= maxMissedReadings && r.Status != nil {
		r.Status = nil
		r.events.Changed()
	}
}

// HandleStatus takes a status that was asked for at a time, of a server of a version. first is true for the first one
// since mariadbd did not answer.
func (r *Supervisor) HandleStatus(asked time.Time, s wsrep.Status, version string) (first bool) {
	first = r.Status == nil
	r.readings, r.hang = readings{}, hanging{answeredAt: time.Now(), since: time.Now(), answered: true}
	next := s.Server
	next.StartedAt, next.Version = r.Proc.StartedAt, version
	next.Group = r.View.Members(next, asked)
	next.Members = nil
	for _, m := range next.Group {
		next.Members = append(next.Members, m.Name)
	}
	r.Status, r.Asked = &next, asked
	r.notes.keep(endedAs(r.Status, r.View.ID, r.Stopping), r.loop.Logger)
	r.watchService()
	if s.Position.UUID != "" && s.Position.UUID != galera.ZeroUUID && s.Position.Seqno >= 0 {
		r.Position = s.Position
	}
	return first
}

// watchService records when a running server stops accepting queries, and when it accepts them again.
func (r *Supervisor) watchService() {
	if !r.Stopping && r.Status.Component == galera.ComponentPrimary && r.Status.Ready {
		r.Service.Back()
		return
	}
	r.leaveService()
}

// leaveService records since when a member that was Synced does not serve.
func (r *Supervisor) leaveService() {
	if r.Served {
		r.Service.Leave()
	}
}

// Serves returns whether the server accepts writes.
func (r *Supervisor) Serves() bool { return lifecycle.Serves(r.Status) }

// WithoutQuorum returns whether the server reports that it is in no Primary component.
func (r *Supervisor) WithoutQuorum() bool {
	return r.Status != nil && r.Status.Component != galera.ComponentPrimary
}

// PID is the process's, 0 while there is none.
func (r *Supervisor) PID() int {
	if r.Proc == nil {
		return 0
	}
	return r.Proc.PID
}

// Exited is called when the process has ended. It returns the run, and how that ended.
func (r *Supervisor) Exited() (run Run, exit mariadbd.Exit, orderly bool) {
	r.leaveService()
	run, exit = r.Run, r.Proc.Exit()
	orderly = run.Stopping && exit.Code == 0 && exit.Signal == 0
	r.EndedInOrder = orderly
	r.ended = endedAs(r.Status, r.View.ID, orderly)
	r.notes.keep(nil, r.loop.Logger)
	if !orderly {
		r.DownSince = time.Now()
	}
	r.Proc, r.Status, r.Run, r.readings = nil, nil, Run{}, readings{}
	r.View.Exited()
	r.loop.Logger.Info("mariadbd has ended", "code", exit.Code, "signal", int(exit.Signal), "asked", run.Stopping)
	return run, exit, orderly
}

// endedAs names the node and the view for evs.evict; nil after a graceful leave, outside a Primary component, or when
// the status and the last view notification disagree. The node may have been in a later view, as the status follows
// applied write-sets; it has acknowledged nothing there.
func endedAs(s *agentapi.Server, notified int64, orderly bool) *agentapi.Ended {
	if orderly || s == nil || s.Component != galera.ComponentPrimary || s.NodeUUID == "" || notified != s.ViewID {
		return nil
	}
	return &agentapi.Ended{NodeUUID: s.NodeUUID, ViewID: s.ViewID}
}

// Report adds the process to the report, and for a while one that has ended.
func (r *Supervisor) Report(to *agentapi.Report) {
	to.Restarts = r.Attempts.Restarts
	if r.Proc != nil {
		to.Killed = r.Proc.Killed()
		to.Data, to.Position, to.SafeToBootstrap = galera.DataPresent, r.Position, false
		if incompleteAfterCrash(r.Note) {
			to.Data, to.Position = galera.DataIncomplete, galera.Position{}
		}
	} else if time.Since(r.DownSince) < endedTime {
		to.Ended = r.ended
	}
	r.Service.Report(to)
}

// incompleteAfterCrash returns whether the data directory would be Incomplete if mariadbd died now: an SST not yet
// synced to disk or, with rsync, any join while the joining marker is there. Only the donor of a join by rsync knows
// whether it overwrites files, and until it was asked the joiner must not count as a member with data.
func incompleteAfterCrash(n *datadir.Joining) bool {
	return n != nil && (n.SST || n.Method == config.Rsync)
}
