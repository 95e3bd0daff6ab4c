package galerabenchmark

import (
	"context"
	"crypto/rand"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/experiment"
	"github.com/galera-operator/galera-operator/internal/bench/objects"
	"github.com/galera-operator/galera-operator/internal/bench/result"
	"github.com/galera-operator/galera-operator/internal/ownership"
)

// makeWay makes what a Job's connections go through, and adds it to the Job's plan and images. It may be repeated until
// the Job is there.
func (own parts) makeWay(ctx context.Context, b *v1alpha1.GaleraBenchmark, seen benchmarkFacts, cell experiment.Cell,
	jobName string, p *result.Plan, images *objects.Images) error {
	if objects.UsesTunnel(cell) {
		return own.makeTunnel(ctx, b, seen, jobName, cell, p, *images)
	}
	if _, ref := experiment.Through(cell.Workload); ref != nil {
		p.ProxyPods = objects.ProxyPods(seen.Pods, ref.Name)
	}
	if spec := objects.ProxyOf(cell); spec != nil {
		images.Proxy = spec.Image
		return own.makeProxy(ctx, b, jobName, *p)
	}
	return nil
}

// makeTunnel makes the tunnel's server of a Job, and adds it to the Job's plan. Keys that are there are kept: the
// server may have read them.
func (own parts) makeTunnel(ctx context.Context, b *v1alpha1.GaleraBenchmark, seen benchmarkFacts, jobName string,
	cell experiment.Cell, p *result.Plan, images objects.Images) error {
	if err := objects.RouteThrough(p, b, jobName, cell, seen.Pods); err != nil {
		return err
	}
	files, err := objects.TunnelFiles(cell)
	if err != nil {
		return err
	}
	secret := objects.TunnelSecret(b, jobName, files)
	if err := ownership.Keep(ctx, own.Client, own.Live, b.UID, secret); err != nil {
		return err
	}
	return own.apply(ctx, b, objects.Tunnel(b, seen.Cluster, jobName, *p, images))
}

// proxyProblem is why a GaleraProxy cannot be measured. Its message is "" when it can.
type proxyProblem struct {
	reason, message string
	stalled         bool // until someone acts
}

// proxyProblem returns why a GaleraProxy cannot be measured. It can when it is one of the cluster, and was seen to be
// Ready and Encrypted.
func (own parts) proxyProblem(ctx context.Context, b *v1alpha1.GaleraBenchmark, name string) (proxyProblem, error) {
	wait := func(format string, a ...any) (proxyProblem, error) {
		return proxyProblem{v1alpha1.ReasonPreparingAccess, fmt.Sprintf(format, a...), false}, nil
	}
	p := &v1alpha1.GaleraProxy{}
	err := own.Live.Get(ctx, client.ObjectKey{Namespace: b.Namespace, Name: name}, p)
	switch {
	case apierrors.IsNotFound(err):
		return proxyProblem{v1alpha1.ReasonProxyNotFound, fmt.Sprintf("there is no GaleraProxy %q in this namespace: create "+
			"it, with clusterRef %q", name, objects.ClusterName(b)), true}, nil
	case err != nil:
		return proxyProblem{}, err
	case p.Spec.ClusterRef.Name != objects.ClusterName(b):
		return proxyProblem{v1alpha1.ReasonProxyOfAnotherCluster, fmt.Sprintf("the GaleraProxy %q belongs to the cluster "+
			"%q, and this benchmark measures %q: create one with that clusterRef, and another benchmark that names it", name,
			p.Spec.ClusterRef.Name, objects.ClusterName(b)), true}, nil
	case p.DeletionTimestamp != nil:
		return wait("the GaleraProxy %q is being deleted: create it again when it is gone", name)
	}
	for _, kind := range []string{v1alpha1.ConditionReady, v1alpha1.ConditionEncrypted} {
		c := meta.FindStatusCondition(p.Status.Conditions, kind)
		switch {
		case c == nil || p.Status.ObservedGeneration != p.Generation:
			return wait("waiting for the operator to handle the GaleraProxy %q", name)
		case c.Status != metav1.ConditionTrue:
			return wait("waiting for the GaleraProxy %q, which is not %s: %s: %s", name, kind, c.Reason, c.Message)
		}
	}
	return proxyProblem{}, nil
}

// makeProxy makes the configuration of a Job's pooling proxy. One that is there is kept: the proxy may have read it.
func (own parts) makeProxy(ctx context.Context, b *v1alpha1.GaleraBenchmark, jobName string, p result.Plan) error {
	password, err := own.accountPassword(ctx, b)
	if err != nil {
		return err
	}
	return ownership.Keep(ctx, own.Client, own.Live, b.UID, objects.ProxySecret(b, jobName, p, password, rand.Text()))
}

// removeParts removes what a Job's connections went through.
func (own parts) removeParts(ctx context.Context, b *v1alpha1.GaleraBenchmark, jobName string) error {
	for _, o := range objects.Parts(b, jobName) {
		if err := ownership.Remove(ctx, own.Client, own.Live, b.UID, o,
			client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
			return err
		}
	}
	return nil
}
