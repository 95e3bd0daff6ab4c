package result

import (
	"strings"
	"testing"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// TestPartOf: rate, latency and the longest time without a commit, the ends included.
func TestPartOf(t *testing.T) {
	var commits []Commit
	for i := range 100 {
		at := float64(i) / 10
		if at > 4 && at < 6 {
			continue
		}
		commits = append(commits, Commit{at, float64(1 + i%10)})
	}
	for name, tc := range map[string]struct {
		from, to float64
		want     Part
	}{
		"undisturbed":       {0, 3.95, Part{TPS: 40 / 3.95, P95: 10, Gap: 100}},
		"stands still":      {3, 7, Part{TPS: 22.0 / 4, P95: 10, Gap: 2000}},
		"until the end":     {9, 14, Part{TPS: 2, P95: 10, Gap: 4100}},
		"nothing committed": {4.2, 5.7, Part{Gap: 1500}},
	} {
		got := PartOf(commits, tc.from, tc.to)
		if abs(got.TPS-tc.want.TPS) > 1e-9 || abs(got.P95-tc.want.P95) > 1 || abs(got.Gap-tc.want.Gap) > 1e-6 {
			t.Errorf("%s: %+v, want %+v", name, got, tc.want)
		}
	}
}

func abs(v float64) float64 { return max(v, -v) }

func TestOperationFigures(t *testing.T) {
	o := Output{Operation: &OperationFacts{Seconds: 3, Transactions: 1000, Errors: 2,
		Before: Part{TPS: 200, P95: 5, Gap: 30}, During: Part{TPS: 150, P95: 9, Gap: 700}},
		Members: map[string]Window{"x-0": {Before: Sample{MetricCPU: 1}, After: Sample{MetricCPU: 2}}}}
	f := o.Figures()
	for name, want := range map[string]float64{FigureTPS: 150, FigureTPSBefore: 200, FigureLoadLoss: 25, FigureP95: 9,
		FigureP95Before: 5, FigureGap: 700, FigureGapBefore: 30, FigureSeconds: 3, FigureErrors: 2} {
		if f[name] != want {
			t.Errorf("%s: %g, want %g", name, f[name], want)
		}
	}
	if _, is := f[FigureServerCPU]; is {
		t.Error("processor time of a load that is not the same all the time")
	}
}

// TestWhatAnOperationDoes: a restart makes a node another server and changes the view; no other operation does.
func TestWhatAnOperationDoes(t *testing.T) {
	restart := func(o *Output) {
		o.Members["x-1"].After[MetricStarted], o.Members["x-0"].After[MetricView], o.Members["x-1"].After[MetricView] = 200,
			9, 9
	}
	for name, tc := range map[string]struct {
		facts OperationFacts
		edit  func(*Output)
		want  string
	}{
		"renewal": {OperationFacts{Name: v1alpha1.OperationRenewal, Transactions: 10}, func(*Output) {}, ""},
		"renewal with a restart": {OperationFacts{Name: v1alpha1.OperationRenewal, Transactions: 10}, restart,
			"a node left or joined"},
		"restart": {OperationFacts{Name: v1alpha1.OperationRestart, Node: "x-1", Kind: "IST", Transactions: 10},
			restart, ""},
		"restart of another": {OperationFacts{Name: v1alpha1.OperationRestart, Node: "x-0", Kind: "IST", Transactions: 10},
			restart, "x-1 was restarted"},
		"restart by a copy": {OperationFacts{Name: v1alpha1.OperationRestart, Node: "x-1", Kind: "SST", Transactions: 10},
			restart, "x-1 came back by SST instead of IST"},
		"a new container, limited": {
			OperationFacts{Name: v1alpha1.OperationRestart, Node: "x-1", Kind: "IST", Transactions: 10},
			func(o *Output) { restart(o); o.Members["x-1"].After[MetricThrottled] = 1 },
			"x-1 ran into its CPU limit (1 periods)"},
		"a join by IST": {OperationFacts{Name: v1alpha1.OperationJoinIST, Node: "x-1", Kind: "IST", Transactions: 10},
			restart, ""},
		"a join by a copy": {OperationFacts{Name: v1alpha1.OperationJoinSST, Node: "x-1", Kind: "SST", Transactions: 10},
			restart, ""},
		"a copy by IST": {OperationFacts{Name: v1alpha1.OperationJoinSST, Node: "x-1", Kind: "IST", Transactions: 10},
			restart, "x-1 came back by IST instead of SST"},
		"a switch": {OperationFacts{Name: v1alpha1.OperationSwitch, Transactions: 10}, restart, ""},
		"a backup": {OperationFacts{Name: v1alpha1.OperationBackup, Transactions: 10},
			func(o *Output) { o.Members["x-1"].After[MetricSynced] = 0 }, ""},
		"a backup with a restart": {OperationFacts{Name: v1alpha1.OperationBackup, Transactions: 10}, restart,
			"a node left or joined"},
		"promotion": {OperationFacts{Name: v1alpha1.OperationPromotion, Node: "x-1", Transactions: 100, Errors: 4},
			func(*Output) {}, ""},
		"many failed": {OperationFacts{Name: v1alpha1.OperationPromotion, Node: "x-1", Transactions: 10, Errors: 10,
			LastError: "EOF"}, func(*Output) {}, "50.0 % of the transactions failed (limit: 5 %); the client's last error: EOF"},
	} {
		o := quiet()
		o.OLTP, o.Operation = nil, &tc.facts
		tc.edit(o)
		if got := Judge(o, Limits{FailedPercent: 5}); got.Valid != (tc.want == "") || !strings.Contains(got.Reason, tc.want) {
			t.Errorf("%s: %+v, want %q", name, got, tc.want)
		}
	}
}

// TestQuantile by the nearest rank: of ten values the fifth is the median, and of twenty the nineteenth is the 95th
// percentile, not the largest.
func TestQuantile(t *testing.T) {
	var values []float64
	for i := range 20 {
		values = append(values, float64(i+1))
	}
	for _, tc := range []struct {
		of      []float64
		p, want float64
	}{{values[:10], 50, 5}, {values[:10], 100, 10}, {values, 95, 19}, {values[:1], 99, 1}, {values[:2], 0, 1},
		{nil, 50, 0}} {
		if got := Quantile(tc.of, tc.p); got != tc.want {
			t.Errorf("%v %% of %v: got %v, want %v", tc.p, tc.of, got, tc.want)
		}
	}
}
