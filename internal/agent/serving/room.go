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

	founding founding
	loop     room.Loop
	markers  datadir.Markers
	events   Events
}

// Events are what the room tells the loop.
type Events struct {
	// Judge is called when what the server waited for is there.
	Judge func()
}

// founding is what is left to do in a run that started the first component of a history.
type founding struct {
	// lining says that the first line is on its way into the book, lined that it is there; noting and born the same of the removal of
	// the initialisation's note.
	lining, lined, noting, born bool
}

// New returns the room.
func New(loop room.Loop, dir string, root mariadbd.Root, upgrade mariadbd.Upgrade, rooms Rooms, events Events) Room {
	return Room{Rooms: rooms, Root: root, Upgrade: upgrade, loop: loop, markers: datadir.Markers{Dir: dir}, events: events}
}

// Began is called for a new run.
func (r *Room) Began() { r.founding = founding{} }

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
			r.rootSet()
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

// LineTold says that what the server tells of its component may be passed on: a joiner takes over the lines it is told of.
func (r *Room) LineTold() bool {
	s := r.Run.Status
	return r.founding.lined || r.Run.Kind != agentapi.OrderInitialise || s == nil || s.Component != galera.ComponentPrimary || s.ClusterUUID == ""
}

// RecordFirstLine records the first line of a history that was initialised here, before any member is
// told that there is a component to join. It says whether that is done.
func (r *Room) RecordFirstLine() bool {
	if r.LineTold() {
		return true
	}
	f := &r.founding
	line := galera.FirstLine(galera.Line{Epoch: r.Run.Epoch, Start: galera.Position{UUID: r.Run.Status.ClusterUUID}})
	if line.Epoch <= r.Orders.Content().Lineage.Epoch {
		f.lined = true
	} else if !f.lining {
		f.lining = true
		proc := r.Run.Proc
		r.Orders.SetLineage(line, func(err error) {
			if r.Run.Proc != proc {
				return
			}
			f.lining, f.lined = false, err == nil
			if f.lined && r.Run.Status != nil {
				r.events.Judge()
			}
		})
	}
	return f.lined
}

// rootSet ends an initialisation, whose last part root's password is.
func (r *Room) rootSet() {
	if r.Run.Kind != agentapi.OrderInitialise || !r.Run.Served {
		return
	}
	if r.founding.born {
		if o := r.Orders.Current; o != nil && o.ID == r.Run.Order {
			r.Orders.Finish(o.ID, agentapi.OrderDone, r.Root.Problem())
		}
		return
	}
	if r.founding.noting {
		return
	}
	r.founding.noting = true
	proc := r.Run.Proc
	r.Volume.Do(r.markers.ClearInitialising, func(err error) {
		if r.Run.Proc != proc {
			return
		}
		r.founding.noting = false
		if err != nil {
			r.loop.Logger.Error("a note cannot be removed", "error", err)
			return
		}
		r.founding.born = true
		r.rootSet()
	})
}

// Busy implements handover.Part.
func (r *Room) Busy() string {
	f := r.founding
	if f.lining || f.noting || r.Run.Kind == agentapi.OrderInitialise && !f.born {
		return "the database is being initialised"
	}
	return cmp.Or(r.Root.Busy(), r.Upgrade.Busy())
}
