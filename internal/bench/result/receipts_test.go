package result

import (
	"maps"
	"testing"
	"time"
)

// TestReceipts: to each node is due what the others replicated, and not what it replicated itself.
func TestReceipts(t *testing.T) {
	at := func(replicated, received float64) Sample {
		return Sample{MetricReplicated: replicated, MetricReceived: received}
	}
	o := Output{StartedAt: time.Unix(1e9, 0), EndedAt: time.Unix(1e9+10, 0), Members: map[string]Window{
		"x-0": {Before: at(100, 5), After: at(130, 8)},
		"x-1": {Before: at(7, 1000), After: at(7, 1032)},
		"x-2": {Before: at(0, 0), After: at(2, 30)},
	}}
	want := map[string]Receipt{"x-0": {Due: 2, Got: 3}, "x-1": {Due: 32, Got: 32}, "x-2": {Due: 30, Got: 30}}
	if got := o.Receipts(); !maps.Equal(got, want) {
		t.Errorf("got %v", got)
	}
	short := o
	short.EndedAt = o.EndedAt.Add(-time.Millisecond)
	if got := short.Receipts(); got != nil {
		t.Errorf("of a short run: %v", got)
	}
	delete(o.Members["x-1"].After, MetricReplicated)
	if got := o.Receipts(); got != nil {
		t.Errorf("without a counter: %v", got)
	}
}

func TestMissed(t *testing.T) {
	for name, tc := range map[string]struct {
		receipt Receipt
		want    bool
	}{
		"all":       {Receipt{Due: 2 << 20, Got: 2 << 20}, false},
		"a quarter": {Receipt{Due: 4 << 20, Got: 1 << 20}, false},
		"less":      {Receipt{Due: 4 << 20, Got: 1<<20 - 1}, true},
		"nothing":   {Receipt{Due: 1 << 20}, true},
		"not much":  {Receipt{Due: 1<<20 - 1}, false},
	} {
		if got := tc.receipt.Missed(); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
