package wsrep

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/eventloop"
)

// server is one that takes windows, or refuses them.
type server struct {
	took   []agentapi.SendWindows
	refuse error
}

func (s *server) SetSendWindows(_ context.Context, w agentapi.SendWindows) error {
	if s.refuse == nil {
		s.took = append(s.took, w)
	}
	return s.refuse
}

// member is a Tuner with its loop and clock.
type member struct {
	WindowTuner
	server    server
	queue     *eventloop.Queue
	roundTrip time.Duration
	now       time.Time
	fixed     *agentapi.SendWindows
}

func newMember(roundTrip time.Duration) *member {
	m := &member{queue: eventloop.NewQueue(), roundTrip: roundTrip, now: time.Unix(1_000_000, 0)}
	m.WindowTuner = NewWindowTuner(m.queue.Loop(slog.New(slog.DiscardHandler)), &m.server,
		func() (time.Duration, bool) { return m.roundTrip, m.roundTrip > 0 })
	return m
}

// pass lets time pass, and what was begun end.
func (m *member) pass(d time.Duration) {
	m.now = m.now.Add(d)
	m.Serving(m.now, m.fixed)
	if m.busy {
		(<-m.queue.Events)()
	}
}

func (m *member) check(t *testing.T, what string, want agentapi.SendWindows, times int) {
	t.Helper()
	var r agentapi.Report
	m.Report(&r)
	if r.Replication == nil || r.Replication.SendWindows != want || len(m.server.took) != times ||
		m.server.took[times-1] != want {
		t.Errorf("%s: the server took %v, reported is %+v; want %v, set %d times", what, m.server.took, r.Replication, want,
			times)
	}
}

func TestTuner(t *testing.T) {
	m := newMember(100 * time.Microsecond)
	m.pass(0)
	m.check(t, "the first check", w(1, 2), 1)
	m.pass(measureInterval)
	m.check(t, "nothing new", w(1, 2), 1)
	m.roundTrip = 40 * time.Millisecond
	m.pass(measureInterval / 2)
	m.check(t, "too early for a check", w(1, 2), 1)
	m.pass(measureInterval / 2)
	m.check(t, "farther away", w(32, 64), 2)
	m.roundTrip = 0
	m.pass(measureInterval)
	m.check(t, "alone", w(32, 64), 2)

	fixed := w(3, 7)
	m.fixed = &fixed
	m.pass(time.Second)
	m.check(t, "fixed, at once", fixed, 3)
	m.fixed, m.roundTrip = nil, time.Millisecond
	m.pass(measureInterval)
	m.check(t, "by the distance again", w(2, 4), 4)

	m.Exited()
	var r agentapi.Report
	if m.Report(&r); r.Replication != nil {
		t.Errorf("without a server: %+v", r.Replication)
	}
	m.pass(0)
	m.check(t, "the next server", w(2, 4), 5)
}

// TestRefused: what a server refuses is tried again, but not with every tick, and is not reported as if it were in
// force.
func TestRefused(t *testing.T) {
	m := newMember(time.Millisecond)
	m.server.refuse = errors.New("no")
	fixed := w(3, 7)
	m.fixed = &fixed
	m.pass(0)
	var r agentapi.Report
	if m.Report(&r); r.Replication != nil {
		t.Errorf("reported: %+v", r.Replication)
	}
	m.server.refuse = nil
	m.pass(time.Second)
	if len(m.server.took) != 0 {
		t.Error("tried again at once")
	}
	m.pass(measureInterval)
	m.check(t, "accepted at last", fixed, 1)
}

// TestLateAnswer: what was set in a server that has ended is no fact about the next one.
func TestLateAnswer(t *testing.T) {
	m := newMember(time.Millisecond)
	m.Serving(m.now, nil)
	m.Exited()
	(<-m.queue.Events)()
	var r agentapi.Report
	if m.Report(&r); r.Replication != nil {
		t.Errorf("reported: %+v", r.Replication)
	}
}
