package process

import (
	"cmp"
	"context"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/accounts"
	"github.com/galera-operator/galera-operator/internal/agent/certs"
	"github.com/galera-operator/galera-operator/internal/agent/config"
	"github.com/galera-operator/galera-operator/internal/datadir"
	"github.com/galera-operator/galera-operator/internal/eventloop"

	"github.com/galera-operator/galera-operator/internal/mariadbd"

	"github.com/galera-operator/galera-operator/internal/agent/orders"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// ownCheckInterval is how often the agent's own account is checked.
const ownCheckInterval = 10 * time.Second

// MaintainerDependencies are the components that a serving member uses.
type MaintainerDependencies struct {
	Run    *Supervisor
	Config *config.Manager
	Certs  *certs.Reloader
	Exam   *Examiner
	Image  *mariadbd.Image
	Orders *orders.Store
	Volume *datadir.Volume
}

// Maintainer is not safe for concurrent use; event loop only.
type Maintainer struct {
	MaintainerDependencies
	Root    accounts.RootKeeper
	Upgrade mariadbd.Upgrade
	Zones   mariadbd.Zones
	Aria    mariadbd.Aria

	firstRun firstRun
	own      own
	// scheduled are the server's events, blocked is the statement of the group's order that waits for a lock.
	scheduled reading[agentapi.Scheduled]
	blocked   reading[agentapi.Blocked]
	gate      Gate
	changing  bool // events are given another status
	loop      eventloop.Loop
	markers   datadir.Markers
	events    MaintainerEvents
}

// own is the state of the checks of the agent's own account.
type own struct {
	busy bool
	next time.Time
}

// MaintainerEvents are callbacks into the event loop.
type MaintainerEvents struct {
	// KeepOwn restores the agent's own account on the member's server, and returns what it restored; ForgetOwn ends that.
	KeepOwn   func(context.Context) (restored string, err error)
	ForgetOwn func()
	// Scheduling is about the server's events.
	Scheduling Scheduling
	// Blocked reads which statement of the group's order waits for a lock.
	Blocked func(context.Context) (*agentapi.Blocked, error)
	// Judge is called when what the server waited for is there.
	Judge func()
	// Refuses reports whether the server refuses writes because it follows another one, nil for never.
	Refuses func() bool
}

// firstRun is the state of a run that started the first component of a history.
type firstRun struct {
	// lineRecording is true while the first line of history is written to the order book, lineRecorded once it is there;
	// markerRemoving and initialised are the same for the removal of the initialising marker.
	lineRecording, lineRecorded, markerRemoving, initialised bool
}

// NewMaintainer returns a Maintainer for these components.
func NewMaintainer(loop eventloop.Loop, dir string, root accounts.RootKeeper, upgrade mariadbd.Upgrade,
	zones mariadbd.Zones, aria mariadbd.Aria, deps MaintainerDependencies, events MaintainerEvents) *Maintainer {
	r := &Maintainer{MaintainerDependencies: deps, Root: root, Upgrade: upgrade, Zones: zones, Aria: aria, loop: loop,
		markers: datadir.Markers{Dir: dir}, events: events}
	r.gate = r.scheduler(events.Scheduling)
	return r
}

// Began is called for a new run.
func (r *Maintainer) Began() {
	r.gate.Launched()
	r.firstRun = firstRun{}
	r.own.next = time.Time{}
	r.Zones.Began()
	r.Aria.Began()
	go r.events.ForgetOwn() // its connection was to the server before
}

// Tick does what is to be done now and then.
func (r *Maintainer) Tick() {
	r.LoadCertificates()
	r.checkOwn(time.Now())
	r.scheduled.check(r, time.Now(), "scheduled events", r.events.Scheduling.Read,
		func(read *agentapi.Scheduled) { r.gate.See(read.On) })
	r.CheckScheduler(time.Now())
	r.blocked.check(r, time.Now(), "locks", r.events.Blocked, func(*agentapi.Blocked) {})
	r.CheckRoot()
	r.CheckUpgrade()
	r.checkZones(time.Now())
	r.checkAria(time.Now())
}

// KeepSettings notes the settings of a server that serves for the first time: the member goes back to them when no
// server starts with others.
func (r *Maintainer) KeepSettings() {
	settings, changed := r.Config.Served()
	if !changed {
		return
	}
	r.Volume.Do(func() error { return r.markers.SetSettings(settings) }, func(err error) {
		if err != nil {
			r.loop.Logger.Warn("the settings could not be noted", "error", err)
		}
	})
}

// CheckRoot keeps root's password equal to the Secret's. The member with index 0 does it for all: the change is
// replicated.
func (r *Maintainer) CheckRoot() {
	r.Root.ReadPasswords()
	if !r.Run.Serves() || r.Run.Status.Index != 0 || r.Run.Stopping || r.Config.Node == nil {
		r.Root.Yield()
		return
	}
	proc := r.Run.Proc
	r.Root.Check(r.Config.Node.RootAccess, func() {
		if r.Run.Proc == proc {
			r.finishInitialise()
		}
	})
}

// checkOwn restores the agent's own account where an import has removed it: each member does so for itself. It begins
// with the first answer of a server, so that a session is open before anything can happen to the account.
func (r *Maintainer) checkOwn(now time.Time) {
	if r.Run.Proc == nil || r.Run.Stopping || r.own.busy || now.Before(r.own.next) {
		return
	}
	if r.Run.Status == nil && r.Run.LoginFailure() == nil {
		return
	}
	r.own.busy, r.own.next = true, now.Add(ownCheckInterval)
	go func() {
		restored, err := r.events.KeepOwn(context.Background())
		r.loop.Post(func() {
			r.own.busy = false
			switch {
			case err != nil:
				r.loop.Logger.Warn("the agent's own account could not be checked", "error", err)
			case restored != "":
				r.loop.Logger.Warn("own accounts were restored", "accounts", restored)
			}
		})
	}()
}

// CheckUpgrade has the system tables upgraded where the server is of another series.
func (r *Maintainer) CheckUpgrade() {
	if !r.Run.Serves() || !r.Run.Served || r.Run.Stopping {
		return
	}
	proc, to := r.Run.Proc, r.Image.ServerVersion
	made := datadir.Versions{Used: to, Tables: to}
	r.Upgrade.Check(mariadbd.Upgrading{From: r.Exam.Versions.Tables, To: to,
		Record:  func() error { return r.markers.SetVersions(made) },
		Done:    func() { r.Exam.Versions = made },
		Running: func() bool { return r.Run.Proc == proc && !r.Run.Stopping }})
}

// checkZones fills the tables of time zones again when the image has later zones. The member with index 0 does it for
// all, as with root's password, once its own system tables are of its server's series. While something else holds it up
// it keeps count of the attempts that have failed.
func (r *Maintainer) checkZones(now time.Time) {
	switch s := r.Run.Status; {
	case s != nil && (s.Component != galera.ComponentPrimary || s.Index != 0),
		r.events.Refuses != nil && r.events.Refuses(): // a follower's wsrep_mode refuses the Aria tables
		r.Zones.Yield()
	case r.systemTablesAreFree() && r.Aria.Busy() == "" && s.State == galera.NodeSynced:
		r.Zones.Check(now)
	}
}

// checkAria writes the system tables anew that are encrypted and should not be, or are not and should.
func (r *Maintainer) checkAria(now time.Time) {
	mode := r.Config.Running().Output.AtRest
	if mode != "" && r.systemTablesAreFree() && r.Zones.Busy() == "" {
		r.Aria.Check(now, mode == agentapi.ModeEncrypts)
	}
}

// systemTablesAreFree reports whether a member that serves has system tables of its server's series.
func (r *Maintainer) systemTablesAreFree() bool {
	return r.Run.Serves() && r.Run.Served && !r.Run.Stopping && r.Upgrade.Busy() == "" && r.Upgrade.Failure() == nil
}

// LoadCertificates lets a running server load the installed pair.
func (r *Maintainer) LoadCertificates() {
	if r.Run.Status != nil && !r.Run.Stopping {
		r.Certs.Reload(r.Run.Status.Component == galera.ComponentPrimary)
	}
}

// SetLive gives a server that serves the settings it can take over without a restart.
func (r *Maintainer) SetLive() {
	if r.Run.Serves() && !r.Run.Stopping {
		r.Config.SetLive()
	}
}

// MayReportComponent returns whether the report may name the component: a joiner takes over the lines of history it
// reads there.
func (r *Maintainer) MayReportComponent() bool {
	s := r.Run.Status
	return r.firstRun.lineRecorded || r.Run.Kind != agentapi.OrderInitialise || s == nil ||
		s.Component != galera.ComponentPrimary || s.ClusterUUID == ""
}

// RecordFirstLine records the first line of a history that was initialised here, before the report names a component to
// join. It returns whether that is done.
func (r *Maintainer) RecordFirstLine() bool {
	if r.MayReportComponent() {
		return true
	}
	f := &r.firstRun
	line := galera.FirstLine(r.Run.Line)
	line.Start = galera.Position{UUID: r.Run.Status.ClusterUUID}
	if line.Epoch <= r.Orders.Content().Lineage.Epoch {
		f.lineRecorded = true
	} else if !f.lineRecording {
		f.lineRecording = true
		proc := r.Run.Proc
		r.Orders.SetLineage(line, func(err error) {
			if r.Run.Proc != proc {
				return
			}
			f.lineRecording, f.lineRecorded = false, err == nil
			if f.lineRecorded && r.Run.Status != nil {
				r.events.Judge()
			}
		})
	}
	return f.lineRecorded
}

// finishInitialise ends an initialisation, whose last part is root's password.
func (r *Maintainer) finishInitialise() {
	if r.Run.Kind != agentapi.OrderInitialise || !r.Run.Served {
		return
	}
	if r.firstRun.initialised {
		if o := r.Orders.Current; o != nil && o.ID == r.Run.Order {
			r.Orders.Finish(o.ID, agentapi.OrderDone, r.Root.Problem())
		}
		return
	}
	if r.firstRun.markerRemoving {
		return
	}
	r.firstRun.markerRemoving = true
	proc := r.Run.Proc
	r.Volume.Do(r.markers.ClearInitialising, func(err error) {
		if r.Run.Proc != proc {
			return
		}
		r.firstRun.markerRemoving = false
		if err != nil {
			r.loop.Logger.Error("cannot remove the initialising marker", "error", err)
			return
		}
		r.firstRun.initialised = true
		r.finishInitialise()
	})
}

// Busy implements handover.Part.
func (r *Maintainer) Busy() string {
	f := r.firstRun
	if f.lineRecording || f.markerRemoving || r.Run.Kind == agentapi.OrderInitialise && !f.initialised {
		return "the database is being initialised"
	}
	if r.gate.Busy() {
		return "the event scheduler is being turned on or off"
	}
	return cmp.Or(r.Root.Busy(), r.Upgrade.Busy(), r.Zones.Busy(), r.Aria.Busy())
}
