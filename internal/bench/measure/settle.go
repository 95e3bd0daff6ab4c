package measure

import (
	"context"
	"time"

	"github.com/galera-operator/galera-operator/internal/bench/result"
)

const (
	// settleTime is what receivers have to take what is in their queue, and agents to check the counters again.
	settleTime = 20 * time.Second
	settlePace = 500 * time.Millisecond
)

// settle reads again what was received, while much less came than was sent: a counter may be older than the window's
// end. All other figures are those of the end. A run of some length waits for nothing.
func (r *runner) settle(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	_ = await(ctx, settlePace, func() (string, error) { // whatever is missing in the end is judged
		missed := r.missed()
		if missed != "" {
			receivedSince(r.out.Members, r.agents.samples(ctx))
		}
		return missed, nil
	})
}

// missed names a node that received too little, "" when there is none.
func (r *runner) missed() string {
	for name, receipt := range r.out.Receipts() {
		if receipt.Missed() {
			return name + " has not received what the others replicated"
		}
	}
	return ""
}

// receivedSince takes over what the same servers say later of what they have received.
func receivedSince(windows map[string]result.Window, later map[string]result.Sample) {
	for name, w := range windows {
		received, known := later[name][result.MetricReceived]
		if known && w.After != nil && later[name][result.MetricStarted] == w.After[result.MetricStarted] {
			w.After[result.MetricReceived] = received
		}
	}
}
