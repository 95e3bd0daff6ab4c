package result

import "time"

// Receipt compares what one node has received from its group with what the others gave to it, in bytes, by the
// nodes' own counters.
type Receipt struct{ Due, Got float64 }

const (
	// receiptWindow is the shortest window that is judged. Agents read their server's counters every second and a half, so
	// that a node that writes may count some of the warm-up that those it writes to do not.
	receiptWindow = 10 * time.Second
	// receiptLeast is what has to be due before it is judged: less may wait in a queue.
	receiptLeast = 1 << 20
	// receiptShare of what is due must have come. Galera counts a write-set where it was written and, with the same size,
	// where it is taken to be applied: all of it comes in the end. What a first reading that was old adds to what is due
	// is still no more than this when it was three seconds old, and the warm-up ten times as fast as the shortest run.
	receiptShare = 0.25
)

// Missed reports whether so little was received that the others' writes took another way, or none.
func (r Receipt) Missed() bool { return r.Due >= receiptLeast && r.Got < receiptShare*r.Due }

// Receipts returns those of all nodes. They are nil where there is no node to receive anything or the window is too
// short to report, and where a node did not report its counters at both ends.
func (o Output) Receipts() map[string]Receipt {
	if !o.ReportsReceipts() {
		return nil
	}
	all, given := 0.0, map[string]float64{}
	for name, w := range o.Members {
		replicated, ok1 := w.growth(MetricReplicated)
		_, ok2 := w.growth(MetricReceived)
		if !ok1 || !ok2 {
			return nil
		}
		given[name], all = replicated, all+replicated
	}
	out := map[string]Receipt{}
	for name, w := range o.Members {
		received, _ := w.growth(MetricReceived) // known, see above
		out[name] = Receipt{Due: all - given[name], Got: received}
	}
	return out
}

// ReportsReceipts reports whether a run was long enough, and had enough nodes, for their counters to report who
// received what.
func (o Output) ReportsReceipts() bool {
	return len(o.Members) > 1 && o.EndedAt.Sub(o.StartedAt) >= receiptWindow
}

// growth is by how much a counter of one server grew. ok is false when it was not reported at both ends, or began anew.
func (w Window) growth(metric string) (grown float64, ok bool) {
	before, ok1 := w.Before[metric]
	after, ok2 := w.After[metric]
	return after - before, ok1 && ok2 && after >= before
}
