package main

import (
	"context"
	"fmt"
	"time"
)

// settle is how long a cluster is left alone before its operator counts as idle.
const settle = 45 * time.Second

// measureIdle watches the operator while one healthy cluster of three needs nothing.
func measureIdle(ctx context.Context, b *bench) ([]Figure, error) {
	if err := wait(ctx, settle); err != nil {
		return nil, err
	}
	before, err := b.kube.Operator().Usage(ctx)
	if err != nil {
		return nil, err
	}
	if err := wait(ctx, b.options.idle); err != nil {
		return nil, err
	}
	after, err := b.kube.Operator().Usage(ctx)
	if err != nil {
		return nil, err
	}
	span := after.At.Sub(before.At)
	const mebi = 1 << 20
	note := fmt.Sprintf("over %s, one healthy cluster", span.Round(time.Second))
	out := []Figure{
		figure("idle operator: resident memory", "MiB", 62, 40, note, float64(after.Resident)/mebi),
		figure("idle operator: processor", "millicores", 6, 5, note, 1000*(after.CPU-before.CPU).Seconds()/span.Seconds()),
		figure("idle operator: API requests", "per minute", 3.6, 3, note+"; its own "+"rest_client_requests_total",
			(after.Requests-before.Requests)/span.Minutes()),
	}
	if after.WorkingSet > 0 {
		out = append(out, figure("idle operator: working set", "MiB", 62, 40, "as kubelet counts it",
			float64(after.WorkingSet)/mebi))
	}
	return out, nil
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
