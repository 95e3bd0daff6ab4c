package follow

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/lease"
	"github.com/galera-operator/galera-operator/internal/mariadbd"
)

const (
	// guardInterval is how often a Guard compares the clock.
	guardInterval = 200 * time.Millisecond
	// settleTime is after how long it is no news that a server refuses writes, or accepts them: in that time all nodes of
	// a site have heard of a renewal, or have missed it.
	settleTime = 2 * lease.Every
)

// Guard is what the agent knows of the site's lease. It ends a server that could not be made read-only in time, also
// while the event loop is held up. It is safe for concurrent use; a nil Guard guards nothing.
type Guard struct {
	logger *slog.Logger
	// clock is that of all agents of this machine (platform.SinceBoot), run identifies this agent.
	clock func() time.Duration
	run   string

	mu    sync.Mutex
	state guardState
	// unwanted is not for a successor, which begins anew: it has to hear of another renewal.
	unwanted lease.Unwanted
	// grace is until when a server is left alone that accepts writes, counted from when the lease was found to be needed:
	// it gets the time to be made read-only.
	grace time.Duration
	// ended is what was reported last of a server that needs a lease, nil for none, and since when.
	ended      *bool
	endedSince time.Duration
	// open is the server that may accept writes, nil for none, or when no lease is needed for that.
	open atomic.Pointer[mariadbd.Process]
}

// guardState is what a successor has to know.
type guardState struct {
	Holder lease.Holder `json:"holder,omitzero"`
	// Needed is what the last known configuration has. Open reports whether the server may accept writes.
	Needed bool `json:"needed,omitempty"`
	Open   bool `json:"open,omitempty"`
}

// NewGuard returns the Guard of an agent, which run identifies.
func NewGuard(logger *slog.Logger, clock func() time.Duration, run string) *Guard {
	return &Guard{logger: logger, clock: clock, run: run}
}

// Renew takes an answer, and asks the next question.
func (g *Guard) Renew(a agentapi.LeaseAnswer) agentapi.LeaseQuestion {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.clock()
	run, text, _ := strings.Cut(a.Token, ":")
	asked, err := strconv.ParseInt(text, 10, 64)
	if err == nil && run == g.run && asked > 0 && time.Duration(asked) <= now {
		g.state.Holder.Hear(time.Duration(asked))
	}
	return agentapi.LeaseQuestion{Token: fmt.Sprintf("%s:%d", g.run, now)}
}

