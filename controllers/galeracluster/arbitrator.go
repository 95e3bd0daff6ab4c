package galeracluster

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/plan"
	"github.com/galera-operator/galera-operator/internal/resources"
	"github.com/galera-operator/galera-operator/internal/status"
)

// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;patch;delete

// actOnArbitrator carries out what is done to the arbitrator's Deployment; done reports whether it was such an action.
func (r *Reconciler) actOnArbitrator(ctx context.Context, in status.Input, a plan.Action) (done bool, err error) {
	f := in.Facts
	switch a := a.(type) {
	case plan.ApplyArbitrator:
		imaged, _ := r.publisher().Imaged(f, in.Seen)
		d := resources.Arbitrator(imaged, r.Options, a.Running)
		if f.Arbitrator != nil {
			// What was decided from an old state is never applied over a newer one.
			d.ResourceVersion = f.Arbitrator.ResourceVersion
		}
		if err := r.Objects.Apply(ctx, f.Cluster.UID, resources.ServiceAccount(f.Cluster)); err != nil {
			return true, err // it would run under an account that is not the cluster's
		}
		return true, r.Objects.Apply(ctx, f.Cluster.UID, d)
	case plan.RemoveArbitrator:
		return true, r.removeArbitrator(ctx, f)
	}
	return false, nil
}

// removeArbitrator deletes the Deployment. The Service is left behind then, and goes like whatever is (prune).
func (r *Reconciler) removeArbitrator(ctx context.Context, f observe.Facts) error {
	if f.Arbitrator == nil || !metav1.IsControlledBy(f.Arbitrator, f.Cluster) {
		return nil
	}
	meta := metav1.ObjectMeta{Namespace: f.Cluster.Namespace, Name: resources.ArbitratorName(f.Cluster)}
	uid := f.Arbitrator.UID
	return client.IgnoreNotFound(r.Delete(ctx, &appsv1.Deployment{ObjectMeta: meta}, client.Preconditions{UID: &uid},
		client.PropagationPolicy(metav1.DeletePropagationBackground)))
}

// arbitratorTarget is the arbitrator's agent. All nodes have one certificate, and so has the arbitrator.
func arbitratorTarget(f observe.Facts, ca string) (observe.Target, bool) {
	p := f.ArbitratorPod
	if p == nil || p.Status.PodIP == "" {
		return observe.Target{}, false
	}
	return observe.Target{
		Pod: resources.ArbitratorName(f.Cluster), UID: p.UID, Address: p.Status.PodIP,
		ServerName: resources.ServerName(f.Cluster, resources.PodName(f.Cluster, 0)), CA: ca,
	}, true
}

// podOf is the pod of an agent.
func podOf(in status.Input, name string) *corev1.Pod {
	if name == resources.ArbitratorName(in.Facts.Cluster) {
		return in.Facts.ArbitratorPod
	}
	return in.Facts.Pods[name]
}
