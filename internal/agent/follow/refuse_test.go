package follow

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/api"
	"github.com/galera-operator/galera-operator/internal/agent/process"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/eventloop"
	"github.com/galera-operator/galera-operator/internal/mariadbd"
	"github.com/galera-operator/galera-operator/internal/platform"
)

// closable is a server of a cluster that follows nothing. A person has made a channel on it.
type closable struct {
	Server
	t        *testing.T
	mu       sync.Mutex
	readOnly bool
	logged   string
	away     bool
	behind   bool // it has something to apply
	fails    bool // to be set
	sets     int
}

func (s *closable) Read(context.Context) (*agentapi.Following, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away {
		return nil, errors.New("not Primary")
	}
	return &agentapi.Following{ReadOnly: s.readOnly, Channel: &agentapi.ChannelState{Running: true}}, nil
}

func (s *closable) End(context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.behind {
		return "", context.DeadlineExceeded
	}
	return s.logged, nil
}

func (s *closable) SetReadOnly(_ context.Context, on bool, _ string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fails {
		return context.DeadlineExceeded
	}
	s.readOnly = on
	s.sets++
	return nil
}

func (s *closable) Close(context.Context) error {
	s.t.Error("the channel of a person is ended")
	return nil
}

// TestSuperseded: a server refuses writes while another cluster has taken over, and accepts them afterwards, also by
// the next agent. What a person has set read-only, and a person's channel, stay as they are.
func TestSuperseded(t *testing.T) {
	s := &closable{t: t}
	refuse, known := false, true
	places := platform.Places{Run: t.TempDir()}
	var f *Follower
	events := make(chan func())
	begin := func() {
		run := &process.Supervisor{Proc: &mariadbd.Process{}, Status: &agentapi.Server{}}
		loop := eventloop.Loop{Post: func(event func()) { events <- event }, Logger: slog.New(slog.DiscardHandler)}
		f = New(loop, places, "n-0", s,
			Dependencies{Run: run, Group: &api.Peers{},
				Wanted:     func() (*agentapi.Follow, bool) { return nil, known },
				Superseded: func() (bool, bool) { return refuse, known },
				Primary:    func() string { return "n-0" },
				Published:  func() agentapi.Report { return agentapi.Report{} },
				Draining:   func() bool { return false },
				Mode:       func() string { return "" }})
		f.TakenOver()
	}
	// settle lets the agent ask and set until it has nothing to do.
	settle := func() (refuses bool) {
		f.next = time.Time{}
		for f.Check(time.Now()); f.reading || f.setting; {
			(<-events)()
		}
		var r agentapi.Report
		f.Report(&r)
		return r.Refuses
	}
	begin()
	s.readOnly = true // by a person
	if settle() || !s.readOnly || s.sets > 0 {
		t.Errorf("nothing has happened: %+v", s)
	}
	s.readOnly, refuse = false, true
	if !settle() || !s.readOnly {
		t.Errorf("superseded: %+v", s)
	}
	s.readOnly = false // by a person
	if !settle() || !s.readOnly {
		t.Errorf("opened by hand: %+v", s)
	}
	s.away = true
	if settle() {
		t.Error("a server that does not answer is not known to refuse")
	}
	s.away = false
	begin() // the agent is replaced
	if known = false; !f.Refuses() {
		t.Error("the agent writes to a server that was made read-only, as it cannot read why")
	}
	known = true
	if refuse = false; settle() || s.readOnly {
		t.Errorf("overruled: %+v", s)
	}
	settle()
	begin()
	s.readOnly, s.sets = true, 0 // by a person
	if settle(); !s.readOnly || s.sets > 0 {
		t.Errorf("afterwards: %+v", s)
	}
	if known = false; f.Refuses() {
		t.Error("the agent has not made it read-only")
	}
}

