package result

import (
	"maps"
	"strings"
	"testing"
)

func quiet() *Output {
	sample := func() Sample {
		return Sample{MetricStarted: 100, MetricView: 7, MetricSynced: 1, MetricThrottled: 3}
	}
	return &Output{
		OLTP:    &OLTPResult{Transactions: 1000},
		Members: map[string]Window{"x-0": {Before: sample(), After: sample()}, "x-1": {Before: sample(), After: sample()}},
	}
}

func TestRun(t *testing.T) {
	for name, tc := range map[string]struct {
		edit func(*Output)
		want string
	}{
		"quiet":       {func(*Output) {}, ""},
		"restart":     {func(o *Output) { o.Members["x-1"].After[MetricStarted] = 200 }, "x-1 was restarted"},
		"node change": {func(o *Output) { o.Members["x-0"].After[MetricView] = 9 }, "left or joined"},
		"a starved node": {func(o *Output) {
			o.Members["x-0"].After[MetricView], o.Members["x-0"].After[MetricLate] = 9, 5.44
		}, "(seen by x-0); no processor time: x-0 for 5.4 s"},
		"throttled": {func(o *Output) { o.Members["x-1"].After[MetricThrottled] = 5 },
			"x-1 ran into its CPU limit (2 periods)"},
		"client throttled": {func(o *Output) { o.Client.Throttled = 1 }, "the client ran into its CPU limit"},
		"proxy throttled": {func(o *Output) { o.Proxy.Throttled = 2 },
			"the pooling proxy ran into its CPU limit (2 periods)"},
		"donor":           {func(o *Output) { o.Noticed = []string{"x-0 was not Synced"} }, "x-0 was not Synced"},
		"desynced at end": {func(o *Output) { o.Members["x-0"].After[MetricSynced] = 0 }, "x-0 was not Synced"},
		"silent":          {func(o *Output) { o.Members["x-0"] = Window{Before: Sample{"a": 1}} }, "x-0 did not answer"},
		"few failures":    {func(o *Output) { o.OLTP.Errors = 40 }, ""},
		"many failures": {func(o *Output) { o.OLTP.Errors, o.OLTP.Reconnects = 40, 60 },
			"9.1 % of the transactions failed"},
		"sysbench failed": {func(o *Output) { o.Error = "sysbench gave up: 1047" }, "1047"},
		"a lost node": {func(o *Output) {
			o.Members["x-1"].After[MetricStarted], o.Error = 200, "sysbench gave up: 2013"
		}, "x-1 was restarted"},
		"nothing done": {func(o *Output) { o.OLTP.Transactions = 0 }, "nothing was done"},
	} {
		o := quiet()
		tc.edit(o)
		got := Judge(o, Limits{FailedPercent: 5})
		if got.Valid != (tc.want == "") || !strings.Contains(got.Reason, tc.want) {
			t.Errorf("%s: %+v, want %q", name, got, tc.want)
		}
	}
	if got := Judge(nil, Limits{}); got.Valid {
		t.Error("a run without a result counts")
	}
}

// TestAnswers: failed queries count, and the client's last words are reported.
func TestAnswers(t *testing.T) {
	for name, tc := range map[string]struct {
		result AnswersResult
		want   string
	}{
		"all answered": {AnswersResult{Answers: 10}, ""},
		"none": {AnswersResult{Paced: Paced{LastError: "an answer of 0 bytes"}},
			"nothing was done in the measured time; the client's last error: an answer of 0 bytes"},
		"many failed": {AnswersResult{Answers: 10, Paced: Paced{Errors: 10}}, "50.0 % of the queries failed"},
	} {
		o := quiet()
		o.OLTP, o.Answers = nil, &tc.result
		if got := Judge(o, Limits{FailedPercent: 5}); got.Valid != (tc.want == "") || !strings.Contains(got.Reason, tc.want) {
			t.Errorf("%s: %+v, want %q", name, got, tc.want)
		}
	}
}

