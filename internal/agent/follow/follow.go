// Package follow lets a member follow a source: it keeps clients from writing, and runs the channel where it is this
// member's task (lifecycle.ChannelFacts, lifecycle.FollowState).
package follow

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/api"
	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
	"github.com/galera-operator/galera-operator/internal/agent/process"
	"github.com/galera-operator/galera-operator/internal/agent/wsrep"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/eventloop"
	"github.com/galera-operator/galera-operator/internal/mariadbd"
	"github.com/galera-operator/galera-operator/internal/platform"
)

const (
	// readInterval is how often a server is asked, readEnding the same while the cluster is to stop following.
	readInterval = 3 * time.Second
	readEnding   = 200 * time.Millisecond
	// retryInterval is how long a channel that has stopped with an error is left alone.
	retryInterval = 10 * time.Second
)

// Names of the files in platform.Places.Source and SourceCA.
const (
	userFile     = "username"
	passwordFile = "password"
	caFile       = "ca.crt"
)

// Server is the running mariadbd, as this package uses it.
type Server interface {
	Open(ctx context.Context, from wsrep.Source) error
	Close(ctx context.Context) error
	Read(ctx context.Context) (*agentapi.Following, error)
	SetReadOnly(ctx context.Context, on bool, mode string) error
	// End returns what the server has in its binary log once everything is applied that its group has now.
	End(ctx context.Context) (position string, err error)
}

// Dependencies are what a Follower needs to know.
type Dependencies struct {
	Run   *process.Supervisor
	Group *api.Peers
	// Wanted is the source to follow, nil for none; known is false while there is no configuration.
	Wanted func() (source *agentapi.Follow, known bool)
	// Superseded reports whether clients are refused because another cluster has taken over.
	Superseded func() (refuse, known bool)
	// Switching returns agentapi.NodeConfig.Switching, 0 for none.
	Switching func() int64
	// Leased reports whether the server accepts writes only while the site's lease is renewed, which Guard knows.
	Leased func() (guarded, known bool)
	// LeaseUnwanted returns agentapi.NodeConfig.LeaseUnwanted, 0 also while there is no configuration.
	LeaseUnwanted func() int64
	Guard         *Guard
	// Primary returns the primary, as the operator reports it.
	Primary func() string
	// Draining reports whether the pod is to end, Published is the report that others read.
	Draining  func() bool
	Published func() agentapi.Report
	// Ask has the server asked for its status.
	Ask func()
	// Mode is the wsrep_mode of a server that accepts writes.
	Mode func() string
}

// Follower is not safe for concurrent use; event loop only.
type Follower struct {
	Dependencies
	server  Server
	places  platform.Places
	self    string
	loop    eventloop.Loop
	gate    process.Gate
	trials  trials
	outage  outage
	mark    mark
	closing closing
	// sources are those of a cluster that has several.
	sources sources

	// read is what the server answered last, nil while it is not known.
	read    *agentapi.Following
	reading bool
	next    time.Time
	setting bool
	// writable is the server that may accept writes: it was opened, or an agent before may have opened it.
	writable *mariadbd.Process
	// wanted is the end that was last decided for. Since shown the others can see that the source's last position is
	// shownFor. end is the position that the channel was opened up to, "" for none; fencing is when that was tried last.
	wanted, shownFor, end string
	shown, fencing        time.Time
	// failed is why the channel could not be started last, closed why the member does not accept writes yet.
	failed, closed string
	// diverged reports whether a person decides about that.
	diverged bool
	// stopped is since when the channel is stopped that should run.
	stopped time.Time
}

// New returns a Follower for the member called self.
func New(loop eventloop.Loop, places platform.Places, self string, server Server, deps Dependencies) *Follower {
	r := &Follower{Dependencies: deps, server: server, places: places, self: self, loop: loop,
		trials: openTrials(places.Run), mark: markIn(places.Run)}
	r.gate = process.NewGate(loop, deps.Run, deps.Group, process.Task{Name: "channel", Asked: r.asked,
		Published: func() string { return deps.Published().Channel }, StateOf: r.stateOf,
		Open: r.open(), Close: server.Close, Turned: func() { r.next = time.Time{} }})
	return r
}

// Began is called for a new run.
func (r *Follower) Began() {
	r.gate.Launched()
	r.read, r.next, r.stopped, r.fencing = nil, time.Time{}, time.Time{}, time.Time{}
	r.failed, r.closed, r.diverged, r.end, r.outage = "", "", false, "", outage{}
	r.sources.idle()
	r.warn(r.trials.began())
	// The lease may have been turned on after its options were made.
	if r.writable = r.Run.Proc; r.guarded() && r.Run.Config.Output.ReadOnly() {
		r.writable = nil
	}
}

