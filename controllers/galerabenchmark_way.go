package controllers

import (
	"context"
	"crypto/rand"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/apply"
	"github.com/galera-operator/galera-operator/internal/bench/jobs"
	"github.com/galera-operator/galera-operator/internal/bench/matrix"
	"github.com/galera-operator/galera-operator/internal/bench/wire"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// makeWay makes what a Job's connections go through, and tells the Job's plan and images about it. It may be repeated until
// the Job is there.
func (r *GaleraBenchmarkReconciler) makeWay(ctx context.Context, b *v1alpha1.GaleraBenchmark, seen benchmarkFacts, cell matrix.Cell, job string, p *wire.Plan, images *jobs.Images) error {
	if jobs.UsesTunnel(cell) {
		return r.makeTunnel(ctx, b, seen, job, p, *images)
	}
	if spec := jobs.ProxyOf(cell); spec != nil {
		images.Proxy = spec.Image
		return r.makeProxy(ctx, b, seen.Cluster, job, *p)
	}
	return nil
}

// makeProxy makes the configuration of a Job's pooling proxy. One that is there is kept: the proxy may have read it.
func (r *GaleraBenchmarkReconciler) makeProxy(ctx context.Context, b *v1alpha1.GaleraBenchmark, c *v1alpha1.GaleraCluster, job string, p wire.Plan) error {
	root := &corev1.Secret{}
	if err := r.Live.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: resources.RootSecretName(c)}, root); err != nil {
		return err
	}
	password := agentapi.RootPassword(root.Data[agentapi.RootPasswordKey])
	return r.createOwn(ctx, b, jobs.ProxySecret(b, job, p, password, rand.Text()))
}

// createOwn makes a Secret, and keeps the one that is there.
func (r *GaleraBenchmarkReconciler) createOwn(ctx context.Context, b *v1alpha1.GaleraBenchmark, secret *corev1.Secret) error {
	err := r.Create(ctx, secret, client.FieldOwner(apply.FieldOwner))
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

// removeParts removes what a Job's connections went through.
func (r *GaleraBenchmarkReconciler) removeParts(ctx context.Context, b *v1alpha1.GaleraBenchmark, job string) error {
	for _, o := range jobs.Parts(b, job) {
		if err := client.IgnoreNotFound(r.Delete(ctx, o, client.PropagationPolicy(metav1.DeletePropagationBackground))); err != nil {
			return err
		}
	}
	return nil
}
