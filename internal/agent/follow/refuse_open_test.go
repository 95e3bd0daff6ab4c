package follow

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/api"
	"github.com/galera-operator/galera-operator/internal/agent/process"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/eventloop"
	"github.com/galera-operator/galera-operator/internal/mariadbd"
	"github.com/galera-operator/galera-operator/internal/platform"
)

// slowToOpen is a server that takes its time to accept writes again.
type slowToOpen struct {
	*closable
	opens chan struct{}
}

func (s slowToOpen) SetReadOnly(ctx context.Context, on bool, mode string) error {
	if !on {
		<-s.opens
	}
	return s.closable.SetReadOnly(ctx, on, mode)
}

// slowToAnswer is a server whose second answer takes its time.
type slowToAnswer struct {
	*closable
	reads   *atomic.Int32
	answers chan struct{}
}

func (s slowToAnswer) Read(ctx context.Context) (*agentapi.Following, error) {
	if s.reads.Add(1) == 2 {
		<-s.answers
	}
	return s.closable.Read(ctx)
}

func newClosing(t *testing.T, s Server, refuse *bool, number *int64) (f *Follower, events chan func()) {
	events = make(chan func())
	return New(eventloop.Loop{Post: func(event func()) { events <- event }, Logger: slog.New(slog.DiscardHandler)},
		platform.Places{Run: t.TempDir()}, "n-0", s,
		Dependencies{Run: &process.Supervisor{Proc: &mariadbd.Process{}, Status: &agentapi.Server{}}, Group: &api.Peers{},
			Wanted:     func() (*agentapi.Follow, bool) { return nil, true },
			Superseded: func() (bool, bool) { return *refuse, true },
			Switching:  func() int64 { return *number },
			Primary:    func() string { return "n-0" },
			Published:  func() agentapi.Report { return agentapi.Report{} },
			Draining:   func() bool { return false },
			Mode:       func() string { return "" }}), events
}

// TestAskedBeforeItWasClosed: what a server answers that was asked before it was made read-only is void: where it ended
// may be from before that.
func TestAskedBeforeItWasClosed(t *testing.T) {
	s := slowToAnswer{&closable{t: t, logged: "0-1-7"}, new(atomic.Int32), make(chan struct{})}
	f, events := newClosing(t, s, new(true), new(int64(3)))
	f.Check(time.Now().Add(-time.Hour))
	(<-events)() // it accepts writes; it is asked again, and made read-only meanwhile
	(<-events)()
	close(s.answers)
	(<-events)()
	var r agentapi.Report
	if f.Report(&r); !s.readOnly || s.reads.Load() < 2 || r.Closed != (agentapi.Closed{}) {
		t.Errorf("%+v, %d", r.Closed, s.reads.Load())
	}
}

// TestOpeningIsNotClosed: a server that is still being opened after one change of sites is not closed for the next one.
func TestOpeningIsNotClosed(t *testing.T) {
	s := slowToOpen{&closable{t: t, logged: "0-1-7"}, make(chan struct{})}
	refuse, number := true, int64(1)
	f, events := newClosing(t, s, &refuse, &number)
	step := func() {
		f.next = time.Time{}
		f.Check(time.Now())
		for f.reading {
			(<-events)()
		}
	}
	for range 3 { // closed for the first one
		if step(); f.setting {
			(<-events)()
		}
	}
	if !s.readOnly {
		t.Fatal("not closed")
	}
	refuse, number = false, 0
	if step(); !f.setting {
		t.Fatal("it is not opened")
	}
	refuse, number = true, 2
	f.next = time.Time{}
	f.Check(time.Now())
	if f.reading {
		(<-events)()
	}
	var r agentapi.Report
	if f.Report(&r); r.Closed != (agentapi.Closed{}) {
		t.Errorf("it is about to accept writes, and reported as closed: %+v", r.Closed)
	}
	close(s.opens)
	(<-events)()
}
