package process

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/eventloop"
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
