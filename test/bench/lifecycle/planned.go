package main

import (
	"context"
	"errors"
)

// Goals of a planned change: seconds without a write, and failed statements of one connection.
const (
	plannedGap    = 0.5
	plannedFailed = 1
)

// measurePlanned measures what clients of NAME-primary see of changes that are made on purpose.
func measurePlanned(ctx context.Context, b *bench) (out []Figure, err error) {
	restarts := 0
	for _, change := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"the primary's pod is deleted", b.deletePrimary},
		{"the primary's host is drained", b.drainPrimary},
		{"rolling restart of all", func(ctx context.Context) error { restarts++; return b.restartAll(ctx, restarts) }},
		{"leaf renewal", func(ctx context.Context) error { _, err := b.renew(ctx); return err }},
		{"replacement of the CA", b.replaceCA},
	} {
		var gaps, failed []float64
		for range b.options.rounds {
			seen, err := b.underWriter(ctx, change.do)
			if err != nil {
				return out, err
			}
			gaps, failed = append(gaps, seen.gap), append(failed, seen.most)
		}
		out = append(out,
			figure(change.name+": longest write gap", "s", 0, plannedGap, "over NAME-primary", gaps...),
			figure(change.name+": failed statements", "", 0, plannedFailed, "of the connection that had the most", failed...))
	}
	return out, nil
}

func (b *bench) deletePrimary(ctx context.Context) error {
	primary, err := b.cluster.Primary(ctx)
	if err != nil {
		return err
	}
	old, err := b.cluster.Pods().Delete(ctx, primary)
	if err != nil {
		return err
	}
	return errors.Join(b.cluster.Pods().WaitReplaced(ctx, primary, old, recoverTime),
		b.cluster.WaitHealthy(ctx, recoverTime))
}

// drainPrimary does what kubectl drain does, one after the other. The host takes pods again at once: the volume is
// there.
func (b *bench) drainPrimary(ctx context.Context) (err error) {
	primary, err := b.cluster.Primary(ctx)
	if err != nil {
		return err
	}
	pod, err := b.cluster.Pod(ctx, primary)
	if err != nil {
		return err
	}
	host := pod.Spec.NodeName
	if err := b.kube.Hosts().Cordon(ctx, host, true); err != nil {
		return err
	}
	err = b.cluster.Pods().Evict(ctx, primary)
	if err := errors.Join(err, b.kube.Hosts().Cordon(context.WithoutCancel(ctx), host, false)); err != nil {
		return err
	}
	return errors.Join(b.cluster.Pods().WaitReplaced(ctx, primary, pod.UID, recoverTime),
		b.cluster.WaitHealthy(ctx, recoverTime))
}
