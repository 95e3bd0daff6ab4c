// Package serving is the agent's room of a member that serves: root's password, the system tables, certificates and settings that a
// running server takes over, and what is left to do after the first database has been made.
package serving

import (
	"cmp"

	"github.com/galera-operator/galera-operator/internal/agent/certs"
	"github.com/galera-operator/galera-operator/internal/agent/config"
	"github.com/galera-operator/galera-operator/internal/agent/datadir"
	"github.com/galera-operator/galera-operator/internal/agent/examine"
	"github.com/galera-operator/galera-operator/internal/agent/image"
	"github.com/galera-operator/galera-operator/internal/agent/mariadbd"
	"github.com/galera-operator/galera-operator/internal/agent/orders/ordering"
	"github.com/galera-operator/galera-operator/internal/agent/room"
	"github.com/galera-operator/galera-operator/internal/agent/running"
	"github.com/galera-operator/galera-operator/internal/agent/volume"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// Rooms are those a serving member has to do with.
type Rooms struct {
	Run    *running.Room
	Config *config.Room
	Certs  *certs.Room
	Exam   *examine.Room
	Image  *image.Image
	Orders *ordering.Room
	Volume *volume.Volume
}

// Room is the loop's.
type Room struct {
	Rooms
	Root    mariadbd.Root
	Upgrade mariadbd.Upgrade

	firstRun firstRun
	loop     room.Loop
	markers  datadir.Markers
	events   Events
}

// Events are what the room tells the loop.
type Events struct {
	// Judge is called when what the server waited for is there.
	Judge func()
}

// firstRun is the state of a run that started the first component of a history.
type firstRun struct {
	// lineRecording is true while the first line of history is written to the order book, lineRecorded once it is there;
	// markerRemoving and initialised are the same for the removal of the initialising marker.
	lineRecording, lineRecorded, markerRemoving, initialised bool
}

// New returns the room.
func New(loop room.Loop, dir string, root mariadbd.Root, upgrade mariadbd.Upgrade, rooms Rooms, events Events) Room {
	return Room{Rooms: rooms, Root: root, Upgrade: upgrade, loop: loop, markers: datadir.Markers{Dir: dir}, events: events}
}

// Began is called for a new run.
func (r *Room) Began() { r.firstRun = firstRun{} }

// Tick does what is to be done now and then.
func (r *Room) Tick() {
	r.LoadCertificates()
	r.CheckRoot()
	r.CheckUpgrade()
}

// CheckRoot keeps root's password what the Secret says. The member with index 0 does it for all: the change is replicated.
func (r *Room) CheckRoot() {
	r.Root.Look()
	if !r.Run.Serves() || r.Run.Status.Index != 0 || r.Run.Stopping {
		return
	}
	proc := r.Run.Proc
	r.Root.Check(func() {
		if r.Run.Proc == proc {
			r.finishInitialise()
		}
	})
}

// CheckUpgrade has the system tables upgraded where the server is of another series.
func (r *Room) CheckUpgrade() {
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

// LoadCertificates lets a running server load the installed pair.
func (r *Room) LoadCertificates() {
	if r.Run.Status != nil && !r.Run.Stopping {
		r.Certs.Reload(r.Run.Status.Component == galera.ComponentPrimary)
	}
}

// SetLive gives a server that serves the settings it can take over without a restart.
func (r *Room) SetLive() {
	if r.Run.Serves() {
		r.Config.SetLive()
	}
}

// MayReportComponent returns whether the report may name the component: a joiner takes over the lines of history it reads
// there.
func (r *Room) MayReportComponent() bool {
	s := r.Run.Status
	return r.firstRun.lineRecorded || r.Run.Kind != agentapi.OrderInitialise || s == nil || s.Component != galera.ComponentPrimary || s.ClusterUUID == ""
}

// RecordFirstLine records the first line of a history that was initialised here, before the report names a component to join.
// It returns whether that is done.
func (r *Room) RecordFirstLine() bool {
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
func (r *Room) finishInitialise() {
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
func (r *Room) Busy() string {
	f := r.firstRun
	if f.lineRecording || f.markerRemoving || r.Run.Kind == agentapi.OrderInitialise && !f.initialised {
		return "the database is being initialised"
	}
	return cmp.Or(r.Root.Busy(), r.Upgrade.Busy())
}
