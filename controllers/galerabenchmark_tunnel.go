package controllers

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/apply"
	"github.com/galera-operator/galera-operator/internal/bench/jobs"
	"github.com/galera-operator/galera-operator/internal/bench/tunnel"
	"github.com/galera-operator/galera-operator/internal/bench/wire"
)

// makeTunnel makes the SSH server of a Job, and tells the Job's plan about it. It may be repeated until the Job is there.
func (r *GaleraBenchmarkReconciler) makeTunnel(ctx context.Context, b *v1alpha1.GaleraBenchmark, seen benchmarkFacts, job string, p *wire.Plan, images jobs.Images) error {
	if err := jobs.RouteThrough(p, b, job, seen.Pods); err != nil {
		return err
	}
	if err := r.makeTunnelKeys(ctx, b, job); err != nil {
		return err
	}
	for _, o := range jobs.Tunnel(b, seen.Cluster, job, *p, images) {
		if err := r.applyObject(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// makeTunnelKeys keeps the keys that are there: the server may have read them.
func (r *GaleraBenchmarkReconciler) makeTunnelKeys(ctx context.Context, b *v1alpha1.GaleraBenchmark, job string) error {
	files, err := tunnel.NewFiles()
	if err != nil {
		return err
	}
	secret := jobs.TunnelSecret(b, job, files)
	err = r.Create(ctx, secret, client.FieldOwner(apply.FieldOwner))
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	have := &corev1.Secret{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(secret), have); err != nil {
		return err
	}
	if !metav1.IsControlledBy(have, b) {
		// That of an earlier benchmark of this name goes by itself.
		return fmt.Errorf("the Secret %q exists and is not this benchmark's", have.Name)
	}
	return nil
}

// removeTunnel removes the SSH server of a Job, if it has one.
func (r *GaleraBenchmarkReconciler) removeTunnel(ctx context.Context, b *v1alpha1.GaleraBenchmark, job string) error {
	if !jobs.HasTunnels(b) {
		return nil
	}
	for _, o := range jobs.TunnelParts(b, job) {
		if err := client.IgnoreNotFound(r.Delete(ctx, o, client.PropagationPolicy(metav1.DeletePropagationBackground))); err != nil {
			return err
		}
	}
	return nil
}
