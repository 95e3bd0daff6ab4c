// Package cached decides what the operator's cache keeps of the objects it watches: what is read of them, and not the
// rest, so that its memory grows with its clusters as little as it can. What the cache returns is not whole: such an
// object is patched, or applied from a desired state, and never written back. The operator's roles have no verb for
// that.
package cached

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ByObject returns what is kept of each kind of which not all is.
func ByObject() map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{
		&corev1.Pod{}:                   keep(pod),
		&corev1.Service{}:               keep(service),
		&corev1.ServiceAccount{}:        keep(serviceAccount),
		&corev1.PersistentVolumeClaim{}: keep(claim),
		&appsv1.StatefulSet{}:           keep(statefulSet),
		&appsv1.Deployment{}:            keep(deployment),
		&policyv1.PodDisruptionBudget{}: keep(disruptionBudget),
		&networkingv1.NetworkPolicy{}:   keep(networkPolicy),
	}
}

// keep makes a transform of what is kept of a kind. What is no such object, as the mark of a missed deletion, passes.
func keep[T any](slim func(*T) *T) cache.ByObject {
	return cache.ByObject{Transform: func(o any) (any, error) {
		if whole, is := o.(*T); is {
			return slim(whole), nil
		}
		return o, nil
	}}
}

func pod(p *corev1.Pod) *corev1.Pod {
	s := p.Status
	return &corev1.Pod{ObjectMeta: object(p.ObjectMeta), Spec: podSpec(p.Spec), Status: corev1.PodStatus{
		Phase: s.Phase, PodIP: s.PodIP, StartTime: s.StartTime, Conditions: podConditions(s.Conditions),
		InitContainerStatuses: containerStatuses(s.InitContainerStatuses),
		ContainerStatuses:     containerStatuses(s.ContainerStatuses),
	}}
}

func service(s *corev1.Service) *corev1.Service {
	return &corev1.Service{ObjectMeta: object(s.ObjectMeta), Spec: corev1.ServiceSpec{Selector: s.Spec.Selector}}
}

func serviceAccount(a *corev1.ServiceAccount) *corev1.ServiceAccount {
	return &corev1.ServiceAccount{ObjectMeta: object(a.ObjectMeta)}
}

func claim(c *corev1.PersistentVolumeClaim) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{ObjectMeta: object(c.ObjectMeta),
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: c.Spec.StorageClassName, Resources: c.Spec.Resources, VolumeName: c.Spec.VolumeName,
		},
		Status: corev1.PersistentVolumeClaimStatus{Phase: c.Status.Phase, Capacity: c.Status.Capacity,
			Conditions: c.Status.Conditions},
	}
}

func statefulSet(s *appsv1.StatefulSet) *appsv1.StatefulSet {
	slim := &appsv1.StatefulSet{ObjectMeta: object(s.ObjectMeta),
		Spec: appsv1.StatefulSetSpec{Replicas: s.Spec.Replicas, Template: template(s.Spec.Template)},
		Status: appsv1.StatefulSetStatus{ObservedGeneration: s.Status.ObservedGeneration,
			UpdateRevision: s.Status.UpdateRevision},
	}
	for i := range s.Spec.VolumeClaimTemplates {
		slim.Spec.VolumeClaimTemplates = append(slim.Spec.VolumeClaimTemplates, *claim(&s.Spec.VolumeClaimTemplates[i]))
	}
	return slim
}

func deployment(d *appsv1.Deployment) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: object(d.ObjectMeta), Spec: appsv1.DeploymentSpec{Replicas: d.Spec.Replicas,
		Template: template(d.Spec.Template)},
		Status: appsv1.DeploymentStatus{Replicas: d.Status.Replicas, ReadyReplicas: d.Status.ReadyReplicas}}
}

func disruptionBudget(b *policyv1.PodDisruptionBudget) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{ObjectMeta: object(b.ObjectMeta)}
}

func networkPolicy(p *networkingv1.NetworkPolicy) *networkingv1.NetworkPolicy {
	return &networkingv1.NetworkPolicy{ObjectMeta: object(p.ObjectMeta)}
}

// object keeps everything but the record of who wrote which field, and long annotations of others.
func object(m metav1.ObjectMeta) metav1.ObjectMeta {
	m.ManagedFields = nil
	clip(m.Annotations)
	return m
}
