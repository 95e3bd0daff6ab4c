package process

import (
	"context"
	"log/slog"
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
	}{"the same server": {false, agentapi.SchedulerOn}, "the next one": {true, ""}} {
		posted := make(chan func(), 1)
		r := Maintainer{MaintainerDependencies: MaintainerDependencies{Run: &Supervisor{Proc: &mariadbd.Process{}}},
			loop: eventloop.Loop{Logger: slog.New(slog.DiscardHandler), Post: func(event func()) { posted <- event }}}
		r.gate.launched()
		sent := make(chan struct{})
		r.turn(func(context.Context) error { <-sent; return nil }, agentapi.SchedulerOn)
		if tc.next {
			r.Run.Proc = &mariadbd.Process{}
			r.gate.launched()
		}
		close(sent)
		(<-posted)()
		if got := r.gate.reported(time.Now().Add(time.Hour)); got != tc.want || r.gate.busy {
			t.Errorf("%s: the scheduler is reported %q, want %q", name, got, tc.want)
		}
	}
}

// TestUnknownWhetherEventsRun: an agent that has replaced another one, and has not taken over its configuration yet,
// does not turn a scheduler off that runs; it turns none on.
func TestUnknownWhetherEventsRun(t *testing.T) {
	scheduling := Scheduling{Group: &api.Peers{}, Asked: func(unknown bool) bool { return unknown }}
	status := &agentapi.Server{Component: galera.ComponentPrimary, State: galera.NodeSynced, Ready: true,
		ClusterUUID: "6f9619ff-8b86-d011-b42d-00cf4fc964ff"}
	for _, state := range []string{agentapi.SchedulerOn, "", agentapi.SchedulerOff} {
		r := Maintainer{MaintainerDependencies: MaintainerDependencies{Run: &Supervisor{Proc: &mariadbd.Process{},
			Status: status}}, gate: gate{state: state}, events: MaintainerEvents{Scheduling: scheduling}}
		if act, _ := r.schedulerFacts().Next(); act != lifecycle.SchedulerStay {
			t.Errorf("a scheduler that is %q: %d", state, act)
		}
	}
}