// TestOverruledBeforeTheServerAnswers: a server that was started read-only, because another cluster has taken over,
// accepts writes if that is overruled before it has answered for the first time. The pod, and its files, are new.
func TestOverruledBeforeTheServerAnswers(t *testing.T) {
	s := &closable{t: t, readOnly: true} // by its options
	refuse := true
	run := &process.Supervisor{}
	events := make(chan func())
	f := New(eventloop.Loop{Post: func(event func()) { events <- event }, Logger: slog.New(slog.DiscardHandler)},
		platform.Places{Run: t.TempDir()}, "n-0", s,
		Dependencies{Run: run, Group: &api.Peers{},
			Wanted:     func() (*agentapi.Follow, bool) { return nil, true },
			Superseded: func() (bool, bool) { return refuse, true },
			Primary:    func() string { return "n-0" },
			Published:  func() agentapi.Report { return agentapi.Report{} },
			Draining:   func() bool { return false },
			Mode:       func() string { return "" }})
	f.Began()
	f.Check(time.Now())
	refuse = false
	run.Proc, run.Status = &mariadbd.Process{}, &agentapi.Server{}
	for f.Check(time.Now()); f.reading || f.setting; {
		(<-events)()
	}
	if s.readOnly {
		t.Error("it stays read-only for good")
	}
}

// TestWhereItEnds: where a server ends is what it answers after it was seen to refuse writes, and when the agent knew
// for which change of sites.
func TestWhereItEnds(t *testing.T) {
	s := &closable{t: t, logged: "0-1-7"}
	refuse, number := false, int64(0)
	run := &process.Supervisor{Proc: &mariadbd.Process{}, Status: &agentapi.Server{}}
	events := make(chan func())
	f := New(eventloop.Loop{Post: func(event func()) { events <- event }, Logger: slog.New(slog.DiscardHandler)},
		platform.Places{Run: t.TempDir()}, "n-0", s,
		Dependencies{Run: run, Group: &api.Peers{},
			Wanted:     func() (*agentapi.Follow, bool) { return nil, true },
			Superseded: func() (bool, bool) { return refuse, true },
			Switching:  func() int64 { return number },
			Primary:    func() string { return "n-0" },
			Published:  func() agentapi.Report { return agentapi.Report{} },
			Draining:   func() bool { return false },
			Mode:       func() string { return "" }})
	report := func() agentapi.Closed {
		var r agentapi.Report
		f.Report(&r)
		return r.Closed
	}
	ask := func(want agentapi.Closed) {
		t.Helper()
		f.next = time.Time{}
		for f.Check(time.Now()); f.reading || f.setting; {
			(<-events)()
		}
		if have := report(); have != want {
			t.Errorf("%+v instead of %+v", have, want)
		}
	}
	ask(agentapi.Closed{})
	refuse, number = true, 3
	f.next = time.Time{}
	f.Check(time.Now())
	(<-events)() // it was asked while it accepted writes
	s.logged = "0-1-8"
	(<-events)() // and made read-only
	if have := report(); have != (agentapi.Closed{}) {
		t.Errorf("not asked again: %+v", have)
	}
	ask(agentapi.Closed{By: 3, Position: "0-1-8"})
	number = 4
	if have := report(); have != (agentapi.Closed{}) {
		t.Errorf("for another one: %+v", have)
	}
	s.logged = "0-1-9"
	ask(agentapi.Closed{By: 4, Position: "0-1-9"})
	s.behind = true
	ask(agentapi.Closed{})
	s.behind = false
	ask(agentapi.Closed{By: 4, Position: "0-1-9"})
	s.away = true
	ask(agentapi.Closed{})
	s.away, refuse, number = false, false, 0
	for s.fails = true; !f.setting; f.Check(time.Now()) {
		if f.next = (time.Time{}); f.reading {
			(<-events)()
		}
	}
	for f.setting {
		(<-events)() // it could not be opened, or not in time
	}
	s.fails, refuse, number = false, true, 5
	ask(agentapi.Closed{})
	f.closing.late = time.Now().Add(-time.Second)
	ask(agentapi.Closed{By: 5, Position: "0-1-9"})
	f.TakenOver() // by another agent, which may have been about to open it
	ask(agentapi.Closed{})
}

// TestClosedIsAskedLessOften: a server is asked often while another site is to take over, and not so for as long as
// that is put off.
func TestClosedIsAskedLessOften(t *testing.T) {
	var c closing
	began := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		number int64
		after  time.Duration
		want   time.Duration
	}{
		{0, 0, readInterval}, {3, time.Hour, readClosed}, {3, time.Hour + closedTime - 1, readClosed},
		{3, time.Hour + closedTime, readInterval}, {3, 9 * time.Hour, readInterval}, {4, 9 * time.Hour, readClosed},
		{0, 9 * time.Hour, readInterval}, {4, 10 * time.Hour, readClosed},
	} {
		if have := c.pause(c.question(tc.number), began.Add(tc.after)); have != tc.want {
			t.Errorf("%d, after %s: %s", tc.number, tc.after, have)
		}
	}
}
