package agent

import (
	"os"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/agenttest"
	"github.com/galera-operator/galera-operator/internal/agent/api"
	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// TestEndThatCannotBeRecorded: an order that makes a member Primary and is over keeps no member from being made so,
// though its end cannot be written; it is written as soon as it can.
func TestEndThatCannotBeRecorded(t *testing.T) {
	s := onSlowVolume(t)
	s.release()
	order := agentapi.Order{ID: "x", Epoch: 1, Kind: agentapi.OrderBootstrap}
	s.commands.Accept(order, time.Now(), func(agentapi.OrderResult, error) {})
	for s.orders.Current == nil {
		agenttest.Next(t, s.queue)
	}
	away := s.Places.State + ".away"
	if err := os.Rename(s.Places.State, away); err != nil {
		t.Fatal(err)
	}
	s.orders.Finish("x", agentapi.OrderFailed, "no space")
	for s.orders.Ending() {
		agenttest.Next(t, s.queue)
	}
	s.publish(lifecycle.Step{Phase: galera.PhaseWaiting})
	r := s.reports.Get()
	if r.Order.State != agentapi.OrderFailed || r.Order.Message != "no space" || api.PeerView(r).Forming {
		t.Errorf("reported: %+v", r.Order)
	}
	if err := os.Rename(away, s.Places.State); err != nil {
		t.Fatal(err)
	}
	s.orders.Tick()
	for s.orders.Ending() {
		agenttest.Next(t, s.queue)
	}
	s.orders.Tick() // which finds nothing to do
	if last := s.orders.Content().Find("x"); last.State != agentapi.OrderFailed || s.orders.Ending() {
		t.Errorf("recorded: %+v, still to do: %t", last, s.orders.Ending())
	}
}
