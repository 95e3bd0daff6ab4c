package main

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/cached"
)

// cacheOptions keep only objects with the cluster label, without their managed fields and what is not read of them
// here: the operator's memory grows with its clusters and not with everything else in Kubernetes.
func cacheOptions(opts *options) cache.Options {
	hasCluster, err := labels.NewRequirement(v1alpha1.LabelCluster, selection.Exists, nil)
	if err != nil {
		panic(err)
	}
	strip := cached.Bounded(cache.TransformStripManagedFields())
	o := cache.Options{
		DefaultLabelSelector: labels.NewSelector().Add(*hasCluster),
		DefaultTransform:     strip,
		ByObject:             cached.ByObject(),
		NewInformer:          cached.NewInformer,
	}
	o.ByObject[&corev1.Node{}] = cache.ByObject{Label: labels.Everything(), Transform: slimHost}
	for _, all := range []client.Object{&v1alpha1.GaleraCluster{}, &v1alpha1.GaleraBackup{}, &v1alpha1.GaleraBackupStore{},
		&v1alpha1.GaleraBackupSchedule{}, &v1alpha1.GaleraUser{}, &v1alpha1.GaleraDatabase{}, &v1alpha1.GaleraProxy{},
		&v1alpha1.GaleraRestore{}} {
		o.ByObject[all] = cache.ByObject{Label: labels.Everything()}
	}
	for _, n := range opts.namespaces() {
		if o.DefaultNamespaces == nil {
			o.DefaultNamespaces = map[string]cache.Config{}
		}
		o.DefaultNamespaces[n] = cache.Config{}
	}
	return o
}

// slimHost keeps what is read of a host: whether it takes new pods.
func slimHost(o any) (any, error) {
	n, ok := o.(*corev1.Node)
	if !ok {
		return o, nil
	}
	slim := &corev1.Node{Spec: corev1.NodeSpec{Unschedulable: n.Spec.Unschedulable}}
	slim.Name, slim.UID, slim.ResourceVersion = n.Name, n.UID, n.ResourceVersion
	return slim, nil
}
