package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// GaleraBenchmark measures what encryption costs on your nodes: every workload is run against
// every arm (one TLS policy each), in several rounds, and the differences are reported with their
// confidence intervals in status.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=gbench,categories=all
// +kubebuilder:printcolumn:name="Progress",type=string,JSONPath=`.status.progress`,description="Runs that count of all runs"
// +kubebuilder:printcolumn:name="Arms",type=string,JSONPath=`.status.armNames`,description="What is compared; the baseline is the first"
// +kubebuilder:printcolumn:name="Verdict",type=string,JSONPath=`.status.verdict`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Status",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Complete")].message`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 34 && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="the name becomes part of the private cluster's and the Jobs' names: at most 34 lower-case letters, digits and '-', starting with a letter"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.cluster.template) || !has(self.spec.cluster.template.stateTransfer) || !has(self.spec.cluster.template.stateTransfer.donors) || self.spec.cluster.template.stateTransfer.donors.all(d, d.startsWith(self.metadata.name + '-db-') && d.size() == self.metadata.name.size() + 5 && d.matches('[0-6]$'))",message="cluster.template.stateTransfer.donors must be names of the private cluster's nodes: NAME-db-0 to NAME-db-6"
type GaleraBenchmark struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what to measure. It cannot be changed once it is made, except for suspend and
	// ttlAfterFinished: results of two different questions would be mixed. A benchmark whose
	// cluster.template is edited after its cluster was made stops until that is set back.
	// +required
	Spec GaleraBenchmarkSpec `json:"spec"`

	// status is what has been measured so far.
	// +optional
	// +kubebuilder:default:={"observedGeneration":-1}
	Status GaleraBenchmarkStatus `json:"status,omitempty"`
}

// GaleraBenchmarkList is a list of GaleraBenchmark.
//
// +kubebuilder:object:root=true
type GaleraBenchmarkList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []GaleraBenchmark `json:"items"`
}

