package report

import (
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/result"
)

// charts draws what a benchmark has figures for: overhead, the figures themselves, latencies, and each arm over time.
func charts(b Benchmark) (out []*plot.Plot, err error) {
	results := b.Resource.Status.Results
	for _, draw := range []func([]v1alpha1.BenchmarkResult) ([]*plot.Plot, error){overheads, figures, latencies} {
		plots, err := draw(results)
		if err != nil {
			return nil, err
		}
		out = append(out, plots...)
	}
	for _, draw := range []func(Benchmark) ([]*plot.Plot, error){bySize, overTime} {
		plots, err := draw(b)
		if err != nil {
			return nil, err
		}
		out = append(out, plots...)
	}
	return out, nil
}

// overheads are bars with their 95 % intervals; grey where the interval includes zero.
func overheads(results []v1alpha1.BenchmarkResult) ([]*plot.Plot, error) {
	var all []bar
	var names []string
	for _, r := range results {
		if r.OverheadPercent == "" {
			continue
		}
		v := number(r.OverheadPercent)
		one := bar{value: v, low: v, high: v, colour: undecided}
		if r.OverheadLow != "" {
			// Two rounds may leave an interval that makes every bar a line; its ends are in the table.
			one.low, one.high = max(number(r.OverheadLow), -100), min(number(r.OverheadHigh), max(200, 2*v))
		}
		if r.Significant != nil && *r.Significant {
			one.colour = palette[0]
		}
		all, names = append(all, one), append(names, title(r)+"\n"+r.Arm)
	}
	if len(all) == 0 {
		return nil, nil
	}
	p := newPlot("Cost against the baseline, with 95 % intervals", "", "percent (grey: may be chance)")
	return []*plot.Plot{p}, bars(p, names, []string{""}, func(_, group int) *bar { return &all[group] })
}

// units are what the axis of a figure says.
var units = map[string]string{
	result.FigureTPS: "transactions per second", result.FigureQPS: "queries per second",
	result.FigureConnectionsPerSecond: "connections per second", result.FigureSeconds: "seconds",
	result.FigureMegabytesPerSecond: "MB per second",
}

