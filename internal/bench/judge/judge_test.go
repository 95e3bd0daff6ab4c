package judge

import (
	"strings"
	"testing"

	"github.com/galera-operator/galera-operator/internal/bench/wire"
)

func quiet() *wire.Output {
	sample := func() wire.Sample {
		return wire.Sample{wire.MetricStarted: 100, wire.MetricView: 7, wire.MetricSynced: 1, wire.MetricThrottled: 3}
	}
	return &wire.Output{
		OLTP:    &wire.OLTPResult{Transactions: 1000},
		Members: map[string]wire.Window{"x-0": {Before: sample(), After: sample()}, "x-1": {Before: sample(), After: sample()}},
	}
}

func TestRun(t *testing.T) {
	for name, tc := range map[string]struct {
		edit func(*wire.Output)
		want string
	}{
		"quiet":            {func(*wire.Output) {}, ""},
		"restart":          {func(o *wire.Output) { o.Members["x-1"].After[wire.MetricStarted] = 200 }, "x-1 was restarted"},
		"node change":      {func(o *wire.Output) { o.Members["x-0"].After[wire.MetricView] = 9 }, "left or joined"},
		"throttled":        {func(o *wire.Output) { o.Members["x-1"].After[wire.MetricThrottled] = 5 }, "x-1 ran into its CPU limit (2 periods)"},
		"client throttled": {func(o *wire.Output) { o.Client.Throttled = 1 }, "the client ran into its CPU limit"},
		"donor":            {func(o *wire.Output) { o.Noticed = []string{"x-0 was not Synced"} }, "x-0 was not Synced"},
		"desynced at end":  {func(o *wire.Output) { o.Members["x-0"].After[wire.MetricSynced] = 0 }, "x-0 was not Synced"},
		"silent":           {func(o *wire.Output) { o.Members["x-0"] = wire.Window{Before: wire.Sample{"a": 1}} }, "x-0 did not answer"},
		"few failures":     {func(o *wire.Output) { o.OLTP.Errors = 40 }, ""},
		"many failures":    {func(o *wire.Output) { o.OLTP.Errors, o.OLTP.Reconnects = 40, 60 }, "9.1 % of the transactions failed"},
		"sysbench failed":  {func(o *wire.Output) { o.Error = "sysbench gave up: 1047" }, "1047"},
		"a lost node": {func(o *wire.Output) {
			o.Members["x-1"].After[wire.MetricStarted], o.Error = 200, "sysbench gave up: 2013"
		}, "x-1 was restarted"},
		"nothing done": {func(o *wire.Output) { o.OLTP.Transactions = 0 }, "nothing was done"},
	} {
		o := quiet()
		tc.edit(o)
		got := Run(o, Limits{FailedPercent: 5})
		if got.Valid != (tc.want == "") || !strings.Contains(got.Reason, tc.want) {
			t.Errorf("%s: %+v, want %q", name, got, tc.want)
		}
	}
	if got := Run(nil, Limits{}); got.Valid {
		t.Error("a run without a result counts")
	}
}

// TestTransfer: a transfer of state is what it is for.
func TestTransfer(t *testing.T) {
	o := quiet()
	o.OLTP, o.Transfer = nil, &wire.TransferFacts{Kind: "SST", Seconds: 12}
	o.Members["x-1"].After[wire.MetricStarted] = 200
	o.Members["x-1"].After[wire.MetricView] = 9
	if got := Run(o, Limits{FailedPercent: 5}); !got.Valid {
		t.Errorf("got %+v", got)
	}
	o.Transfer.Kind = "IST"
	if got := Run(o, Limits{FailedPercent: 5}); got.Valid {
		t.Error("an incremental transfer counts")
	}
}
