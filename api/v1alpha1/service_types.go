package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ServiceSpec configures a Service.
//
// +kubebuilder:validation:XValidation:rule="!has(self.externalTrafficPolicy) || (has(self.type) && self.type != 'ClusterIP')",message="externalTrafficPolicy needs type NodePort or LoadBalancer"
type ServiceSpec struct {
	// type of the Service: ClusterIP, NodePort or LoadBalancer. Default: ClusterIP.
	// +optional
	// +kubebuilder:default=ClusterIP
	// +kubebuilder:validation:Enum=ClusterIP;NodePort;LoadBalancer
	Type corev1.ServiceType `json:"type,omitempty"`
	// labels of the Service, in addition to the operator's. Keys of galera-operator.io and kubernetes.io are reserved.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.contains('galera-operator.io/') && !k.contains('kubernetes.io/'))",message="labels of galera-operator.io and kubernetes.io are reserved: choose another key"
	Labels map[string]string `json:"labels,omitempty"`
	// annotations of the Service, for instance for a load balancer.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
	// loadBalancerClass of a Service of type LoadBalancer.
	// +optional
	LoadBalancerClass *string `json:"loadBalancerClass,omitempty"`
	// loadBalancerSourceRanges are the CIDRs from which a load balancer accepts clients. Default: all.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	LoadBalancerSourceRanges []string `json:"loadBalancerSourceRanges,omitempty"`
	// externalTrafficPolicy of a Service of type NodePort or LoadBalancer: Cluster or Local. Local keeps the clients'
	// addresses, and answers only on hosts that run a selected node. Default: Cluster.
	// +optional
	// +kubebuilder:validation:Enum=Cluster;Local
	ExternalTrafficPolicy corev1.ServiceExternalTrafficPolicy `json:"externalTrafficPolicy,omitempty"`
	// internalTrafficPolicy: Cluster or Local. With Local a client pod reaches nodes on its own host only, and none if the
	// host runs none. Default: Cluster.
	// +optional
	// +kubebuilder:validation:Enum=Cluster;Local
	InternalTrafficPolicy corev1.ServiceInternalTrafficPolicy `json:"internalTrafficPolicy,omitempty"`
}

// ReadOnlyServiceSpec configures the Service NAME-readonly.
type ReadOnlyServiceSpec struct {
	ServiceSpec `json:",inline"`
	// maxLag is how far a cluster that follows another one (spec.replicaOf, or spec.bootstrapFrom.external.follow) may be
	// behind it, 5s to 24h. While it is further behind, or how far is not known, the Service leads to no node: the
	// condition WithinMaxLag is False then. Connections that are open stay open, and NAME leads to all Synced nodes still.
	// It has no effect on a cluster that does not follow. Default: no limit.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('5s') && duration(self) <= duration('24h')",message="maxLag is 5s to 24h"
	MaxLag *metav1.Duration `json:"maxLag,omitempty"`
}