// TestConnections: what the client said is reported, and sessions are resumed as the workload wants it.
func TestConnections(t *testing.T) {
	for name, tc := range map[string]struct {
		result ConnectResult
		want   string
	}{
		"no TLS": {ConnectResult{Connections: 10}, ""},
		"nothing done": {ConnectResult{Paced: Paced{LastError: "x509: unknown authority"}},
			"nothing was done in the measured time; the client's last error: x509: unknown authority"},
		"many failed": {ConnectResult{Connections: 10, Paced: Paced{Errors: 10, LastError: "too many connections"}},
			"50.0 % of the connections failed (limit: 5 %); the client's last error: too many connections"},
		"few failed":         {ConnectResult{Connections: 1000, Paced: Paced{Errors: 1, LastError: "reset"}}, ""},
		"resumed":            {ConnectResult{Connections: 10, Resumption: "On", Resumed: 9}, ""},
		"none resumed":       {ConnectResult{Connections: 10, Resumption: "On"}, "the server resumed no TLS session"},
		"full handshakes":    {ConnectResult{Connections: 10, Resumption: "Off"}, ""},
		"resumed by mistake": {ConnectResult{Connections: 10, Resumption: "Off", Resumed: 3}, "3 TLS sessions were resumed"},
	} {
		o := quiet()
		o.OLTP, o.Connect = nil, &tc.result
		got := Judge(o, Limits{FailedPercent: 5})
		if got.Valid != (tc.want == "") || !strings.Contains(got.Reason, tc.want) {
			t.Errorf("%s: %+v, want %q", name, got, tc.want)
		}
	}
}

// TestTransfer: a transfer is disturbed by everything that it does not make itself.
func TestTransfer(t *testing.T) {
	for name, tc := range map[string]struct {
		edit func(*Output)
		want string
	}{
		"as it is":         {func(*Output) {}, ""},
		"incremental":      {func(o *Output) { o.Transfer.Kind = "IST" }, "by IST"},
		"donor restarted":  {func(o *Output) { o.Members["x-0"].After[MetricStarted] = 200 }, "x-0 was restarted"},
		"donor catches up": {func(o *Output) { o.Members["x-0"].After[MetricSynced] = 0 }, ""},
		"third not Synced": {func(o *Output) { o.Members["x-2"].After[MetricSynced] = 0 }, "x-2 was not Synced"},
		"third restarted":  {func(o *Output) { o.Members["x-2"].After[MetricStarted] = 200 }, "x-2 was restarted"},
		"third left": {func(o *Output) { o.Noticed = []string{"x-2 was not in a Primary component"} },
			"x-2 was not in"},
		"third silent":  {func(o *Output) { o.Members["x-2"] = Window{Before: Sample{"a": 1}} }, "x-2 did not answer"},
		"donor unknown": {func(o *Output) { o.Transfer.Donor, o.Members["x-0"].After[MetricSynced] = "", 0 }, ""},
		"donor throttled": {func(o *Output) { o.Members["x-0"].After[MetricThrottled] = 5 },
			"x-0 ran into its CPU limit (2 periods)"},
		"new one throttled": {func(o *Output) { o.Members["x-1"].After[MetricThrottled] = 1 },
			"x-1 ran into its CPU limit (1 periods)"},
		"load failed": {func(o *Output) { o.Transfer.Series = []Point{{TPS: 50}, {TPS: 40, Errors: 5, Reconnects: 5}} },
			"10.0 % of the transactions failed"},
		"load did not fail": {func(o *Output) { o.Transfer.Series = []Point{{TPS: 50}, {TPS: 50, Errors: 1}} }, ""},
	} {
		o := quiet()
		sample := func() Sample { return maps.Clone(o.Members["x-0"].Before) }
		o.Members["x-2"] = Window{Before: sample(), After: sample()}
		for _, w := range o.Members {
			w.After[MetricView] = 9
		}
		o.Members["x-1"].After[MetricStarted], o.Members["x-1"].After[MetricThrottled] = 200, 0
		o.OLTP, o.Transfer = nil, &TransferFacts{Victim: "x-1", Donor: "x-0", Kind: "SST", Seconds: 12}
		tc.edit(o)
		got := Judge(o, Limits{FailedPercent: 5})
		if got.Valid != (tc.want == "") || !strings.Contains(got.Reason, tc.want) {
			t.Errorf("%s: %+v, want %q", name, got, tc.want)
		}
	}
}
