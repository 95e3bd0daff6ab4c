package job

import (
	"maps"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// schedule puts a pod where those of a cluster run, nil for none, unless its store says otherwise.
func schedule(p *corev1.PodSpec, c *v1alpha1.GaleraCluster, s *v1alpha1.GaleraBackupStore) {
	defer limitMemory(&p.Containers[0])
	if c != nil {
		ofCluster(p, c)
	}
	own := s.Spec.Pods.DeepCopy()
	if own == nil {
		return
	}
	if own.NodeSelector != nil {
		p.NodeSelector = own.NodeSelector
	}
	if own.Tolerations != nil {
		p.Tolerations = own.Tolerations
	}
	if own.PriorityClassName != "" {
		p.PriorityClassName = own.PriorityClassName
	}
	if own.ImagePullSecrets != nil {
		p.ImagePullSecrets = own.ImagePullSecrets
	}
	p.Containers[0].Resources = merged(p.Containers[0].Resources, own.Resources)
}

// ofCluster puts a pod where the cluster's pods may run.
func ofCluster(p *corev1.PodSpec, c *v1alpha1.GaleraCluster) {
	from := c.Spec.Scheduling.DeepCopy()
	p.NodeSelector, p.Tolerations, p.PriorityClassName = from.NodeSelector, from.Tolerations, from.PriorityClassName
	p.ImagePullSecrets = append([]corev1.LocalObjectReference{}, c.Spec.ImagePullSecrets...)
}

// limitMemory has the program collect garbage before the kernel ends it.
func limitMemory(c *corev1.Container) {
	if limit := c.Resources.Limits.Memory().Value(); limit > 0 {
		c.Env = append(c.Env, corev1.EnvVar{Name: "GOMEMLIMIT", Value: strconv.FormatInt(limit/10*9, 10)})
	}
}

// merged are resources with what a person has given in their place. A default request is no larger than a limit, nor a
// default limit smaller than a request.
func merged(to, given corev1.ResourceRequirements) corev1.ResourceRequirements {
	set := func(defaults, want, bounds corev1.ResourceList,
		beyond func(was, bound resource.Quantity) bool) corev1.ResourceList {
		out := maps.Clone(defaults)
		for name, was := range defaults {
			if bound, there := bounds[name]; there && beyond(was, bound) {
				out[name] = bound
			}
		}
		maps.Copy(out, want)
		return out
	}
	return corev1.ResourceRequirements{
		Requests: set(to.Requests, given.Requests, given.Limits,
			func(was, bound resource.Quantity) bool { return was.Cmp(bound) > 0 }),
		Limits: set(to.Limits, given.Limits, given.Requests,
			func(was, bound resource.Quantity) bool { return was.Cmp(bound) < 0 }),
	}
}