// TakenOver is called after Began for a server that another agent has started: its channel may run.
func (r *Follower) TakenOver() {
	r.writable = r.Run.Proc
	if _, open := r.Guard.before(); !open {
		r.writable = nil
	}
	r.gate.TakenOver()
	r.closing.set(true) // that agent may have been about to have it accept writes
	r.warn(r.trials.takenOver(time.Now()))
}

// Exited is called when the server has ended, leaving when it was stopped: that is not the channel's doing.
func (r *Follower) Exited(leaving bool) {
	if leaving {
		r.warn(r.trials.closed())
	}
}

// LostPrimary is called when the server has left the Primary component, if only for a moment.
func (r *Follower) LostPrimary() {
	r.gate.LostPrimary()
	r.Check(time.Now())
}

// stateOf is the state of another member's channel. One that knows of another end is waited for: it may accept writes
// already, while this member does not know yet that the source has ended.
func (r *Follower) stateOf(v agentapi.PeerView) string {
	source, known := r.Wanted()
	if v.Channel == agentapi.TaskOff && (!known || source != nil && source.Until != v.ChannelUntil) {
		return ""
	}
	return v.Channel
}

// asked reports whether the channel is this member's task.
func (r *Follower) asked(unknown bool) bool {
	asked := r.task(unknown)
	if !asked {
		r.sources.idle()
	}
	return asked
}

// task is asked without what follows. A server that has applied everything runs no channel.
func (r *Follower) task(unknown bool) bool {
	source, known := r.Wanted()
	if !known {
		return unknown
	}
	if source == nil || r.Draining() {
		return false
	}
	end, stop := lifecycle.ChannelEnd(*source, time.Now())
	if stop || r.includes(end) {
		return false
	}
	if r.read == nil && (end != "" || several(source)) {
		// It may have applied everything: the source may have written since, for others. Or its channel may have been opened
		// with another source than the first.
		return unknown
	}
	if wait, _ := r.pause(time.Now()); wait > 0 && !r.gate.On() {
		return false
	}
	here, confirm := lifecycle.ChannelFacts{Self: r.self, Primary: r.Primary(), Server: r.Run.Status,
		Others: r.Group.Views,
		Runs:   r.gate.On()}.Here()
	if confirm {
		r.Group.Now()
	}
	return here
}

func (r *Follower) reached(source *agentapi.Follow) bool { return r.includes(source.Until) }

func (r *Follower) includes(position string) bool {
	return r.read != nil && lifecycle.Includes(r.read.Applied, position)
}

// fenced reports whether the channel applies nothing beyond the source's last position.
func (r *Follower) fenced(until string, now time.Time) bool {
	return until != "" && (r.gate.Reported(now) == agentapi.TaskOff || r.gate.On() && r.end == until)
}

// open returns what starts the channel. It reads the credentials each time: they may be replaced.
func (r *Follower) open() func(context.Context) error {
	return func(ctx context.Context) error {
		answer := make(chan *agentapi.Follow, 1)
		err, end, with := error(nil), "", agentapi.Endpoint{}
		r.loop.Post(func() {
			source, _ := r.Wanted()
			if source != nil && r.read != nil {
				err = r.trials.begin(r.read.Applied, time.Now())
			}
			if with = r.sources.at; several(source) {
				r.sources.opening(time.Now())
			}
			answer <- source
		})
		if source := <-answer; source != nil && err == nil {
			var from wsrep.Source
			if from, err = r.source(*source, with); err == nil {
				err = r.server.Open(ctx, from)
			}
			if err == nil { // otherwise the channel of before may go on
				end = from.Until
			}
		}
		r.loop.Post(func() {
			r.failed, r.end = "", end
			if err != nil && !r.sources.refuses(with, err) {
				r.failed = err.Error()
			}
		})
		return err
	}
}

// source is how the source is reached: with is the one of several.
func (r *Follower) source(s agentapi.Follow, with agentapi.Endpoint) (wsrep.Source, error) {
	end, _ := lifecycle.ChannelEnd(s, time.Now())
	out := wsrep.Source{Host: s.Host, Port: s.Port, Until: end,
		Ended: func(position string) bool { return lifecycle.Includes(position, end) }}
	if with.Host != "" {
		out.Host, out.Port, out.Lacks = with.Host, with.Port, lifecycle.Lacks
	}
	user, err := os.ReadFile(filepath.Join(r.places.Source, userFile))
	if err != nil {
		return out, fmt.Errorf("reading the credentials of the source: %w", err)
	}
	password, err := os.ReadFile(filepath.Join(r.places.Source, passwordFile))
	if err != nil {
		return out, fmt.Errorf("reading the credentials of the source: %w", err)
	}
	out.User, out.Password = strings.TrimSpace(string(user)), string(bytes.TrimRight(password, "\r\n"))
	if !s.Plain {
		out.CA = filepath.Join(r.places.SourceCA, caFile)
		if _, err := os.Stat(out.CA); err != nil {
			return out, fmt.Errorf("reading the CA of the source: %w", err)
		}
	}
	return out, nil
}

