package measure

import (
	"context"
	"math"
	"time"

	"github.com/galera-operator/galera-operator/internal/bench/result"
)

// loadPace is how often the nodes' counters are read for the pictures. All figures are made of those at both ends.
const loadPace = 2 * time.Second

// record reads what all nodes use until ctx ends.
func (a agents) record(ctx context.Context) (points []result.LoadPoint) {
	begin := time.Now()
	last, lastAt := a.samples(ctx), begin
	tick := time.NewTicker(loadPace)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return points
		case <-tick.C:
		}
		now, at := a.samples(ctx), time.Now()
		if p, ok := loadBetween(last, now, at.Sub(lastAt)); ok && ctx.Err() == nil {
			p.Second = rounded(at.Sub(begin).Seconds())
			points = append(points, p)
		}
		last, lastAt = now, at
	}
}

// loadBetween is what all nodes used between two readings. ok is false when a node did not report, or is another one.
func loadBetween(before, after map[string]result.Sample, span time.Duration) (p result.LoadPoint, ok bool) {
	if len(after) == 0 || span <= 0 {
		return p, false
	}
	for name, a := range after {
		b := before[name]
		used, known := b[result.MetricCPU]
		if a == nil || !known || a[result.MetricCPU] < used || a[result.MetricSent] < b[result.MetricSent] {
			return p, false
		}
		p.CPU += a[result.MetricCPU] - used
		p.Sent += a[result.MetricSent] - b[result.MetricSent]
	}
	p.CPU, p.Sent = rounded(p.CPU/span.Seconds()), rounded(p.Sent/1e6/span.Seconds())
	return p, true
}

func rounded(v float64) float64 { return math.Round(v*100) / 100 }
