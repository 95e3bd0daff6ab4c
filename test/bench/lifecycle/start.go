package main

import (
	"context"
	"fmt"
	"time"

	"github.com/galera-operator/galera-operator/test/harness"
)

const (
	startTime   = 5 * time.Minute
	recoverTime = 4 * time.Minute
)

// measureStart times three encrypted nodes from nothing, several times; the last cluster stays.
func measureStart(ctx context.Context, b *bench) ([]Figure, error) {
	var times []float64
	for round := range b.options.rounds {
		if b.cluster != nil {
			if err := b.cluster.Delete(ctx); err != nil {
				return nil, err
			}
		}
		took, err := b.create(ctx, fmt.Sprintf("shop%d", round))
		if err != nil {
			return nil, err
		}
		times = append(times, seconds(took))
	}
	return []Figure{figure("apply → Ready, three encrypted nodes", "s", 99, 45, "images present", times...)}, nil
}

// prepare makes sure that there is a healthy cluster.
func (b *bench) prepare(ctx context.Context) error {
	if b.cluster == nil {
		if _, err := b.create(ctx, "shop"); err != nil {
			return err
		}
	}
	return b.cluster.WaitHealthy(ctx, recoverTime)
}

// create makes a new cluster and returns how long it took to be Ready.
func (b *bench) create(ctx context.Context, name string) (time.Duration, error) {
	start := time.Now()
	c, err := b.kube.CreateCluster(ctx, harness.Build(b.namespace, name))
	if err != nil {
		return 0, err
	}
	b.cluster = c
	err = c.WaitReady(ctx, startTime)
	return time.Since(start), err
}

// writer writes as an application would: a few connections through the Service of the primary.
func (b *bench) writer(ctx context.Context) (*harness.Writer, error) {
	w, err := harness.StartWriter(ctx, b.cluster, harness.WriterOptions{Connections: 4, Interval: 5 * time.Millisecond})
	if err != nil {
		return nil, err
	}
	return w, w.WaitForMore(ctx, 200, time.Minute)
}

// check ends the writing and makes sure that the figures are not paid for with lost data.
func check(ctx context.Context, w *harness.Writer) error {
	if err := w.WaitForMore(ctx, 200, time.Minute); err != nil {
		return err
	}
	w.Stop()
	return w.Check(ctx)
}
