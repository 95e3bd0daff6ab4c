package follow

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/api"
	"github.com/galera-operator/galera-operator/internal/agent/config"
	"github.com/galera-operator/galera-operator/internal/agent/process"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/eventloop"
	"github.com/galera-operator/galera-operator/internal/lease"
	"github.com/galera-operator/galera-operator/internal/mariadbd"
	"github.com/galera-operator/galera-operator/internal/platform"
)

// leased is a member with a lease, and its clock.
type leased struct {
	t      *testing.T
	s      *closable
	run    *process.Supervisor
	places platform.Places
	events chan func()
	now    time.Duration
	guard  *Guard
	f      *Follower
	// wanted is what the configuration has, stuck a server that is not made read-only.
	wanted, stuck bool
	// unread is a configuration that cannot be read.
	unread bool
	// unwanted is which time it is that the lease was turned off, 0 for a wanted one.
	unwanted int64
}

func newLeased(t *testing.T) *leased {
	l := &leased{t: t, s: &closable{t: t}, run: &process.Supervisor{Status: &agentapi.Server{}}, wanted: true,
		places: platform.Places{Run: t.TempDir()}, events: make(chan func()), now: time.Hour}
	l.agent("a")
	return l
}

// stuckable is the member's server.
type stuckable struct {
	*closable
	l *leased
}

// SetReadOnly implements Server.
func (s stuckable) SetReadOnly(ctx context.Context, on bool, mode string) error {
	if s.l.stuck && on {
		return errors.New("a statement runs")
	}
	return s.closable.SetReadOnly(ctx, on, mode)
}

func (l *leased) agent(run string) {
	l.guard = NewGuard(slog.New(slog.DiscardHandler), func() time.Duration { return l.now }, run)
	loop := eventloop.Loop{Post: func(event func()) { l.events <- event }, Logger: slog.New(slog.DiscardHandler)}
	l.f = New(loop, l.places, "n-0", stuckable{l.s, l}, Dependencies{Run: l.run, Group: &api.Peers{},
		Wanted:        func() (*agentapi.Follow, bool) { return nil, true },
		Leased:        func() (bool, bool) { return l.wanted && !l.unread, !l.unread },
		LeaseUnwanted: func() int64 { return l.unwanted },
		Guard:         l.guard,
		Primary:       func() string { return "n-0" },
		Published:     func() agentapi.Report { return agentapi.Report{} },
		Draining:      func() bool { return false },
		Mode: func() string {
			if l.unread {
				l.t.Error("a configuration that is not known is used")
			}
			return ""
		}})
}

// handOver has another agent go on with what the one before has saved, which it returns.
func (l *leased) handOver(run string) json.RawMessage {
	l.t.Helper()
	state, _, err := l.guard.Save()
	if err != nil {
		l.t.Fatal(err)
	}
	text, err := json.Marshal(state)
	if err != nil {
		l.t.Fatal(err)
	}
	l.agent(run)
	if err := l.guard.Load(text); err != nil {
		l.t.Fatal(err)
	}
	return text
}

// launch starts a server that is no process of this test: its options have it read-only if a lease is wanted.
func (l *leased) launch() {
	l.run.Proc = &mariadbd.Process{}
	l.options()
	l.f.Began()
}

// options are those that a server is started with now.
func (l *leased) options() {
	l.s.readOnly = l.wanted
	l.run.Config.Output = config.Build(config.Input{Config: agentapi.NodeConfig{Lease: l.wanted}})
}

// process is a server that can be killed. Nothing is known of it yet.
func (l *leased) process() *mariadbd.Process {
	l.t.Helper()
	p, err := mariadbd.Start(&platform.ProcessTable{}, mariadbd.Command{Path: "/bin/sleep", Args: []string{"600"},
		Log: func(string) {}})
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(p.Kill)
	l.run.Proc = p
	return p
}

// renew answers a question that the agent has asked a while ago.
func (l *leased) renew(ago time.Duration) {
	l.now -= ago
	q := l.guard.Renew(agentapi.LeaseAnswer{})
	l.now += ago
	l.guard.Renew(agentapi.LeaseAnswer(q))
}

// settle lets the agent ask and set until it has nothing to do, and returns what it reports.
func (l *leased) settle() *agentapi.LeaseReport {
	l.f.next = time.Time{}
	for l.f.Check(time.Now()); l.f.reading || l.f.setting; {
		(<-l.events)()
		if l.stuck {
			break
		}
	}
	var r agentapi.Report
	l.f.Report(&r)
	return r.Lease
}

