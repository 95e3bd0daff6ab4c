package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/galera-operator/galera-operator/test/harness"
)

// What the best known operator takes on the same kind of stack, in seconds: docs/figures.md.
const (
	bestUp   = 138
	bestDown = 99
	bestGap  = 4.9
)

// scaling is what a writer saw of a cluster that grew from three nodes to five and shrank again.
type scaling struct {
	up, down []float64 // seconds until all were Synced and Ready
	gap      []float64 // longest time without a write, seconds
	replaced int       // nodes that ran all the time and were restarted
}

// scale measures that with a small cluster of its own: what a copy costs is measured already.
func (b *bench) scale(ctx context.Context) (out scaling, err error) {
	c, err := b.kube.CreateCluster(ctx, harness.Build(b.namespace, "scale"))
	if err != nil {
		return out, err
	}
	if err := c.WaitReady(ctx, patience); err != nil {
		return out, err
	}
	w, err := harness.StartWriter(ctx, c, harness.WriterOptions{Connections: 4, Interval: 5 * time.Millisecond})
	if err != nil {
		return out, err
	}
	defer w.Stop()
	if err := w.WaitForMore(ctx, 200, time.Minute); err != nil {
		return out, err
	}
	for range b.options.rounds {
		if err := out.round(ctx, c, w); err != nil {
			return out, err
		}
	}
	w.Stop()
	return out, w.Check(ctx)
}

func (s *scaling) round(ctx context.Context, c *harness.Cluster, w *harness.Writer) error {
	before, err := c.Pods().Runs(ctx)
	if err != nil {
		return err
	}
	start := time.Now()
	up, err := scaleTo(ctx, c, 5)
	if err != nil {
		return err
	}
	down, err := scaleTo(ctx, c, 3)
	if err != nil {
		return err
	}
	s.up, s.down = append(s.up, up), append(s.down, down)
	s.gap = append(s.gap, w.LongestGap(start).Length.Seconds())
	after, err := c.Pods().Runs(ctx)
	for name, run := range before {
		if err == nil && after[name] != run {
			s.replaced++
		}
	}
	return err
}

func scaleTo(ctx context.Context, c *harness.Cluster, replicas int32) (float64, error) {
	start := time.Now()
	if err := c.Scale(ctx, replicas); err != nil {
		return 0, err
	}
	err := c.WaitHealthy(ctx, patience)
	return time.Since(start).Seconds(), err
}

// print writes the medians in addition to those of the best known operator.
func (s *scaling) print(to io.Writer) error {
	if len(s.gap) == 0 {
		return nil
	}
	t := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintf(t, "\nSCALING UNDER LOAD\tSECONDS\tROUNDS\tBEST KNOWN\tOF IT\n")
	for _, row := range []struct {
		name   string
		values []float64
		best   float64
	}{{"3 to 5: all Ready", s.up, bestUp}, {"5 to 3: all Ready", s.down, bestDown},
		{"longest write gap", s.gap, bestGap}} {
		m := median(row.values)
		_, _ = fmt.Fprintf(t, "%s\t%.1f\t%.1f\t%.1f\t%.2f\n", row.name, m, row.values, row.best, m/row.best)
	}
	_, _ = fmt.Fprintf(t, "nodes restarted in addition to those that came and went\t%d\n", s.replaced)
	return t.Flush()
}
