package process

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/api"
	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/eventloop"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/mariadbd"
)

// TestStatementOfAnEarlierServer: a statement that was meant for a server that has ended may reach the next one, which
// then does not count as one whose scheduler is off.
func TestStatementOfAnEarlierServer(t *testing.T) {
	for name, tc := range map[string]struct {
		next bool
		want string
	}{"the same server": {false, agentapi.TaskOn}, "the next one": {true, ""}} {
		posted := make(chan func(), 1)
		run := &Supervisor{Proc: &mariadbd.Process{}}
		loop := eventloop.Loop{Logger: slog.New(slog.DiscardHandler), Post: func(event func()) { posted <- event }}
		g := NewGate(loop, run, &api.Peers{}, Task{Turned: func() {}})
		g.Launched()
		sent := make(chan struct{})
		g.turn(func(context.Context) error { <-sent; return nil }, agentapi.TaskOn)
		if tc.next {
			run.Proc = &mariadbd.Process{}
			g.Launched()
		}
		close(sent)
		(<-posted)()
		if got := g.Reported(time.Now().Add(time.Hour)); got != tc.want || g.Busy() {
			t.Errorf("%s: the scheduler is reported %q, want %q", name, got, tc.want)
		}
	}
}

// TestUnknownWhetherEventsRun: an agent that has replaced another one, and has not taken over its configuration yet,
// does not turn a scheduler off that runs; it turns none on.
func TestUnknownWhetherEventsRun(t *testing.T) {
	status := &agentapi.Server{Component: galera.ComponentPrimary, State: galera.NodeSynced, Ready: true,
		ClusterUUID: "6f9619ff-8b86-d011-b42d-00cf4fc964ff"}
	run := &Supervisor{Proc: &mariadbd.Process{}, Status: status}
	for _, state := range []string{agentapi.TaskOn, "", agentapi.TaskOff} {
		g := NewGate(eventloop.Loop{}, run, &api.Peers{}, Task{Asked: func(unknown bool) bool { return unknown }})
		g.state = state
		if act, _ := g.facts().Next(); act != lifecycle.ExclusiveStay {
			t.Errorf("a scheduler that is %q: %d", state, act)
		}
	}
}

// TestRefusalsAreLoggedOnce: a task that cannot be turned on is tried again at once, and why is logged when it changes.
func TestRefusalsAreLoggedOnce(t *testing.T) {
	var log bytes.Buffer
	posted := make(chan func(), 1)
	loop := eventloop.Loop{Logger: slog.New(slog.NewTextHandler(&log, nil)),
		Post: func(event func()) { posted <- event }}
	g := NewGate(loop, &Supervisor{Proc: &mariadbd.Process{}}, &api.Peers{}, Task{Name: "channel", Turned: func() {}})
	refused, other := errors.New("db-2 lacks 0-1-7"), errors.New("db-2 lacks 0-1-8")
	for _, tc := range []struct {
		err  error
		to   string
		want int // lines so far
	}{
		{refused, agentapi.TaskOn, 1}, {refused, agentapi.TaskOn, 1}, {other, agentapi.TaskOn, 2},
		{other, agentapi.TaskOff, 3}, {other, agentapi.TaskOff, 3}, {nil, agentapi.TaskOn, 4}, {other, agentapi.TaskOff, 5},
	} {
		g.turn(func(context.Context) error { return tc.err }, tc.to)
		(<-posted)()
		if got := strings.Count(log.String(), "\n"); got != tc.want {
			t.Fatalf("%v, %s: %d lines, want %d\n%s", tc.err, tc.to, got, tc.want, &log)
		}
	}
}
