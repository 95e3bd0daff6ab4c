package lifecycle

import (
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

func TestProgress(t *testing.T) {
	start := time.Unix(1000, 0)
	after := func(seconds int, l SSTObservation) SSTObservation {
		l.At = start.Add(time.Duration(seconds) * time.Second)
		return l
	}
	p := BeginSST(start)
	for i, c := range []struct {
		look  SSTObservation
		phase string
		still time.Duration
		rate  int64
	}{
		{after(1, SSTObservation{}), agentapi.JoinWaiting, time.Second, 0},
		// waiting is no progress, whatever processes do
		{after(30, SSTObservation{Work: 5}), agentapi.JoinWaiting, 30 * time.Second, 0},
		{after(31, SSTObservation{Bytes: 100, Work: 6}), agentapi.JoinTransferring, 0, 0},
		{after(41, SSTObservation{Bytes: 1100, Work: 7}), agentapi.JoinTransferring, 0, 100},
		{after(51, SSTObservation{Bytes: 1100, Work: 9}), agentapi.JoinTransferring, 10 * time.Second, 50},
		{after(61, SSTObservation{Bytes: 900, Work: 9}), agentapi.JoinTransferring, 20 * time.Second, 0},
		{after(71, SSTObservation{Bytes: 2100, Preparing: true, Work: 9}), agentapi.JoinPreparing, 0, 0},
		{after(91, SSTObservation{Bytes: 2100, Preparing: true, Work: 10}), agentapi.JoinPreparing, 0, 0}, // computing is
		{after(99, SSTObservation{Bytes: 2100, Preparing: true, Work: 10}), agentapi.JoinPreparing, 8 * time.Second, 0},
		{after(101, SSTObservation{Ended: true}), agentapi.JoinApplying, 0, 0},
		{after(999, SSTObservation{}), agentapi.JoinApplying, 0, 0},
	} {
		p.Add(c.look)
		if p.Phase() != c.phase || p.Idle(c.look.At) != c.still || p.Rate() != c.rate {
			t.Errorf("%d: %s, still for %s, %d/s; want %s, %s, %d/s", i, p.Phase(), p.Idle(c.look.At), p.Rate(), c.phase,
				c.still, c.rate)
		}
	}
	if p.Bytes() != 2100 {
		t.Errorf("%d bytes", p.Bytes())
	}
}