// TestLease: a server accepts writes only while the lease is renewed, from its start, and whatever its state is when
// the lease ends. Without a lease it accepts them from then on.
func TestLease(t *testing.T) {
	l := newLeased(t)
	l.launch()
	if r := l.settle(); !l.s.readOnly || r == nil || *r != (agentapi.LeaseReport{Guarded: true, Ended: true}) {
		t.Errorf("nothing was heard: %+v, %+v", l.s, r)
	}
	l.renew(0)
	if r := l.settle(); l.s.readOnly || r == nil || *r != (agentapi.LeaseReport{Guarded: true, Heard: true}) {
		t.Errorf("a renewal was heard: %+v, %+v", l.s, r)
	}
	l.now += lease.Valid - lease.Valid/20 - lease.Closing - 1
	if l.settle(); l.s.readOnly {
		t.Error("closed too early")
	}
	l.s.away = true // it is not Primary: no query is answered
	l.settle()
	l.now++
	if r := l.settle(); !l.s.readOnly || r == nil || !r.Ended || !r.Heard || l.guard.open.Load() != nil {
		t.Errorf("the lease ends: %+v, %+v", l.s, r)
	}
	l.now += time.Hour
	l.s.away = false
	if r := l.settle(); !l.s.readOnly || r == nil || r.Heard {
		t.Errorf("the lease has ended: %+v, %+v", l.s, r)
	}
	l.renew(lease.Valid)
	if l.settle(); !l.s.readOnly {
		t.Error("an old renewal opens it")
	}
	l.renew(time.Second)
	if l.settle(); l.s.readOnly {
		t.Error("a renewal does not open it")
	}
	l.launch()
	if l.settle(); l.s.readOnly {
		t.Error("the next server stays closed")
	}
	l.launch()
	l.s.readOnly = false // a server that was started with the options of before
	if l.settle(); l.guard.open.Load() != l.run.Proc {
		t.Error("a server that accepts writes is not watched")
	}
	l.now += time.Hour
	if l.settle(); !l.s.readOnly {
		t.Error("the lease has ended once more")
	}
	l.wanted = false
	if r := l.settle(); l.s.readOnly || r != nil {
		t.Errorf("no lease is wanted any more: %+v, %+v", l.s, r)
	}
}

// TestLeaseOfAnotherAgent: a successor goes on with what its predecessor knows, and does not believe an answer to that
// one's question.
func TestLeaseOfAnotherAgent(t *testing.T) {
	l := newLeased(t)
	l.launch()
	l.renew(0)
	l.settle()
	l.now += 10 * time.Second
	l.handOver("b")
	l.unread = true // for good, or while the server is asked whether it takes the settings
	l.f.TakenOver()
	if r := l.settle(); r == nil || !r.Heard || r.Ended || l.s.readOnly {
		t.Errorf("%+v, %+v", r, l.s)
	}
	l.s.away = true
	l.settle()
	l.now += lease.Valid
	if l.settle(); !l.s.readOnly {
		t.Error("a server that was taken over stays open")
	}
	text := l.handOver("closed")
	l.stuck = true
	l.f.TakenOver()
	if l.settle(); l.guard.open.Load() != nil {
		t.Error("a server that was taken over read-only is about to be killed")
	}
	l.unread, l.stuck = false, false
	l.renew(0) // before it has loaded what the one before has known
	if err := l.guard.Load(text); err != nil {
		t.Fatal(err)
	}
	if left, _ := l.guard.left(); left == 0 {
		t.Error("what was heard is forgotten")
	}
	q := l.guard.Renew(agentapi.LeaseAnswer{})
	l.agent("c")
	l.guard.Renew(agentapi.LeaseAnswer(q))
	if left, _ := l.guard.left(); left != 0 {
		t.Errorf("%s are left by an answer to another one's question", left)
	}
}

// TestLeaseSettles: that a server refuses writes, or accepts them, is no news after a while. When the lease was renewed
// is known.
func TestLeaseSettles(t *testing.T) {
	l := newLeased(t)
	l.launch()
	settled := func(want bool) {
		t.Helper()
		if r := l.settle(); r == nil || r.Settled != want {
			t.Errorf("%+v", r)
		}
	}
	settled(false)
	if _, known := l.guard.Renewed(); known {
		t.Error("renewed, though nothing was heard")
	}
	l.now += settleTime - 1
	settled(false)
	l.now++
	settled(true)
	l.renew(0)
	settled(false)
	l.now += settleTime
	settled(true)
	if ago, known := l.guard.Renewed(); ago != settleTime || !known {
		t.Errorf("renewed %s ago: %v", ago, known)
	}
	l.wanted = false
	settled(false)
	if _, known := l.guard.Renewed(); known {
		t.Error("a lease that is not needed is reported")
	}
	l.wanted = true
	settled(false)
}
