package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/galera-operator/galera-operator/test/harness"
)

// results of all rounds.
type results struct {
	bytes                   int64
	backup, backupHand      []time.Duration
	gap, gapHand            []time.Duration
	restoreHand, oneProgram []time.Duration
	one, three              []time.Duration
	ssts                    int
}

// measure takes all methods in turns, so that what the machine does alongside strikes all alike.
func (b *bench) measure(ctx context.Context) (r results, err error) {
	for round := range b.options.rounds {
		if err := b.round(ctx, &r, round); err != nil {
			return r, err
		}
	}
	return r, nil
}

func (b *bench) round(ctx context.Context, r *results, round int) error {
	backup, node, err := b.measureBackup(ctx, r, round)
	if err != nil {
		return err
	}
	if err := b.measureByHand(ctx, r, node); err != nil {
		return err
	}
	for _, replicas := range []int32{1, 3} {
		got, err := b.restore(ctx, backup, replicas, round)
		if err != nil {
			return err
		}
		b.kube.Log("restore of %d: Ready after %s, the program ran for %s", replicas, got.ready.Round(100*time.Millisecond),
			got.program)
		r.ssts += got.ssts
		if replicas == 1 {
			r.one, r.oneProgram = append(r.one, got.ready), append(r.oneProgram, got.program)
		} else {
			r.three = append(r.three, got.ready)
		}
	}
	return nil
}

func (b *bench) measureBackup(ctx context.Context, r *results, round int) (name, node string, err error) {
	gap, err := b.underWriter(ctx, func() error {
		backup, took, err := b.byOperator(ctx, round)
		if err != nil {
			return err
		}
		name, node, r.bytes = backup.Name, backup.Status.Node, backup.Status.DataSize.Value()
		r.backup = append(r.backup, took)
		b.kube.Log("by the operator: %s", took)
		return nil
	})
	r.gap = append(r.gap, gap)
	return name, node, err
}

func (b *bench) measureByHand(ctx context.Context, r *results, node string) error {
	if err := b.tools(ctx, node); err != nil {
		return err
	}
	gap, err := b.underWriter(ctx, func() error {
		took, err := b.backupByHand(ctx, node)
		r.backupHand = append(r.backupHand, took)
		b.kube.Log("by hand: %s", took.Round(100*time.Millisecond))
		return err
	})
	r.gapHand = append(r.gapHand, gap)
	if err != nil {
		return err
	}
	took, err := b.restoreByHand(ctx, node)
	r.restoreHand = append(r.restoreHand, took)
	b.kube.Log("restored by hand: %s", took.Round(100*time.Millisecond))
	return err
}

// underWriter does something while a client writes, and returns the longest time without an acknowledged write.
func (b *bench) underWriter(ctx context.Context, do func() error) (time.Duration, error) {
	w, err := harness.StartWriter(ctx, b.cluster, harness.WriterOptions{Connections: 4, Interval: 5 * time.Millisecond})
	if err != nil {
		return 0, err
	}
	defer w.Stop()
	if err := w.WaitForMore(ctx, 200, time.Minute); err != nil {
		return 0, err
	}
	start := time.Now()
	if err := do(); err != nil {
		return 0, err
	}
	return w.LongestGap(start).Length, nil
}

// print writes medians and ratios.
func (r results) print(to io.Writer, o options) error {
	if len(r.three) == 0 {
		return nil
	}
	t := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	row := func(what string, values []time.Duration) {
		var all []string
		for _, v := range values {
			all = append(all, fmt.Sprintf("%.2f", v.Seconds()))
		}
		_, _ = fmt.Fprintf(t, "%s\t%.2f s\t%v\n", what, median(values).Seconds(), all)
	}
	_, _ = fmt.Fprintf(t, "WHAT\tMEDIAN\tROUNDS\n")
	row("backup, by the operator", r.backup)
	row("backup, by hand on the same node", r.backupHand)
	row("longest write gap meanwhile, by the operator", r.gap)
	row("longest write gap meanwhile, by hand", r.gapHand)
	row("restore of one node, by the operator: get, unpack, prepare, begin a history, bring to the disk", r.oneProgram)
	row("restore by hand: get, unpack, prepare", r.restoreHand)
	row("one node: created to Ready", r.one)
	row("three nodes: created to Ready", r.three)
	_, _ = fmt.Fprintf(t, "\n")
	_, _ = fmt.Fprintf(t, "backup: rate of the operator / by hand\t%.2f\n",
		median(r.backupHand).Seconds()/median(r.backup).Seconds())
	_, _ = fmt.Fprintf(t, "restore: rate of the operator / by hand\t%.2f\n",
		median(r.restoreHand).Seconds()/median(r.oneProgram).Seconds())
	_, _ = fmt.Fprintf(t, "Ready: three nodes / one node\t%.2f\n", median(r.three).Seconds()/median(r.one).Seconds())
	_, _ = fmt.Fprintf(t, "full transfers (SST) in all restores\t%d\n", r.ssts)
	_, _ = fmt.Fprintf(t, "\n%d MiB in the backup, %d rounds of each way, in turns\n", r.bytes>>20, o.rounds)
	return t.Flush()
}

func median(values []time.Duration) time.Duration {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
