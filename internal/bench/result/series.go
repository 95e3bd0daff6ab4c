package result

import (
	"maps"
	"math"
	"slices"
)

// maxSeries points are kept of a run: with the rest of it they must fit into a ConfigMap.
const maxSeries = 3600

// Thin shortens what is too long to be kept.
func (o *Output) Thin() {
	s := o.Series()
	*s, o.Load = thinned(*s, average), thinned(o.Load, averageLoad)
}

// Series is the course of a run; of one that has none it is empty.
func (o *Output) Series() *[]Point {
	switch {
	case o.OLTP != nil:
		return &o.OLTP.Series
	case o.Connect != nil:
		return &o.Connect.Series
	case o.Answers != nil:
		return &o.Answers.Series
	case o.Operation != nil:
		return &o.Operation.Series
	case o.Transfer != nil:
		return &o.Transfer.Series
	}
	return &[]Point{}
}

// Slim drops what no figure is made of, and, once there is one, what only the verdict wants.
func (o *Output) Slim(judged bool) {
	if o.Transfer == nil || judged {
		*o.Series() = nil
	}
	if o.OLTP != nil {
		o.OLTP.Histogram = nil
	}
	o.Load = nil
	for _, w := range o.Members {
		w.Before.slim()
		w.After.slim()
	}
}

// slim drops what neither a verdict nor a figure is made of: a server has hundreds of counters.
func (s Sample) slim() {
	maps.DeleteFunc(s, func(name string, _ float64) bool { return !slices.Contains(counted, name) })
}

// thinned makes one point of as many neighbours as it takes.
func thinned[P any](all []P, average func([]P) P) []P {
	n := (len(all) + maxSeries - 1) / maxSeries
	if n < 2 {
		return all
	}
	out := make([]P, 0, maxSeries)
	for ; len(all) > 0; all = all[min(n, len(all)):] {
		out = append(out, average(all[:min(n, len(all))]))
	}
	return out
}

func average(some []Point) Point {
	var sum Point
	for _, p := range some {
		sum.TPS, sum.P95, sum.Errors, sum.Reconnects = sum.TPS+p.TPS, sum.P95+p.P95, sum.Errors+p.Errors,
			sum.Reconnects+p.Reconnects
	}
	n := float64(len(some))
	return Point{Second: some[len(some)-1].Second, TPS: rounded(sum.TPS / n), P95: rounded(sum.P95 / n),
		Errors: rounded(sum.Errors / n), Reconnects: rounded(sum.Reconnects / n)}
}

func averageLoad(some []LoadPoint) LoadPoint {
	var sum LoadPoint
	for _, p := range some {
		sum.CPU, sum.Sent = sum.CPU+p.CPU, sum.Sent+p.Sent
	}
	n := float64(len(some))
	return LoadPoint{Second: some[len(some)-1].Second, CPU: rounded(sum.CPU / n), Sent: rounded(sum.Sent / n)}
}

// rounded is as exact as sysbench's own figures: all digits of a quotient would take more space than the points saved.
func rounded(v float64) float64 { return math.Round(v*100) / 100 }
