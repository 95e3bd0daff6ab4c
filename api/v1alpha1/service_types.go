package v1alpha1

import corev1 "k8s.io/api/core/v1"

// ServiceSpec configures a Service.
//
// +kubebuilder:validation:XValidation:rule="!has(self.externalTrafficPolicy) || (has(self.type) && self.type != 'ClusterIP')",message="externalTrafficPolicy needs type NodePort or LoadBalancer"
type ServiceSpec struct {
	// type of the Service: ClusterIP, NodePort or LoadBalancer. Default: ClusterIP.
	// +optional
	// +kubebuilder:default=ClusterIP
	// +kubebuilder:validation:Enum=ClusterIP;NodePort;LoadBalancer
	Type corev1.ServiceType `json:"type,omitempty"`
	// labels of the Service, beside the operator's. Keys of galera-operator.io and kubernetes.io are set by others.
	// +optional
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.contains('galera-operator.io/') && !k.contains('kubernetes.io/'))",message="labels of galera-operator.io and kubernetes.io are set by others"
	Labels map[string]string `json:"labels,omitempty"`
	// annotations of the Service, for instance for a load balancer.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
	// loadBalancerClass of a Service of type LoadBalancer.
	// +optional
	LoadBalancerClass *string `json:"loadBalancerClass,omitempty"`
	// loadBalancerSourceRanges are the CIDRs from which a load balancer accepts clients.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	LoadBalancerSourceRanges []string `json:"loadBalancerSourceRanges,omitempty"`
	// externalTrafficPolicy of a Service of type NodePort or LoadBalancer: Cluster, or Local, which keeps the clients' addresses and
	// answers only on hosts with such a node. Default: Cluster.
	// +optional
	// +kubebuilder:validation:Enum=Cluster;Local
	ExternalTrafficPolicy corev1.ServiceExternalTrafficPolicy `json:"externalTrafficPolicy,omitempty"`
	// internalTrafficPolicy: Cluster, or Local, which leads a pod to nodes on its own host only, and nowhere if there is none. Default: Cluster.
	// +optional
	// +kubebuilder:validation:Enum=Cluster;Local
	InternalTrafficPolicy corev1.ServiceInternalTrafficPolicy `json:"internalTrafficPolicy,omitempty"`
}
