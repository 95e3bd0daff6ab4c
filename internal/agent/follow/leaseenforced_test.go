package follow

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/galera-operator/galera-operator/internal/lease"
	"github.com/galera-operator/galera-operator/internal/mariadbd"
)

// TestLeaseIsEnforced: a server that cannot be made read-only is killed when the lease has ended, and no other one: not
// one that is read-only, nor one that has just been given a lease.
func TestLeaseIsEnforced(t *testing.T) {
	start := func(l *leased) *mariadbd.Process {
		p := l.process()
		l.options()
		l.f.Began()
		return p
	}
	var log bytes.Buffer
	l := newLeased(t)
	l.guard.logger = slog.New(slog.NewTextHandler(&log, nil))
	l.stuck = true
	p := start(l)
	l.settle()
	if l.guard.enforce(); p.Killed() {
		t.Fatal("killed though it is read-only from its start")
	}
	l.stuck = false
	l.renew(0)
	l.settle()
	l.stuck = true
	l.now += lease.Valid - lease.Valid/20 - 1
	l.settle()
	if l.guard.enforce(); p.Killed() {
		t.Fatal("killed before the end")
	}
	l.now++
	if l.guard.enforce(); !p.Killed() || !strings.Contains(log.String(), "it is killed") {
		t.Fatalf("it accepts writes without a lease: %s", &log)
	}

	l = newLeased(t)
	l.wanted, l.stuck = false, true
	p = start(l)
	l.settle()
	l.wanted = true
	l.settle()
	if l.guard.enforce(); p.Killed() {
		t.Fatal("killed at once")
	}
	l.now += lease.Closing
	if l.guard.enforce(); !p.Killed() {
		t.Fatal("it needs a lease, and accepts writes for good")
	}
}

// TestLeaseIsTurnedOnDuringAStart: a server whose options were made before the lease was needed accepts writes from its
// start. It is ended like any other one, also if it never answers, and gets the time to be made read-only once.
func TestLeaseIsTurnedOnDuringAStart(t *testing.T) {
	for name, late := range map[string]bool{"just before it starts": false, "while the volume is frozen": true} {
		l := newLeased(t)
		l.wanted, l.s.away, l.s.fails = false, true, true
		l.settle()
		l.options()
		l.wanted = true
		if late {
			l.settle()
			l.now += lease.Closing
		}
		p := l.process()
		l.f.Began()
		l.settle()
		if l.guard.enforce(); p.Killed() != late {
			t.Errorf("%s: killed at once: %v", name, p.Killed())
		}
		l.now += lease.Closing
		if l.guard.enforce(); !p.Killed() {
			t.Errorf("%s: it accepts writes without a lease", name)
		}
	}
	l := newLeased(t)
	l.s.away, l.s.fails = true, true
	l.options()
	l.wanted = false // and so is the server that starts now
	p := l.process()
	l.f.Began()
	l.wanted = true
	l.settle()
	l.now += lease.Closing
	if l.guard.enforce(); !p.Killed() {
		t.Error("options that were made with a lease: it accepts writes without one")
	}
}

// TestLeaseIsTurnedOnDuringAHandover: the agent before needed no lease, so that its server accepts writes.
func TestLeaseIsTurnedOnDuringAHandover(t *testing.T) {
	l := newLeased(t)
	l.wanted, l.s.away, l.s.fails = false, true, true
	p := l.process()
	l.options()
	l.f.Began()
	l.settle()
	l.handOver("b")
	l.wanted = true
	l.f.Began()
	l.f.TakenOver()
	l.settle()
	if l.guard.enforce(); p.Killed() {
		t.Error("killed at once")
	}
	l.now += lease.Closing
	if l.guard.enforce(); !p.Killed() {
		t.Error("it accepts writes without a lease")
	}
}

// TestLeaseIsInherited: a successor that waits for its volume has a server of its predecessor killed that accepts
// writes when the lease has ended, and no other one.
func TestLeaseIsInherited(t *testing.T) {
	for name, tc := range map[string]struct {
		state guardState
		want  bool
	}{
		"open":            {guardState{Needed: true, Open: true}, true},
		"closed":          {guardState{Needed: true}, false},
		"without a lease": {guardState{Open: true}, false},
	} {
		l := newLeased(t)
		p := l.process()
		tc.state.Holder = lease.Holder{Known: true, Asked: l.now}
		state, err := json.Marshal(tc.state)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.guard.Inherit(state, p.PID); err != nil {
			t.Fatal(err)
		}
		if l.guard.enforce(); killed(l) {
			t.Errorf("%s: killed before the end", name)
		}
		l.now += lease.Valid
		if l.guard.enforce(); killed(l) != tc.want {
			t.Errorf("%s: killed: %v", name, killed(l))
		}
		if killed(l) {
			<-p.Done()
		}
	}
}

// killed reports whether the server was killed that is watched.
func killed(l *leased) bool {
	p := l.guard.open.Load()
	return p != nil && p.Killed()
}
