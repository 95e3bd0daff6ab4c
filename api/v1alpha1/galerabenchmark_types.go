package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// GaleraBenchmark measures the cost of encryption on your hosts. It runs every workload against every
// arm (one TLS policy each), in several rounds, and reports the differences with their confidence
// intervals in status.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=gbench,categories=all
// +kubebuilder:printcolumn:name="Progress",type=string,JSONPath=`.status.progress`,description="Valid runs of all runs"
// +kubebuilder:printcolumn:name="Arms",type=string,JSONPath=`.status.arms`,description="What is compared; the baseline is the first"
// +kubebuilder:printcolumn:name="Verdict",type=string,JSONPath=`.status.verdict`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Status",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Complete")].message`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 34 && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="the name becomes part of the private cluster's and the Jobs' names: at most 34 lower-case letters, digits and '-', starting with a letter"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.cluster.template) || !has(self.spec.cluster.template.stateTransfer) || !has(self.spec.cluster.template.stateTransfer.donors) || self.spec.cluster.template.stateTransfer.donors.all(d, d.startsWith(self.metadata.name + '-db-') && d.size() == self.metadata.name.size() + 5 && d.matches('[0-6]$'))",message="cluster.template.stateTransfer.donors must be names of the private cluster's nodes: NAME-db-0 to NAME-db-6"
type GaleraBenchmark struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what to measure. It is immutable, except for suspend and ttlAfterFinished: a change would mix the
	// results of two different measurements. If cluster.template is changed after its cluster was created, the
	// benchmark stops until the change is undone.
	// +required
	Spec GaleraBenchmarkSpec `json:"spec"`

	// status holds the results so far.
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
// +kubebuilder:validation:XValidation:rule="self.arms.size() * self.workloads.map(w, has(w.oltp) ? w.oltp.threads.size() : has(w.connect) ? w.connect.threads.size() * w.connect.tlsVersions.size() * w.connect.sessionResumption.size() * w.connect.latency.size() * (has(w.connect.sshCiphers) ? w.connect.sshCiphers.size() : 1) * (has(w.connect.keyExchanges) ? w.connect.keyExchanges.size() : 1) : has(w.resultSize) ? w.resultSize.sizes.size() * w.resultSize.threads.size() : has(w.operation) ? w.operation.operations.size() : has(w.stateTransfer) ? w.stateTransfer.methods.map(m, m == 'Rsync' && w.stateTransfer.databases == 1 ? 1 : w.stateTransfer.parallel.size()).sum() * w.stateTransfer.cpuAcceleration.size() : 0).sum() + self.workloads.map(w, has(w.cipher) ? w.cipher.ciphers.size() * w.cipher.cpuAcceleration.size() : 0).sum() <= 56",message="the matrix has more than 56 combinations of arm and workload: make several benchmarks, which can be compared with each other"
// +kubebuilder:validation:XValidation:rule="!has(self.compare) || self.compare.all(c, self.arms.exists(a, a.name == c.of.arm) && (!has(c.with.arm) || self.arms.exists(a, a.name == c.with.arm)) && self.workloads.exists(w, w.name == c.of.workload) && (!has(c.with.workload) || self.workloads.exists(w, w.name == c.with.workload)))",message="compare must name arms and workloads of this benchmark"
// +kubebuilder:validation:XValidation:rule="has(self.compare) == has(oldSelf.compare) && (!has(self.compare) || self.compare == oldSelf.compare)",message="compare cannot be changed: create another benchmark"
// +kubebuilder:validation:XValidation:rule="has(self.cluster.template) || self.arms.size() == 1 && !has(self.arms[0].tls)",fieldPath=".arms",message="an existing cluster (cluster.ref) is measured as it is: give one arm, without tls; to compare policies, use a private cluster (cluster.template)"
// +kubebuilder:validation:XValidation:rule="has(self.cluster.template) || !self.arms.exists(a, a.cpuAcceleration == 'Off')",message="cpuAcceleration Off of an arm restarts all nodes: it needs a private cluster (cluster.template)"
// +kubebuilder:validation:XValidation:rule="!self.arms.exists(a, a.cpuAcceleration == 'Off') || !self.workloads.exists(w, has(w.stateTransfer) && w.stateTransfer.cpuAcceleration != ['On'])",message="set cpuAcceleration of the arms or of the stateTransfer workloads, not of both: an arm with Off has no run with On"
// +kubebuilder:validation:XValidation:rule="!has(self.cluster.template) || !has(self.cluster.template.deletionProtection) || !self.cluster.template.deletionProtection",fieldPath=".cluster.template.deletionProtection",message="a benchmark deletes its private cluster at the end: deletionProtection must be false"
// +kubebuilder:validation:XValidation:rule="has(self.cluster.template) || !self.workloads.exists(w, has(w.stateTransfer))",message="a stateTransfer workload deletes a node's data repeatedly: it needs a private cluster (cluster.template)"
// +kubebuilder:validation:XValidation:rule="has(self.cluster.template) || !self.workloads.exists(w, has(w.operation))",message="an operation workload restarts nodes and moves the primary repeatedly: it needs a private cluster (cluster.template)"
// +kubebuilder:validation:XValidation:rule="!has(self.cluster.template) || self.cluster.template.replicas > 1 || !self.workloads.exists(w, has(w.operation) && w.operation.operations.exists(o, !(o in ['Renewal', 'Backup'])))",message="Restart, Promotion, Switch, JoinIST and JoinSST need another node: a cluster of two nodes at least"
// +kubebuilder:validation:XValidation:rule="!has(self.cluster.template) || self.cluster.template.replicas > 1 || !self.workloads.exists(w, has(w.stateTransfer))",message="a stateTransfer workload takes a node's data away, and another node has to give it a copy: it needs a cluster of two nodes at least"
// +kubebuilder:validation:XValidation:rule="!has(self.cluster.template) || !has(self.cluster.template.stateTransfer) || !(has(self.cluster.template.stateTransfer.rateLimit) || has(self.cluster.template.stateTransfer.bufferPoolHint) || has(self.cluster.template.stateTransfer.compression) && self.cluster.template.stateTransfer.compression != 'None') || !self.workloads.exists(w, has(w.stateTransfer) && 'Rsync' in w.stateTransfer.methods)",message="compression, rateLimit and bufferPoolHint of cluster.template work with the method MariaBackup only, and a stateTransfer workload has Rsync among its methods"
// +kubebuilder:validation:XValidation:rule="self.arms == oldSelf.arms && self.workloads == oldSelf.workloads && self.rounds == oldSelf.rounds && self.seed == oldSelf.seed",message="arms, workloads, rounds and seed cannot be changed: create another benchmark"
// +kubebuilder:validation:XValidation:rule="self.client == oldSelf.client && self.maxRetries == oldSelf.maxRetries && self.maxFailedPercent == oldSelf.maxFailedPercent",message="client, maxRetries and maxFailedPercent cannot be changed: create another benchmark"
type GaleraBenchmarkSpec struct {
	// cluster to measure.
	// +required
	Cluster BenchmarkCluster `json:"cluster"`

	// arms are the TLS policies to compare, 1 to 12. The first one is the baseline that the others are compared with.
	// +required
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=12
	Arms []BenchmarkArm `json:"arms"`

	// workloads to run against every arm, 1 to 8.
	// +required
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	Workloads []BenchmarkWorkload `json:"workloads"`

	// compare lists pairs of cells to compare, besides every arm with the baseline: SSH with TLS, rsync with MariaBackup,
	// a cipher with another. Each is compared round by round, and has a confidence interval in status.comparisons.
	// Default: in every cell, each arm but the baseline with the first of these arms, up to 32 comparisons.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	Compare []BenchmarkCompare `json:"compare,omitempty"`

	// rounds is how often every combination is measured, 1 to 20. With 1 round there is no confidence interval, and no
	// difference is significant; use 6 or more. Every arm is measured once per round, so that drift (caches,
	// neighbours, temperature) affects all arms alike. The orders of the rounds are the rows of Williams squares: when
	// rounds is a multiple of the number of arms (of twice that number if it is odd), every arm is equally often at
	// every place of a round, and equally often directly after every other one; otherwise as nearly as the rounds
	// allow, and status.design reports so. That is an even number of rounds for two arms, and a multiple of 6, 4, 10,
	// 6, 14 and 8 for 3, 4, 5, 6, 7 and 8 arms. Workloads and their variants are measured in the order of the spec in
	// odd rounds, and in the reverse order in even ones: with an even number of rounds none of two is the later one
	// more often. All nodes of a private cluster are restarted before the first run of an arm in a round, whether the
	// policy changes or not. Default: 6.
	// +optional
	// +kubebuilder:default=6
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=20
	Rounds int32 `json:"rounds,omitempty"`

	// seed of the order and of the load generator's random numbers. The same seed repeats the same
	// benchmark. Default: 1.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	Seed int64 `json:"seed,omitempty"`

	// maxRetries is how often an invalid run is repeated, 0 to 10. A run is invalid if it was disturbed: a restart, a node
	// that left, CPU throttling, a state transfer, too many failed transactions; docs/benchmarks.md has the whole list.
	// Default: 2.
	// +optional
	// +kubebuilder:default=2
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=10
	MaxRetries *int32 `json:"maxRetries,omitempty"`

	// maxFailedPercent is the percentage of failed transactions (certification failures, errors and reconnects)
	// above which a run is invalid, 0 to 100. Default: 5.
	// +optional
	// +kubebuilder:default=5
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	MaxFailedPercent *int32 `json:"maxFailedPercent,omitempty"`

	// client configures the pods that generate the load.
	// +optional
	// +kubebuilder:default={}
	Client BenchmarkClient `json:"client,omitempty"`

	// ttlAfterFinished is how long the benchmark and its results are kept after its end, for instance 168h. 0s deletes it
	// at once. Default: for ever.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s')",message="ttlAfterFinished must be 0s or more, in hours, minutes and seconds (168h, not 7d)"
	TTLAfterFinished *metav1.Duration `json:"ttlAfterFinished,omitempty"`

	// suspend pauses the benchmark after the current run. Set it to false to continue. Default: false.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// BenchmarkCompare is a pair of cells.
//
// +kubebuilder:validation:XValidation:rule="has(self.with.workload) || has(self.with.variant) || has(self.with.arm)",message="with must differ from of: set its workload, variant or arm"
type BenchmarkCompare struct {
	// of is the cell whose cost is wanted.
	// +required
	Of BenchmarkCell `json:"of"`
	// with is what it is compared with. Fields that are not set are those of of.
	// +required
	With BenchmarkCellPart `json:"with"`
}

// BenchmarkCellPart names a cell by what differs from another one.
type BenchmarkCellPart struct {
	// workload by its name. Default: the workload of of.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Workload *string `json:"workload,omitempty"`
	// variant of the workload, for instance threads=8, or "" for a workload without variants. Default: the variant of of.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Variant *string `json:"variant,omitempty"`
	// arm by its name. Default: the arm of of.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Arm *string `json:"arm,omitempty"`
}

// BenchmarkCluster is the cluster to measure: exactly one of template and ref.
//
// +kubebuilder:validation:XValidation:rule="has(self.template) != has(self.ref)",message="set exactly one of template (a private cluster) and ref (an existing one)"
// +kubebuilder:validation:XValidation:rule="has(self.template) == has(oldSelf.template) && (!has(self.ref) || self.ref.name == oldSelf.ref.name)",message="the cluster cannot be replaced by another one: create another benchmark"
type BenchmarkCluster struct {
	// template is the spec of a private GaleraCluster NAME-db. The cluster is created for the benchmark, switched from
	// arm to arm, and deleted with its data at the end.
	// +optional
	Template *GaleraClusterSpec `json:"template,omitempty"`

	// ref names an existing GaleraCluster in the same namespace. It is measured as it is, with a single arm without tls:
	// its encryption is never changed.
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
}

// BenchmarkArm is one TLS policy, on CPUs with or without their AES instructions.
type BenchmarkArm struct {
	// name of the arm: lower-case letters, digits and '-', at most 32.
	// +required
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`

	// tls overrides fields of spec.tls of cluster.template. Fields that are not set keep the template's value. It needs
	// cluster.template.
	// +optional
	TLS BenchmarkTLS `json:"tls,omitempty,omitzero"`

	// cpuAcceleration: On or Off. Off hides the CPU's AES instructions from the TLS libraries of all nodes and of the load
	// generator, which shows the cost of ciphers on CPUs without them. It needs cluster.template, and every change
	// restarts all nodes, one at a time. Default: On.
	// +optional
	// +kubebuilder:default=On
	// +kubebuilder:validation:Enum=On;Off
	CPUAcceleration string `json:"cpuAcceleration,omitempty"`
}

// Values of cpuAcceleration.
const (
	AccelerationOn  = "On"
	AccelerationOff = "Off"
)

// BenchmarkTLS overrides fields of a cluster's spec.tls.
type BenchmarkTLS struct {
	// replication: Required or Disabled.
	// +optional
	Replication ReplicationTLS `json:"replication,omitempty"`
	// stateTransfer: Required or Disabled. Default: replication, if that is set.
	// +optional
	StateTransfer ReplicationTLS `json:"stateTransfer,omitempty"`
	// clients: Required, Preferred or Disabled. The load generators use TLS unless it is Disabled.
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
	// privateKey is the type and size of the nodes' key.
	// +optional
	PrivateKey *PrivateKeySpec `json:"privateKey,omitempty"`
}

// With returns the policy with another one laid over it.
func (s TLSSpec) With(over BenchmarkTLS) TLSSpec {
	t := *s.DeepCopy()
	if over.Replication != "" {
		t.Replication = over.Replication
		t.StateTransfer = "" // follows, unless more is said
	}
	if over.StateTransfer != "" {
		t.StateTransfer = over.StateTransfer
	}
	if over.Clients != "" {
		t.Clients = over.Clients
	}
	if over.MinVersion != "" {
		t.MinVersion = over.MinVersion
	}
	if over.Cipher != "" {
		t.Cipher = over.Cipher
	}
	if over.PrivateKey != nil {
		t.Certificate.PrivateKey = *over.PrivateKey
	}
	return t
}

// BenchmarkClient configures the pods that generate the load.
type BenchmarkClient struct {
	// image of the Jobs. It must contain sysbench, and for workloads via SSHTunnel OpenSSH's client and server. Workloads
	// of the kind cipher use the database image instead. Default: the operator's --benchmark-image.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Image string `json:"image,omitempty"`
	// resources of the Jobs' container, and of the proxy's container for workloads via PoolingProxy. Default: none.
	// +optional
	// +kubebuilder:default={}
	Resources corev1.ResourceRequirements `json:"resources,omitempty"`
	// nodeSelector selects the hosts of the Jobs by label. By default Jobs prefer hosts without a database node
	// of the cluster.
	// +optional
	// +kubebuilder:validation:MaxProperties=16
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	// tolerations of the Jobs' pods.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
}
