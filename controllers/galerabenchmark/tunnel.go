package galerabenchmark

import (
	"context"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/apply"
	"github.com/galera-operator/galera-operator/internal/bench/jobs"
	"github.com/galera-operator/galera-operator/internal/bench/tunnel"
	"github.com/galera-operator/galera-operator/internal/bench/wire"
)

// makeTunnel makes the SSH server of a Job, and tells the Job's plan about it. It may be repeated until the Job is there.
func (r *Reconciler) makeTunnel(ctx context.Context, b *v1alpha1.GaleraBenchmark, seen benchmarkFacts, job string, p *wire.Plan, images jobs.Images) error {
	if err := jobs.RouteThrough(p, b, job, seen.Pods); err != nil {
		return err
	}
	if err := r.makeTunnelKeys(ctx, b, job); err != nil {
		return err
	}
	for _, o := range jobs.Tunnel(b, seen.Cluster, job, *p, images) {
		if err := apply.Own(ctx, r.Client, r.Live, b.UID, o); err != nil {
			return err
		}
	}
	return nil
}

// makeTunnelKeys keeps the keys that are there: the server may have read them.
func (r *Reconciler) makeTunnelKeys(ctx context.Context, b *v1alpha1.GaleraBenchmark, job string) error {
	files, err := tunnel.NewFiles()
	if err != nil {
		return err
	}
	return apply.Keep(ctx, r.Client, r.Live, b.UID, jobs.TunnelSecret(b, job, files))
}