// Check takes the next steps.
func (r *Follower) Check(now time.Time) {
	keep(r)
	source, known := r.Wanted()
	if known && source == nil && !r.gate.On() {
		r.refuse(now) // a channel that a person has made is not the operator's
		return
	}
	r.ask(now, source)
	if known {
		r.choose(now, source)
	}
	r.gate.Check(now)
	if r.Run.Proc != nil && (r.Run.Leaving() || r.gate.Reported(now) == agentapi.TaskOff) {
		r.warn(r.trials.closed())
	}
	if !known || source == nil || r.read == nil || !r.Run.Serves() {
		return
	}
	r.fence(now, source)
	r.restart(now)
	if r.setting {
		return
	}
	f := lifecycle.FollowState{Until: source.Until, Ended: source.Ended, Applied: r.read.Applied,
		ReadOnly: r.read.ReadOnly, ChannelOff: r.gate.Reported(now) == agentapi.TaskOff, Refuse: r.refuses()}
	f.Unfenced, f.Known = lifecycle.Unfenced(r.self, r.Run.Status, r.Group.Views, source.Until)
	if r.shownFor != source.Until { // it may be where the channel is held already
		r.shownFor, r.shown = source.Until, time.Time{}
	}
	if r.shown.IsZero() && r.Published().ChannelUntil == source.Until {
		r.shown = now
	}
	f.Known = f.Known && !r.shown.IsZero() && r.Run.Asked.After(r.shown) // one that comes later sees that there is an end
	act := f.Next()
	r.closed, r.diverged = "", act == lifecycle.FollowDiverged
	switch act {
	case lifecycle.FollowDiverged:
		r.closed = fmt.Sprintf("this server has applied %s, and the last position is %s, which another server has written: "+
			"whether what is before that is here is not known", r.read.Applied, source.Until)
		r.failed, r.sources.refused = "", nil // no channel is opened
	case lifecycle.FollowAsk:
		r.closed = "everything is applied, and the other members are asked whether the channel ends there"
		if len(f.Unfenced) > 0 {
			r.closed = "everything is applied; whether the channel ends there is not known of " + strings.Join(f.Unfenced, ", ")
		}
		r.failed = "" // nothing is left to apply: a channel that could not be opened is not what it waits for
		r.sources.refused = nil
		r.Group.Now()
		if !f.Known && now.Sub(r.Run.Asked) >= readEnding {
			r.Ask()
		}
	case lifecycle.FollowStay:
	case lifecycle.FollowRefuse:
		r.setReadOnly(true)
	case lifecycle.FollowAccept:
		r.setReadOnly(false)
	}
}

// ask reads the server now and then.
func (r *Follower) ask(now time.Time, source *agentapi.Follow) {
	if r.Run.Proc == nil || r.Run.Status == nil {
		r.read, r.next = nil, time.Time{}
		return
	}
	if source == nil {
		source = &agentapi.Follow{}
	}
	end, stop := lifecycle.ChannelEnd(*source, now)
	if end != r.wanted { // what was read before may be seconds old
		r.wanted, r.read, r.next = end, nil, time.Time{}
	}
	if r.reading || r.setting || now.Before(r.next) {
		return
	}
	r.reading, r.next = true, now.Add(readInterval)
	if stop || end != "" && !r.includes(end) || r.closed != "" && !r.diverged {
		r.next = now.Add(readEnding)
	}
	proc, asked := r.Run.Proc, r.closing.question(r.switching())
	go func() {
		read, end, err := asked.read(r.server)
		r.loop.Post(func() {
			r.reading = false
			if r.Run.Proc != proc {
				return
			}
			r.read = read
			r.closing.see(asked, end)
			if err != nil { // a member that is not Primary answers no query
				r.read = nil
				return
			}
			r.warn(r.trials.read(read.Applied, time.Now()))
			r.outage.see(*read, time.Now())
			if r.gate.On() || !r.sources.lost.IsZero() {
				r.sources.see(read.Channel, time.Now())
			}
			r.gate.See(read.Channel != nil && read.Channel.Running)
			r.Check(time.Now())
		})
	}()
}

// fence opens a channel again that was opened up to another position.
func (r *Follower) fence(now time.Time, source *agentapi.Follow) {
	end, stop := lifecycle.ChannelEnd(*source, now)
	if stop || r.includes(end) || !r.gate.On() || r.end == end || now.Sub(r.fencing) < time.Second {
		return
	}
	r.fencing = now
	r.gate.Again()
}
