package result

import (
	"maps"
	"math"
	"slices"
	"testing"
	"time"
)

func TestTransferFigures(t *testing.T) {
	o := Output{
		Transfer: &TransferFacts{Kind: "SST", Seconds: 20, Bytes: 1e9, LoadBefore: 200, LoadDuring: 150},
		Members: map[string]Window{
			"x-0": {Before: Sample{MetricCPU: 100}, After: Sample{MetricCPU: 112}},
			"x-1": {Before: Sample{MetricCPU: 50}, After: Sample{MetricCPU: 7}}, // another container
		},
	}
	f := o.Figures()
	for name, want := range map[string]float64{FigureSeconds: 20, FigureMegabytesPerSecond: 50, FigureLoadLoss: 25,
		FigureCPUSeconds: 19} {
		if f[name] != want {
			t.Errorf("%s: %g, want %g", name, f[name], want)
		}
	}
	// By the time it has all of the data, the new container may have taken more than the old one had.
	o.Transfer.Victim, o.Members["x-1"] = "x-1", Window{Before: Sample{MetricCPU: 5}, After: Sample{MetricCPU: 7}}
	if got := o.Figures()[FigureCPUSeconds]; got != 19 {
		t.Errorf("a new container that took more than the old one: %g", got)
	}
	if _, is := f[FigureServerCPU]; is {
		t.Error("a transfer has no transactions")
	}
	o.Members["x-1"] = Window{Before: Sample{MetricCPU: 1}}
	if _, is := o.Figures()[FigureCPUSeconds]; is {
		t.Error("a sum without one of the nodes")
	}
}

func TestTransactionFigures(t *testing.T) {
	at := func(cpu, bytes, paused, failed float64) Sample {
		return Sample{MetricCPU: cpu, MetricReplicated: bytes, MetricPaused: paused, MetricCertFailure: failed,
			MetricBFAborts: failed}
	}
	start := time.Unix(1e9, 0)
	o := Output{
		StartedAt: start, EndedAt: start.Add(10 * time.Second),
		OLTP:   &OLTPResult{Transactions: 1000, TPS: 100},
		Client: Usage{CPUSeconds: 2},
		Members: map[string]Window{"x-0": {Before: at(1, 0, 0, 1), After: at(2, 5e5, 1e9, 2)},
			"x-1": {Before: at(1, 0, 0, 0), After: at(3, 5e5, 0, 3)}},
	}
	f := o.Figures()
	for name, want := range map[string]float64{FigureTPS: 100, FigureServerCPU: 3000, FigureClientCPU: 2000,
		FigureReplicatedBytes: 1000, FigureFlowControl: 5, FigureDeadlocks: 8} {
		if f[name] != want {
			t.Errorf("%s: %g, want %g", name, f[name], want)
		}
	}
}

func TestResumedFigure(t *testing.T) {
	o := Output{Connect: &ConnectResult{Connections: 200, Resumed: 150, Resumption: ResumptionOn}}
	if got := o.Figures()[FigureResumed]; got != 75 {
		t.Errorf("got %g", got)
	}
	o.Connect.Resumption = ResumptionOff
	if _, is := o.Figures()[FigureResumed]; is {
		t.Error("a figure that is not asked for")
	}
}

func TestCipherFigures(t *testing.T) {
	o := Output{Cipher: &CipherResult{Speeds: []Speed{{Record: 16, Megabytes: 54}, {Record: 8192, Megabytes: 924},
		{Record: 16384, Megabytes: 1000}}}}
	want := map[string]float64{"megabytesPerSecond16B": 54, "megabytesPerSecond8KiB": 924, FigureMegabytesPerSecond: 1000}
	if got := o.Figures(); !maps.Equal(got, want) {
		t.Errorf("got %v", got)
	}
	for record, name := range CipherFigures {
		if !slices.Contains(FigureNames, name) || LowerIsBetter(name) {
			t.Errorf("%d: %s", record, name)
		}
	}
}

func TestProxyFigures(t *testing.T) {
	o := Output{Connect: &ConnectResult{Connections: 1000, Pooled: true, Backend: 1}, Client: Usage{CPUSeconds: 0.5},
		Proxy:   Usage{CPUSeconds: 0.2, MemoryBytes: 3 << 20},
		Members: map[string]Window{"x-0": {Before: Sample{MetricCPU: 1}, After: Sample{MetricCPU: 2}}}}
	f := o.Figures()
	for name, want := range map[string]float64{FigureClientCPU: 500, FigureProxyCPU: 200, FigureProxyMemory: 3,
		FigureBackend: 0.1} {
		if math.Abs(f[name]-want) > 1e-9 {
			t.Errorf("%s: %g, want %g", name, f[name], want)
		}
	}
	o.Connect.Pooled, o.Proxy = false, Usage{}
	for _, name := range []string{FigureProxyCPU, FigureProxyMemory, FigureBackend} {
		if _, is := o.Figures()[name]; is {
			t.Errorf("%s without a proxy", name)
		}
	}
}

// TestAnswerFigures: queries and bytes per second, and what each answer took.
func TestAnswerFigures(t *testing.T) {
	o := Output{Answers: &AnswersResult{Answers: 1000, Size: 10000, Paced: Paced{Seconds: 2, PerSecond: 500, P50: 1}},
		Client: Usage{CPUSeconds: 0.5},
		Members: map[string]Window{"x-0": {Before: Sample{MetricCPU: 1, MetricSent: 0},
			After: Sample{MetricCPU: 2, MetricSent: 11e6}}}}
	f := o.Figures()
	for name, want := range map[string]float64{FigureQPS: 500, FigureMegabytesPerSecond: 5, FigureP50: 1,
		FigureServerCPU: 1000, FigureClientCPU: 500, FigureSentBytes: 11000} {
		if math.Abs(f[name]-want) > 1e-9 {
			t.Errorf("%s: %g, want %g", name, f[name], want)
		}
	}
	if _, is := f[FigureConnectionsPerSecond]; is {
		t.Error("connections that were not made")
	}
}

func TestSentFigures(t *testing.T) {
	o := Output{OLTP: &OLTPResult{Transactions: 1000, LatencyAvg: 5}, Members: map[string]Window{
		"x-0": {Before: Sample{MetricSent: 1e6}, After: Sample{MetricSent: 3e6}},
		"x-1": {Before: Sample{MetricSent: 0}, After: Sample{MetricSent: 1e6}}}}
	if f := o.Figures(); f[FigureSentBytes] != 3000 || f[FigureAverage] != 5 {
		t.Errorf("got %v", f)
	}
	o.Members["x-1"] = Window{Before: Sample{MetricCPU: 1}}
	if _, is := o.Figures()[FigureSentBytes]; is {
		t.Error("a sum without one of the nodes")
	}
}