// figures are the medians of what is compared, one chart for every kind of it.
func figures(results []v1alpha1.BenchmarkResult) (out []*plot.Plot, err error) {
	var metrics []string
	for _, r := range results {
		if figure(r, r.Metric) != nil {
			metrics = once(metrics, r.Metric)
		}
	}
	for _, m := range metrics {
		some := slices.DeleteFunc(slices.Clone(results), func(r v1alpha1.BenchmarkResult) bool { return r.Metric != m })
		p := newPlot("Medians of all rounds, with their intervals", "", units[m])
		if err := byArm(p, some, m); err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// byArm draws one figure of results: a group for every workload, a bar for every arm.
func byArm(p *plot.Plot, results []v1alpha1.BenchmarkResult, name string) error {
	groups, arms, at := arrange(results)
	return bars(p, groups, arms, func(arm, group int) *bar {
		f := figure(at[groups[group]+"/"+arms[arm]], name)
		if f == nil {
			return nil
		}
		return &bar{value: number(f.Median), low: number(f.Low), high: number(f.High), colour: palette[arm%len(palette)]}
	})
}

// arrange returns the workloads, the arms, and what there is of both.
func arrange(results []v1alpha1.BenchmarkResult) (groups, arms []string, at map[string]v1alpha1.BenchmarkResult) {
	at = map[string]v1alpha1.BenchmarkResult{}
	for _, r := range results {
		groups, arms = once(groups, title(r)), once(arms, r.Arm)
		at[title(r)+"/"+r.Arm] = r
	}
	return groups, arms, at
}

// percentiles are what is drawn of latencies, where it was measured.
var percentiles = []struct{ name, figure string }{
	{"p50", result.FigureP50}, {"p95 before", result.FigureP95Before}, {"p95", result.FigureP95},
	{"p99", result.FigureP99},
}

// latencies are percentiles of every workload, side by side for the arms.
func latencies(results []v1alpha1.BenchmarkResult) ([]*plot.Plot, error) {
	results = slices.DeleteFunc(slices.Clone(results),
		func(r v1alpha1.BenchmarkResult) bool { return figure(r, result.FigureP95) == nil })
	if len(results) == 0 {
		return nil, nil
	}
	workloads, arms, at := arrange(results)
	type column struct{ workload, figure string }
	var groups []string
	var columns []column
	for _, w := range workloads {
		for _, q := range percentiles {
			if slices.ContainsFunc(arms, func(arm string) bool { return figure(at[w+"/"+arm], q.figure) != nil }) {
				groups, columns = append(groups, w+" "+q.name), append(columns, column{w, q.figure})
			}
		}
	}
	p := newPlot("Latency by percentile", "", "milliseconds")
	return []*plot.Plot{p}, bars(p, groups, arms, func(arm, group int) *bar {
		f := figure(at[columns[group].workload+"/"+arms[arm]], columns[group].figure)
		if f == nil {
			return nil
		}
		return &bar{value: number(f.Median), low: number(f.Low), high: number(f.High), colour: palette[arm%len(palette)]}
	})
}

func once(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

// series is what a run reports second by second, nil when it reports nothing.
func series(o *result.Output) (points plotter.XYs) {
	var all []result.Point
	switch {
	case o.OLTP != nil:
		all = o.OLTP.Series
	case o.Connect != nil:
		all = o.Connect.Series
	case o.Answers != nil:
		all = o.Answers.Series
	case o.Operation != nil:
		all = o.Operation.Series
	case o.Transfer != nil:
		all = o.Transfer.Series
	}
	for _, s := range all {
		points = append(points, plotter.XY{X: s.Second, Y: s.TPS})
	}
	return points
}

// load is one figure of what all nodes used.
func load(o *result.Output, of func(result.LoadPoint) float64) (points plotter.XYs) {
	for _, p := range o.Load {
		points = append(points, plotter.XY{X: p.Second, Y: of(p)})
	}
	return points
}

// what a run's series counts.
func what(o *result.Output) string {
	switch {
	case o.Connect != nil:
		return "connections per second"
	case o.Answers != nil:
		return "queries per second"
	}
	return "transactions per second"
}

// tracks are what is drawn over time.
var tracks = []struct {
	title  string
	label  func(*result.Output) string
	points func(*result.Output) plotter.XYs
}{
	{"First round, second by second: ", what, series},
	{"First round, CPU of all nodes: ", func(*result.Output) string { return "busy processors" },
		func(o *result.Output) plotter.XYs { return load(o, func(p result.LoadPoint) float64 { return p.CPU }) }},
	{"First round, network of all nodes: ", func(*result.Output) string { return "MB sent per second" },
		func(o *result.Output) plotter.XYs { return load(o, func(p result.LoadPoint) float64 { return p.Sent }) }},
}

// overTime draws the tracks of the first round, one line for every arm, one chart for every workload.
func overTime(b Benchmark) (out []*plot.Plot, err error) {
	arms := b.Resource.Status.ArmNames
	plots, lines := map[string]*plot.Plot{}, map[*plot.Plot]int{}
	for _, r := range b.Records {
		if !r.Valid || r.Round != 1 || r.Output == nil {
			continue
		}
		for _, t := range tracks {
			points := t.points(r.Output)
			if len(points) < 2 {
				continue
			}
			name := t.title + strings.TrimSpace(r.Workload+" "+r.Variant)
			p := plots[name]
			if p == nil {
				p = newPlot(name, "seconds", t.label(r.Output))
				plots[name] = p
				out = append(out, p)
			}
			line, err := plotter.NewLine(points)
			if err != nil {
				return nil, err
			}
			line.Color, line.Width = palette[max(0, slices.Index(arms, r.Arm))%len(palette)], vg.Points(1.6)
			lines[p]++
			p.Add(line)
			p.Legend.Add(r.Arm, line)
		}
	}
	for _, p := range out {
		p.Y.Min = 0
		roomForLegend(p, lines[p]+1)
	}
	return out, nil
}
