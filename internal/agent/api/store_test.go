package api

import (
	"context"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

const storeUUID = "90e0b86f-e577-11f1-b9b1-fa90d5744545"

func TestGeneration(t *testing.T) {
	base := agentapi.Report{Name: "a", Phase: galera.PhaseRunning, Position: galera.Position{UUID: storeUUID, Seqno: 1},
		Server: &agentapi.Server{Component: galera.ComponentPrimary, ReceiveQueue: 1},
		TLS: agentapi.TLSReport{Channels: map[string]agentapi.ChannelFact{"x": {Observed: "TLS",
			CheckedAt: time.Unix(1, 0)}}},
		Join: &agentapi.Join{Kind: "SST", Bytes: 1}}
	down := base
	down.Server = nil
	catchingUp, joined := base, base
	catchingUp.Server = &agentapi.Server{Component: galera.ComponentNonPrimary}
	joined.Server, joined.Join = catchingUp.Server, &agentapi.Join{Kind: "IST", EndedAt: &time.Time{}}
	for name, c := range map[string]struct {
		from agentapi.Report
		edit func(*agentapi.Report)
		news bool
	}{
		"nothing":                 {base, func(*agentapi.Report) {}, false},
		"position while Primary":  {base, func(r *agentapi.Report) { r.Position.Seqno = 9 }, false},
		"position while down":     {down, func(r *agentapi.Report) { r.Position.Seqno = 9 }, true},
		"position while joining":  {catchingUp, func(r *agentapi.Report) { r.Position.Seqno = 9 }, false},
		"position without quorum": {joined, func(r *agentapi.Report) { r.Position.Seqno = 9 }, true},
		"UUID":                    {base, func(r *agentapi.Report) { r.Position.UUID = "b" }, true},
		"queue": {base, func(r *agentapi.Report) {
			r.Server = &agentapi.Server{Component: galera.ComponentPrimary, ReceiveQueue: 7}
		}, false},
		"lagging": {base, func(r *agentapi.Report) {
			r.Server = &agentapi.Server{Component: galera.ComponentPrimary, ReceiveQueue: 1, Lagging: true}
		}, true},
		// The agent renews a join's numbers every ten seconds; what it shows is news.
		"bytes":      {base, func(r *agentapi.Report) { r.Join = &agentapi.Join{Kind: "SST", Bytes: 2} }, true},
		"own size":   {base, func(r *agentapi.Report) { r.DataBytes = 7 }, false},
		"free space": {base, func(r *agentapi.Report) { r.Volume = &agentapi.VolumeSpace{Free: 7} }, false},
		"checked": {base, func(r *agentapi.Report) {
			r.TLS.Channels = map[string]agentapi.ChannelFact{"x": {Observed: "TLS", CheckedAt: time.Unix(2, 0)}}
		}, false},
		"observed": {base, func(r *agentapi.Report) {
			r.TLS.Channels = map[string]agentapi.ChannelFact{"x": {Observed: "Plaintext"}}
		}, true},
		"phase":    {base, func(r *agentapi.Report) { r.Phase = galera.PhaseStopping }, true},
		"order":    {base, func(r *agentapi.Report) { r.Order = &agentapi.OrderRecord{State: agentapi.OrderDone} }, true},
		"restarts": {base, func(r *agentapi.Report) { r.Restarts++ }, true},
	} {
		s := NewReportStore(c.from)
		next := c.from
		c.edit(&next)
		s.Set(next)
		if got := s.Get().Generation != 1; got != c.news {
			t.Errorf("%s: news = %v, want %v", name, got, c.news)
		}
	}
}

func TestWait(t *testing.T) {
	s := NewReportStore(agentapi.Report{Name: "a"})
	if got := s.Wait(context.Background(), 0, time.Minute); got.Generation != 1 {
		t.Errorf("a stale generation must be answered at once, got %d", got.Generation)
	}
	if got := s.Wait(context.Background(), 1, time.Millisecond); got.Generation != 1 {
		t.Errorf("after the time the unchanged report is the answer, got %d", got.Generation)
	}
	done := make(chan agentapi.Report)
	go func() { done <- s.Wait(context.Background(), 1, time.Minute) }()
	s.Set(agentapi.Report{Name: "a", Draining: true})
	if got := <-done; !got.Draining || got.Generation != 2 {
		t.Errorf("a waiter must get the change: %+v", got)
	}
}
