package report

import (
	"fmt"
	"time"

	"github.com/galera-operator/galera-operator/internal/bench/result"
)

// machinery reports what measuring itself took: the time outside measured windows, and the processor time of
// the process that starts and watches the load generator, in addition to that of the load generator. In other
// workloads than oltp that process is the client itself.
func machinery(b Benchmark) (out [][2]string) {
	var measured, wall time.Duration
	var client, own float64
	for _, r := range b.Records {
		if r.Output == nil || r.Index == 0 {
			continue
		}
		measured += r.Output.EndedAt.Sub(r.Output.StartedAt)
		if s := b.Resource.Status.StartedAt; s != nil {
			wall = max(wall, r.Output.EndedAt.Sub(s.Time))
		}
		if r.Kind == result.KindOLTP {
			client, own = client+r.Output.Client.CPUSeconds, own+r.Output.Runner.CPUSeconds
		}
	}
	if end := b.Resource.Status.CompletedAt; end != nil && b.Resource.Status.StartedAt != nil {
		wall = end.Sub(b.Resource.Status.StartedAt.Time)
	}
	if measured > 0 && wall > 0 {
		out = append(out, [2]string{"time", fmt.Sprintf("%s, of which %s measured (%.0f %% outside)",
			wall.Round(time.Second), measured.Round(time.Second), 100*(1-measured.Seconds()/wall.Seconds()))})
	}
	if client > 0 {
		out = append(out, [2]string{"the runner's own CPU", fmt.Sprintf("%.1f %% of the load generator's", 100*own/client)})
	}
	return out
}
