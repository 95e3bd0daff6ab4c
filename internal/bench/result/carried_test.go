package result

import (
	"strings"
	"testing"
	"time"
)

// wrote is a run of 15 seconds on three nodes, each of which wrote 10 MB and received what the others wrote.
func wrote() *Output {
	o := quiet()
	o.StartedAt = time.Unix(1e9, 0)
	o.EndedAt = o.StartedAt.Add(15 * time.Second)
	for _, name := range []string{"x-0", "x-1", "x-2"} {
		at := func(replicated, received float64) Sample {
			return Sample{MetricStarted: 100, MetricView: 7, MetricSynced: 1, MetricReplicated: replicated,
				MetricReceived: received}
		}
		o.Members[name] = Window{Before: at(5e6, 70e6), After: at(15e6, 90e6)}
	}
	return o
}

// TestCarried: the nodes' counters state that what was written went over the group's channel.
func TestCarried(t *testing.T) {
	grows := func(o *Output, node string, replicated, received float64) {
		w := o.Members[node]
		w.After[MetricReplicated], w.After[MetricReceived] = w.Before[MetricReplicated]+replicated, w.Before[MetricReceived]+
			received
	}
	all := func(o *Output, replicated, received float64) {
		for name := range o.Members {
			grows(o, name, replicated, received)
		}
	}
	for name, tc := range map[string]struct {
		edit func(*Output)
		want string
	}{
		"all of it":         {func(*Output) {}, ""},
		"one node writes":   {func(o *Output) { all(o, 0, 30e6); grows(o, "x-0", 30e6, 0) }, ""},
		"an old counter":    {func(o *Output) { all(o, 10e6, 15e6) }, ""},
		"just enough":       {func(o *Output) { all(o, 10e6, 5e6) }, ""},
		"more than was due": {func(o *Output) { all(o, 10e6, 30e6) }, ""},
		"too little": {func(o *Output) { grows(o, "x-2", 10e6, 4.9e6) },
			"x-2 received 4.9 of the 20.0 MB the other nodes replicated"},
		"one gets nothing": {func(o *Output) { grows(o, "x-1", 10e6, 0) },
			"x-1 received 0.0 of the 20.0 MB the other nodes replicated: what was written did not go over the channel"},
		"no node gets any": {func(o *Output) { all(o, 0, 0); grows(o, "x-0", 30e6, 0) }, "x-1 received 0.0 of the 30.0 MB"},
		"little is due":    {func(o *Output) { all(o, 500e3, 0) }, ""},
		"nothing is sent":  {func(o *Output) { all(o, 0, 0) }, "no node replicated anything"},
		"few transactions": {func(o *Output) { all(o, 0, 0); o.OLTP.Transactions = 99 }, ""},
		"a short run":      {func(o *Output) { all(o, 10e6, 0); o.EndedAt = o.StartedAt.Add(9 * time.Second) }, ""},
		"no other node": {func(o *Output) {
			grows(o, "x-0", 30e6, 0)
			delete(o.Members, "x-1")
			delete(o.Members, "x-2")
		}, ""},
		"not received, not reported": {func(o *Output) { delete(o.Members["x-1"].After, MetricReceived) },
			"not every node reported"},
		"not replicated, not reported": {func(o *Output) { delete(o.Members["x-1"].Before, MetricReplicated) },
			"not every node reported"},
		"counts anew": {func(o *Output) { grows(o, "x-1", -1e6, 20e6) }, "not every node reported"},
		"no answer comes first": {func(o *Output) { o.Members["x-1"] = Window{Before: o.Members["x-1"].Before} },
			"x-1 did not answer"},
		"no transactions": {func(o *Output) {
			all(o, 10e6, 0)
			o.OLTP, o.Connect = nil, &ConnectResult{Connections: 10}
		}, ""},
	} {
		o := wrote()
		tc.edit(o)
		got := Judge(o, Limits{FailedPercent: 5, Writes: true})
		if got.Valid != (tc.want == "") || !strings.Contains(got.Reason, tc.want) {
			t.Errorf("%s: %+v, want %q", name, got, tc.want)
		}
	}
}

// TestCarriedByReaders: who only reads sends nothing, and what a script of one's own writes is judged by what it sent.
func TestCarriedByReaders(t *testing.T) {
	for name, tc := range map[string]struct {
		replicated, received float64
		want                 string
	}{
		"reads":         {0, 0, ""},
		"writes":        {10e6, 20e6, ""},
		"another way":   {10e6, 0, "x-0 received 0.0 of the 20.0 MB"},
		"writes little": {100e3, 0, ""},
	} {
		o := wrote()
		for _, w := range o.Members {
			w.After[MetricReplicated], w.After[MetricReceived] = 5e6+tc.replicated, 70e6+tc.received
		}
		if got := Judge(o, Limits{FailedPercent: 5}); got.Valid != (tc.want == "") || !strings.Contains(got.Reason, tc.want) {
			t.Errorf("%s: %+v, want %q", name, got, tc.want)
		}
	}
	o := wrote()
	delete(o.Members["x-0"].After, MetricReceived)
	if got := Judge(o, Limits{FailedPercent: 5}); !got.Valid {
		t.Errorf("who may not write needs no counter: %+v", got)
	}
}
