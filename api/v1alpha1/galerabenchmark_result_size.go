package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ResultSizeWorkload asks for one value of a chosen size repeatedly, as fast as possible, on connections that stay
// open. No table is read: what is measured is the way of the answer to the client.
//
// +kubebuilder:validation:XValidation:rule="!has(self.duration) || (duration(self.duration) >= duration('1s') && duration(self.duration) <= duration('2h') && duration(self.duration).getMilliseconds() % 1000 == 0)",message="duration must be 1s to 2h, in whole seconds"
type ResultSizeWorkload struct {
	// sizes lists sizes of the answer in bytes, each 1 to 8388608 and below the cluster's max_allowed_packet. Each is
	// measured. Default: [100, 10240, 1048576].
	// +optional
	// +kubebuilder:default={100,10240,1048576}
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:Minimum=1
	// +kubebuilder:validation:items:Maximum=8388608
	Sizes []int32 `json:"sizes,omitempty"`

	// threads lists numbers of connections, each 1 to 1024. Each is measured. Default: [4].
	// +optional
	// +kubebuilder:default={4}
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:Minimum=1
	// +kubebuilder:validation:items:Maximum=1024
	Threads []int32 `json:"threads,omitempty"`

	// duration of a run, 1s to 2h in whole seconds. Default: 30s.
	// +optional
	Duration *metav1.Duration `json:"duration,omitempty"`

	// target: AllNodes spreads connections over all nodes in turn; Primary uses one node. Default: Primary.
	// +optional
	// +kubebuilder:default=Primary
	// +kubebuilder:validation:Enum=AllNodes;Primary
	Target string `json:"target,omitempty"`
}
