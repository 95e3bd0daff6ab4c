package agent

import (
	"errors"
	"os"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
	"github.com/galera-operator/galera-operator/internal/agent/volume"

	"github.com/galera-operator/galera-operator/internal/agent/server"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// TestUnwrittenOrderIsTold: the book cannot be written, the order is answered with an error, and the volume is tried at once.
func TestUnwrittenOrderIsTold(t *testing.T) {
	s := onSlowVolume(t)
	s.release()
	if err := os.RemoveAll(s.Places.State); err != nil {
		t.Fatal(err)
	}
	var answer error
	s.accept(agentapi.Order{ID: "x", Epoch: 1, Kind: agentapi.OrderStop}, time.Now(), func(_ agentapi.OrderResult, err error) { answer = err })
	s.nextEvent(t)
	if answer == nil || s.orders.Current != nil || s.orders.Recording() != nil || s.orders.Content().Held || !s.volume.Suspected() {
		t.Errorf("%v; %+v", answer, s.orders.Content())
	}
	touch := func() error { return volume.Touch(s.Places.State) }
	s.write.Store(&touch)
	s.volume.Try()
	s.publish(lifecycle.Step{Phase: galera.PhaseWaiting})
	if s.shown() != agentapi.FailureReadOnly {
		t.Errorf("told: %q", s.shown())
	}
	if err := os.MkdirAll(s.Places.State, 0o750); err != nil {
		t.Fatal(err)
	}
	s.volume.Try()
	if s.volume.Failure() != nil {
		t.Error(s.volume.Failure())
	}
}

// TestNothingIsKilledOnAFrozenVolume: neither a server that does not stop, nor a transfer that stands still.
func TestNothingIsKilledOnAFrozenVolume(t *testing.T) {
	s := onSlowVolume(t)
	s.proc, s.run = listener(t).proc, running{stopping: true, patience: time.Minute, stopAt: time.Now().Add(-time.Hour)}
	s.volume.Begin(time.Now())
	s.ahead.Store(int64(time.Hour))
	s.enforceStop()
	if left := time.Until(s.run.stopAt); left < 50*time.Second || stillRuns(s.proc) != nil {
		t.Errorf("patience %s", left)
	}
	s.ahead.Store(0)
	s.enforceStop()
	if stillRuns(s.proc) != nil {
		t.Error("killed when the volume answers, without a new patience")
	}
	s.run.stopAt = time.Now().Add(-time.Second)
	s.enforceStop()
	<-s.proc.Done()
}

func stillRuns(p *server.Process) error {
	select {
	case <-p.Done():
		return errors.New("it has ended")
	default:
		return nil
	}
}