// GaleraBenchmarkSpec is what to measure.
//
// +kubebuilder:validation:XValidation:rule="!has(self.baseline) || self.arms.exists(a, a.name == self.baseline)",message="baseline must be the name of one of the arms"
// +kubebuilder:validation:XValidation:rule="self.arms.size() * self.workloads.map(w, has(w.oltp) ? w.oltp.threads.size() : has(w.connect) ? w.connect.threads.size() * w.connect.tlsVersions.size() * w.connect.sessionResumption.size() * w.connect.latency.size() : has(w.stateTransfer) ? w.stateTransfer.methods.map(m, m == 'Rsync' ? 1 : w.stateTransfer.parallel.size()).sum() * w.stateTransfer.ciphers.size() * w.stateTransfer.cpuAcceleration.size() : 0).sum() <= 56",message="the matrix has more than 56 combinations of arm and workload: make several benchmarks, which can be compared with each other"
// +kubebuilder:validation:XValidation:rule="!has(self.cluster.template) || !has(self.cluster.template.deletionProtection) || !self.cluster.template.deletionProtection",fieldPath=".cluster.template.deletionProtection",message="a benchmark deletes its private cluster at the end: deletionProtection must be false"
// +kubebuilder:validation:XValidation:rule="has(self.cluster.template) || !self.workloads.exists(w, has(w.stateTransfer))",message="a stateTransfer workload throws a node's data away again and again: it needs a private cluster (cluster.template)"
// +kubebuilder:validation:XValidation:rule="!has(self.cluster.template) || self.cluster.template.replicas > 1 || !self.workloads.exists(w, has(w.stateTransfer))",message="a stateTransfer workload takes a node's data away, and another node has to give it a copy: it needs a cluster of two nodes at least"
// +kubebuilder:validation:XValidation:rule="!has(self.cluster.template) || !has(self.cluster.template.stateTransfer) || !(has(self.cluster.template.stateTransfer.rateLimit) || has(self.cluster.template.stateTransfer.bufferPoolHint) || has(self.cluster.template.stateTransfer.compression) && self.cluster.template.stateTransfer.compression != 'None') || !self.workloads.exists(w, has(w.stateTransfer) && 'Rsync' in w.stateTransfer.methods)",message="compression, rateLimit and bufferPoolHint of cluster.template work with the method MariaBackup only, and a stateTransfer workload has Rsync among its methods"
// +kubebuilder:validation:XValidation:rule="self.arms == oldSelf.arms && self.workloads == oldSelf.workloads && self.rounds == oldSelf.rounds && self.order == oldSelf.order && self.seed == oldSelf.seed",message="arms, workloads, rounds, order and seed cannot be changed: make another benchmark, and compare the two"
// +kubebuilder:validation:XValidation:rule="self.client == oldSelf.client && self.maxRetries == oldSelf.maxRetries && self.maxFailedPercent == oldSelf.maxFailedPercent",message="client, maxRetries and maxFailedPercent cannot be changed: make another benchmark, and compare the two"
// +kubebuilder:validation:XValidation:rule="has(self.baseline) == has(oldSelf.baseline) && (!has(self.baseline) || self.baseline == oldSelf.baseline)",message="baseline cannot be changed: make another benchmark, and compare the two"
type GaleraBenchmarkSpec struct {
	// cluster is what is measured.
	// +required
	Cluster BenchmarkCluster `json:"cluster"`

	// arms are the TLS policies that are compared, 1 to 12.
	// +required
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=12
	Arms []BenchmarkArm `json:"arms"`

	// baseline is the arm the others are compared with. Default: the first one.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Baseline string `json:"baseline,omitempty"`

	// workloads are what is run against every arm, 1 to 8.
	// +required
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	Workloads []BenchmarkWorkload `json:"workloads"`

	// rounds is how often every combination is measured, 1 to 20. With 1 there is no interval and
	// nothing is ever significant; 5 or more are advisable. Default: 5.
	// +optional
	// +kubebuilder:default=5
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=20
	Rounds int32 `json:"rounds,omitempty"`

	// order of the runs. Interleaved measures every arm once in every round, each round in another
	// order, so that what drifts (caches, neighbours, temperature) touches all arms alike.
	// Sequential measures all rounds of one arm before the next one, with the fewest switches.
	// Default: Interleaved.
	// +optional
	// +kubebuilder:default=Interleaved
	// +kubebuilder:validation:Enum=Interleaved;Sequential
	Order string `json:"order,omitempty"`

	// seed of the order and of the load generator's random numbers: the same seed makes the same
	// benchmark. Default: 1.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	Seed int64 `json:"seed,omitempty"`

	// maxRetries is how often a run that was disturbed (a restart, a node that left, CPU throttling,
	// a transfer of state, too many failed transactions) is repeated, 0 to 10. Default: 2.
	// +optional
	// +kubebuilder:default=2
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=10
	MaxRetries *int32 `json:"maxRetries,omitempty"`

	// maxFailedPercent is the share of failed transactions (certification failures, errors and
	// reconnects) above which a run does not count, in percent, 0 to 100. Default: 5.
	// +optional
	// +kubebuilder:default=5
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	MaxFailedPercent *int32 `json:"maxFailedPercent,omitempty"`

	// client is where the load comes from.
	// +optional
	// +kubebuilder:default={}
	Client BenchmarkClient `json:"client,omitempty"`

	// ttlAfterFinished is how long the benchmark, with its results, is kept after its end, for
	// instance 168h; 0s removes it at once. Default: for ever.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s')",message="ttlAfterFinished must be 0s or more, in hours, minutes and seconds (168h, not 7d)"
	TTLAfterFinished *metav1.Duration `json:"ttlAfterFinished,omitempty"`

	// suspend pauses after the run that is going on. Set it back to false and it goes on.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// BenchmarkCluster says what is measured: exactly one of template and ref.
//
// +kubebuilder:validation:XValidation:rule="has(self.template) != has(self.ref)",message="set exactly one of template (a private cluster) and ref (an existing one)"
// +kubebuilder:validation:XValidation:rule="has(self.template) == has(oldSelf.template) && (!has(self.ref) || self.ref.name == oldSelf.ref.name)",message="the cluster cannot be exchanged for another one: make another benchmark, and compare the two"
// +kubebuilder:validation:XValidation:rule="!has(self.ref) || !has(oldSelf.ref) || self.ref.allowPolicyChanges == oldSelf.ref.allowPolicyChanges",message="allowPolicyChanges cannot be changed: make the benchmark anew"
type BenchmarkCluster struct {
	// template is the spec of a private GaleraCluster NAME-db. It is made for the benchmark, switched from
	// arm to arm, and removed with its data when all is measured.
	// +optional
	Template *GaleraClusterSpec `json:"template,omitempty"`

	// ref names an existing GaleraCluster of the same namespace.
	// +optional
	Ref *BenchmarkClusterRef `json:"ref,omitempty"`
}

// BenchmarkClusterRef names an existing cluster.
type BenchmarkClusterRef struct {
	// name of the GaleraCluster.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	Name string `json:"name"`

	// allowPolicyChanges lets the benchmark change the cluster's spec.tls from arm to arm. The policy is put
	// back at the end, also when the benchmark fails or is deleted. Without it, arms whose policy is
	// not the cluster's own are refused. Default: false.
	// +optional
	// +kubebuilder:default=false
	AllowPolicyChanges bool `json:"allowPolicyChanges,omitempty"`
}

// BenchmarkArm is one TLS policy.
type BenchmarkArm struct {
	// name of the arm: lower-case letters, digits and '-', at most 32.
	// +required
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`

	// tls is laid over the cluster's own spec.tls; what is not set stays as it is there.
	// +optional
	TLS BenchmarkTLS `json:"tls,omitempty,omitzero"`
}

// BenchmarkTLS is laid over a cluster's spec.tls.
type BenchmarkTLS struct {
	// replication: Required or Disabled.
	// +optional
	Replication ReplicationTLS `json:"replication,omitempty"`
	// stateTransfer: Required or Disabled. Without it, and with replication set, as replication.
	// +optional
	StateTransfer ReplicationTLS `json:"stateTransfer,omitempty"`
	// clients: Required, Preferred or Disabled. Load generators use TLS unless it is Disabled.
	// +optional
	Clients ClientTLS `json:"clients,omitempty"`
	// minVersion: "1.2" or "1.3".
	// +optional
	// +kubebuilder:validation:Enum="1.2";"1.3"
	MinVersion string `json:"minVersion,omitempty"`
	// cipher: Auto, TLS_AES_128_GCM_SHA256, TLS_AES_256_GCM_SHA384 or TLS_CHACHA20_POLY1305_SHA256.
	// +optional
	// +kubebuilder:validation:Enum=Auto;TLS_AES_128_GCM_SHA256;TLS_AES_256_GCM_SHA384;TLS_CHACHA20_POLY1305_SHA256
	Cipher string `json:"cipher,omitempty"`
	// privateKey is the kind of the nodes' key.
	// +optional
	PrivateKey *PrivateKeySpec `json:"privateKey,omitempty"`
}

// BenchmarkClient is where the load comes from.
type BenchmarkClient struct {
	// image with sysbench, for Jobs, and with OpenSSH's client and server where anything goes via SSHTunnel.
	// Default: the operator's --benchmark-image.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Image string `json:"image,omitempty"`
	// resources of the Jobs' container, and of the proxy's where anything goes via PoolingProxy. Default: none.
	// +optional
	// +kubebuilder:default={}
	Resources corev1.ResourceRequirements `json:"resources,omitempty"`
	// nodeSelector restricts the hosts the load comes from. By default Jobs prefer hosts without a
	// node of the cluster.
	// +optional
	// +kubebuilder:validation:MaxProperties=16
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	// tolerations of the Jobs' pods.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
}
