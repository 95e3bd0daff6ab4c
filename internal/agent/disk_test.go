package agent

import (
	"os"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/agenttest"
	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/datadir"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// TestOrderThatCannotBeWrittenIsAnsweredWithAnError: the book cannot be written, the order is answered with an error,
// and the volume is tried at once.
func TestOrderThatCannotBeWrittenIsAnsweredWithAnError(t *testing.T) {
	s := onSlowVolume(t)
	s.release()
	if err := os.RemoveAll(s.Places.State); err != nil {
		t.Fatal(err)
	}
	var answer error
	s.commands.Accept(agentapi.Order{ID: "x", Epoch: 1, Kind: agentapi.OrderStop}, time.Now(),
		func(_ agentapi.OrderResult, err error) { answer = err })
	agenttest.Next(t, s.queue)
	if answer == nil || s.orders.Current != nil || s.orders.Recording() != nil || s.orders.Content().Held ||
		!s.volume.Suspected() {
		t.Errorf("%v; %+v", answer, s.orders.Content())
	}
	touch := func() error { return datadir.TouchVolume(s.Places.State) }
	s.write.Store(&touch)
	s.volume.Try()
	s.publish(lifecycle.Step{Phase: galera.PhaseWaiting})
	if s.shown() != agentapi.FailureReadOnly {
		t.Errorf("reported: %q", s.shown())
	}
	if err := os.MkdirAll(s.Places.State, 0o750); err != nil {
		t.Fatal(err)
	}
	s.volume.Try()
	if s.volume.Failure() != nil {
		t.Error(s.volume.Failure())
	}
}