// Renewed returns how long ago the last question was asked that was answered. known is false where no lease is needed,
// or nothing was heard.
func (g *Guard) Renewed() (ago time.Duration, known bool) {
	if g == nil {
		return 0, false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.clock() - g.state.Holder.Asked, g.state.Needed && g.state.Holder.Known
}

// left is for how long the server may accept writes. ends reports whether it is to refuse them.
func (g *Guard) left() (left time.Duration, ends bool) {
	if g == nil {
		return lease.Valid, false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.clock()
	return g.state.Holder.Left(now), g.state.Holder.Ends(now)
}

// needed returns whether the server needs a lease. Of a configuration that is not known the last one counts: an agent
// that has replaced another one may not be able to read it for a while.
func (g *Guard) needed(now, known bool) bool {
	if g == nil {
		return now && known
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if known {
		if now && !g.state.Needed {
			g.grace = g.clock() + lease.Closing
		}
		g.state.Needed = now
	}
	return g.state.Needed
}

// read takes which time it is that the lease was turned off, 0 for a lease that is wanted.
func (g *Guard) read(unwanted int64) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.unwanted.Read(unwanted, g.clock())
}

// unwantedHeard is that number once a renewal counts that was asked for since it was read.
func (g *Guard) unwantedHeard() int64 {
	if g == nil {
		return 0
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.unwanted.Heard(g.state.Holder)
}

// watch has a server ended that accepts writes beyond the lease; nil for none.
func (g *Guard) watch(server *mariadbd.Process) {
	if g != nil {
		g.open.Store(server)
	}
}

// before returns what the agent before has known of its server: whether that needed a lease, and was open.
func (g *Guard) before() (needed, open bool) {
	if g == nil {
		return false, true
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.state.Needed, g.state.Open || !g.state.Needed
}

// settled reports whether a server that needs a lease has been to refuse writes, or not to, for some time.
func (g *Guard) settled(guarded, ended bool) bool {
	if g == nil {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case !guarded:
		g.ended = nil
	case g.ended == nil || *g.ended != ended:
		g.ended, g.endedSince = &ended, g.clock()
	default:
		return g.clock()-g.endedSince >= settleTime
	}
	return false
}

// overdue reports whether no server may accept writes any more.
func (g *Guard) overdue() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.clock()
	return g.state.Holder.Left(now) == 0 && now >= g.grace
}

// Run compares the clock until ctx ends.
func (g *Guard) Run(ctx context.Context) {
	tick := time.NewTicker(guardInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			g.enforce()
		case <-ctx.Done():
			return
		}
	}
}

func (g *Guard) enforce() {
	server := g.open.Load()
	if server == nil || !g.overdue() || server.Killed() {
		return
	}
	g.logger.Error("mariadbd could not be made read-only before the site's lease has ended: it is killed")
	server.Kill()
}

// Busy implements handover.Part.
func (g *Guard) Busy() string { return "" }

// Save implements handover.Keeper: a successor of this agent goes on with what is known.
func (g *Guard) Save() (state any, descriptors []int, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	out := g.state
	out.Open = g.open.Load() != nil
	return out, nil, nil
}

// Load implements handover.Keeper.
func (g *Guard) Load(data json.RawMessage) error {
	var before guardState
	if err := json.Unmarshal(data, &before); err != nil {
		return err
	}
	before.Open = before.Open || !before.Needed // without a lease nothing is kept of that
	g.mu.Lock()
	defer g.mu.Unlock()
	if h := g.state.Holder; h.Known { // a question of this agent was answered already
		before.Holder.Hear(h.Asked)
	}
	g.state = before
	return nil
}

// Inherit watches the server of the agent before, with a process number, by the state that one has saved: a successor
// may have to wait for its volume before it knows more of that server.
func (g *Guard) Inherit(state json.RawMessage, server int) error {
	if len(state) == 0 || server <= 0 {
		return nil
	}
	if err := g.Load(state); err != nil {
		return err
	}
	if needed, open := g.before(); needed && open {
		g.watch(&mariadbd.Process{PID: server})
	}
	return nil
}

// guarded reports whether the server accepts writes only while the lease is renewed.
func (d Dependencies) guarded() bool {
	if d.Leased == nil {
		return false
	}
	return d.Guard.needed(d.Leased())
}

// Ended reports whether the server is to refuse writes because the lease is not renewed.
func (d Dependencies) Ended() bool {
	_, ends := d.Guard.left()
	return d.guarded() && ends
}

// refuses reports whether the server is to refuse writes whatever was applied.
func (d Dependencies) refuses() bool { return d.superseded() || d.Ended() }

// keep closes a server that the lease does not cover any more, in whatever state that is. What a person has opened
// afterwards is closed as any server that refuses.
func keep(r *Follower) {
	if r.LeaseUnwanted != nil {
		r.Guard.read(r.LeaseUnwanted())
	}
	server, guarded, ended := r.Run.Proc, r.guarded(), r.Ended()
	if guarded && !ended && r.read != nil && !r.read.ReadOnly { // by a person, or since its start
		r.writable = server
	}
	if !guarded || server == nil || r.writable != server {
		r.Guard.watch(nil)
		return
	}
	r.Guard.watch(server)
	if ended && !r.setting {
		r.setReadOnly(true)
	}
}

// leaseReport is what is known of the lease, nil while nothing is.
func leaseReport(r *Follower) *agentapi.LeaseReport {
	left, _ := r.Guard.left()
	out := agentapi.LeaseReport{Guarded: r.guarded(), Heard: r.Guard != nil && left > 0, Ended: r.Ended()}
	out.Settled = r.Guard.settled(out.Guarded, out.Ended)
	out.UnwantedHeard = r.Guard.unwantedHeard()
	if out == (agentapi.LeaseReport{}) {
		return nil
	}
	return &out
}
