package galerabenchmark

import (
	"context"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/experiment"
	"github.com/galera-operator/galera-operator/internal/bench/objects"
	"github.com/galera-operator/galera-operator/internal/bench/result"
	"github.com/galera-operator/galera-operator/internal/ownership"
)

// makeTunnel makes the tunnel's server of a Job, and adds it to the Job's plan. It may be repeated until the Job is
// there.
func (own parts) makeTunnel(ctx context.Context, b *v1alpha1.GaleraBenchmark, seen benchmarkFacts, jobName string,
	cell experiment.Cell, p *result.Plan, images objects.Images) error {
	if err := objects.RouteThrough(p, b, jobName, cell, seen.Pods); err != nil {
		return err
	}
	if err := own.makeTunnelKeys(ctx, b, jobName, cell); err != nil {
		return err
	}
	for _, o := range objects.Tunnel(b, seen.Cluster, jobName, *p, images) {
		if err := ownership.Own(ctx, own.Client, own.Live, b.UID, o); err != nil {
			return err
		}
	}
	return nil
}

// makeTunnelKeys keeps the keys that are there: the server may have read them.
func (own parts) makeTunnelKeys(ctx context.Context, b *v1alpha1.GaleraBenchmark, jobName string,
	cell experiment.Cell) error {
	files, err := objects.TunnelFiles(cell)
	if err != nil {
		return err
	}
	return ownership.Keep(ctx, own.Client, own.Live, b.UID, objects.TunnelSecret(b, jobName, files))
}
