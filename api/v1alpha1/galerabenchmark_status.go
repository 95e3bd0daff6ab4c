package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// GaleraBenchmarkStatus holds the results so far. Every measured number is decimal text.
type GaleraBenchmarkStatus struct {
	// observedGeneration is the generation of the spec that this status describes; -1 before the operator has seen the
	// benchmark.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions: Complete, Reconciling, Stalled.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// progress is the number of measured runs of all runs, with an estimate of the time left, for instance
	// "14/27, ~6 min left". Before the first run the estimate is estimatedTime.
	// +optional
	Progress string `json:"progress,omitempty"`

	// arms are the names of the arms in one line, the baseline first, for instance "plain, encrypted".
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Arms string `json:"arms,omitempty"`

	// armNames lists the arms, the baseline first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=12
	ArmNames []string `json:"armNames,omitempty"`

	// verdict is the result in one line, for instance "encrypted: −4.1 % tps (±1.2)".
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Verdict string `json:"verdict,omitempty"`

	// estimatedTime is how long the benchmark takes by its spec: all runs, the switches between arms and the creation of
	// the test data. It is an estimate for two cores, set before anything is created.
	// +optional
	EstimatedTime *metav1.Duration `json:"estimatedTime,omitempty"`

	// design is the order in which the arms are measured.
	// +optional
	Design *BenchmarkDesign `json:"design,omitempty"`

	// run in progress. It is written before the run's first step.
	// +optional
	Run *BenchmarkRun `json:"run,omitempty"`

	// resources names the objects and accounts of the Jobs. It is written before they are created.
	// +optional
	Resources *BenchmarkResources `json:"resources,omitempty"`

	// startedAt is when the first run began.
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`

	// completedAt is when the benchmark and its clean-up were finished, or given up.
	// +optional
	CompletedAt *metav1.Time `json:"completedAt,omitempty"`

	// measuredTime is the total length of the measured windows so far, in whole seconds, for instance 3m0s. Creating
	// clusters and data, and switching arms, is not part of it.
	// +optional
	MeasuredTime *metav1.Duration `json:"measuredTime,omitempty"`

	// failure is why the benchmark ends early. It is written before the clean-up begins.
	// +optional
	Failure *BenchmarkFailure `json:"failure,omitempty"`

	// endingSince is when the clean-up began. The time for it is limited.
	// +optional
	EndingSince *metav1.Time `json:"endingSince,omitempty"`

	// dataSets lists the test data created, with checksums.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=8
	DataSets []BenchmarkDataSet `json:"dataSets,omitempty"`

	// results, one for every workload, variant and arm.
	// +optional
	// +kubebuilder:validation:MaxItems=56
	Results []BenchmarkResult `json:"results,omitempty"`

	// comparisons of spec.compare, or its default.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Comparisons []BenchmarkComparison `json:"comparisons,omitempty"`

	// environment in which the results were measured.
	// +optional
	Environment *BenchmarkEnvironment `json:"environment,omitempty"`

	// invalidRuns lists the last runs that do not count, with their reasons.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	InvalidRuns []InvalidRun `json:"invalidRuns,omitempty"`
}

// BenchmarkResources names the objects and accounts of a benchmark's Jobs.
type BenchmarkResources struct {
	// suffix is chosen at random, once. NAME-bench-SUFFIX is the Jobs' ServiceAccount, bench-SUFFIX the GaleraUser of
	// their database account bench_SUFFIX, and bench-…-SUFFIX are the GaleraDatabases of the test data.
	// +kubebuilder:validation:MaxLength=16
	Suffix string `json:"suffix"`
}

// BenchmarkFailure is why a benchmark ends early.
type BenchmarkFailure struct {
	// reason of the condition Complete.
	Reason string `json:"reason"`
	// message of the condition Complete.
	// +kubebuilder:validation:MaxLength=4096
	Message string `json:"message"`
}

// BenchmarkRun is one run of one workload against one arm.
type BenchmarkRun struct {
	// index of the run, from 1, in the order of the runs.
	Index int32 `json:"index"`
	// attempt at the run, from 1.
	Attempt int32 `json:"attempt"`
	// round of the run, from 1.
	Round int32 `json:"round"`
	// arm to measure.
	Arm string `json:"arm"`
	// workload to run.
	Workload string `json:"workload"`
	// variant of the workload, for instance threads=8.
	// +optional
	Variant string `json:"variant,omitempty"`
	// step: Switch (apply the arm's policy), Prepare (create the data set), Measure, Transfer (SST to a node), Operation
	// (one was requested) or SwitchBack (the second half of the operation Switch).
	// +kubebuilder:validation:Enum=Switch;Prepare;Measure;Transfer;Operation;SwitchBack
	Step string `json:"step"`
	// startedAt is when the step began.
	StartedAt metav1.Time `json:"startedAt"`
}

// BenchmarkDataSet is test data, created once.
type BenchmarkDataSet struct {
	// name of the database, or of the first one.
	Name string `json:"name"`
	// clusterUUID is the state UUID of the history that contains the data.
	ClusterUUID string `json:"clusterUUID,omitempty"`
	// databases it consists of, if more than one.
	// +optional
	Databases int32 `json:"databases,omitempty"`
	// tables is the number of tables of each database.
	Tables int32 `json:"tables"`
	// rows in each table.
	Rows int64 `json:"rows"`
	// bytes is the size of the tables on disk.
	Bytes int64 `json:"bytes,omitempty"`
	// checksum of all tables after their creation, the same on every node.
	Checksum string `json:"checksum,omitempty"`
}

// BenchmarkResult is the result of one workload, variant and arm.
type BenchmarkResult struct {
	// workload that was run.
	Workload string `json:"workload"`
	// variant of the workload, for instance threads=8.
	// +optional
	Variant string `json:"variant,omitempty"`
	// arm that was measured.
	Arm string `json:"arm"`
	// samples is the number of valid runs.
	Samples int32 `json:"samples"`
	// invalid is the number of invalid runs.
	// +optional
	Invalid int32 `json:"invalid,omitempty"`

	// metric is the figure that the overhead compares, for instance tps or seconds.
	// +optional
	Metric string `json:"metric,omitempty"`
	// overheadPercent is the cost of the arm compared with the baseline: fewer transactions or connections per second, or
	// more time, in percent. Negative if the arm is faster; empty for the baseline.
	// +optional
	OverheadPercent string `json:"overheadPercent,omitempty"`
	// overheadLow is the lower end of the overhead's confidence interval, of at least 95 % for this comparison alone.
	// +optional
	OverheadLow string `json:"overheadLow,omitempty"`
	// overheadHigh is the upper end of that interval.
	// +optional
	OverheadHigh string `json:"overheadHigh,omitempty"`
	// pValue is the probability of a difference at least this large between two identical arms, for this comparison alone.
	// +optional
	// +kubebuilder:validation:MaxLength=16
	PValue string `json:"pValue,omitempty"`
	// significant reports whether the difference is proved. Holm's correction takes into account how many comparisons the
	// benchmark makes, in results and comparisons together: with several, an interval without zero may not be enough.
	// +optional
	Significant *bool `json:"significant,omitempty"`

	// figures by name, each as median with a confidence interval over the rounds: tps, qps, latencyAvgMs, latencyP50Ms,
	// latencyP95Ms, latencyP99Ms, latencyMaxMs, errors, reconnects, deadlocks, serverCPUMicros, clientCPUMicros and
	// proxyCPUMicros (per transaction or connection; the client's includes that of a proxy alongside it), proxyMemoryMiB
	// (the most that the proxy's container, or all pods of a GaleraProxy, used), replicatedBytes and sentBytes
	// (per transaction: write-sets, and everything the nodes' network interfaces sent), flowControlPausedPercent, seconds,
	// connectionsPerSecond, sessionsResumedPercent, backendConnectionsPercent (connections that a pooling proxy opened to
	// the database, of those it took), megabytesPerSecond (of a cipher: with records of 16384 bytes),
	// megabytesPerSecond16B to megabytesPerSecond8KiB (of a cipher, with smaller records), loadLossPercent (throughput
	// lost on all nodes during an SST), cpuSeconds (CPU time of all nodes during an SST, the load included); of an
	// operation tpsBefore, latencyP95BeforeMs and longestGapBeforeMs (of the load, before it), and longestGapMs (the
	// longest time without a completed transaction while it lasted).
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=24
	Figures []BenchmarkFigure `json:"figures,omitempty"`
}

// BenchmarkFigure is one figure over all rounds.
type BenchmarkFigure struct {
	// name of the figure, with its unit.
	Name string `json:"name"`
	// median over the rounds.
	Median string `json:"median"`
	// low end of the median's confidence interval. With fewer than 6 rounds it is the smallest value, and the confidence
	// is less than 95 % (5 rounds: 94 %, 4: 88 %, 3: 75 %).
	// +optional
	Low string `json:"low,omitempty"`
	// high end of the interval.
	// +optional
	High string `json:"high,omitempty"`
}

// InvalidRun is a run that does not count.
type InvalidRun struct {
	// index of the run.
	Index int32 `json:"index"`
	// attempt at the run.
	Attempt int32 `json:"attempt"`
	// arm of the run.
	Arm string `json:"arm,omitempty"`
	// reason why the run is invalid.
	// +kubebuilder:validation:MaxLength=512
	Reason string `json:"reason"`
}

// BenchmarkEnvironment is the environment in which the results were measured: that of all runs that count.
type BenchmarkEnvironment struct {
	// databaseImages with their digests: one, unless the image changed between runs.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:items:MaxLength=512
	DatabaseImages []string `json:"databaseImages,omitempty"`
	// clientImages with their digests: the load generator's, and that of the SSH server if there is one.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:items:MaxLength=512
	ClientImages []string `json:"clientImages,omitempty"`
	// operatorImages with their digests: they contain the nodes' agent and the program in the Jobs.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:items:MaxLength=512
	OperatorImages []string `json:"operatorImages,omitempty"`
	// proxyImages with their digests: the pooling proxy's, if a workload uses via PoolingProxy.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:items:MaxLength=512
	ProxyImages []string `json:"proxyImages,omitempty"`
	// operator is the version of galera-operator.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Operator string `json:"operator,omitempty"`
	// mariadb version of the servers.
	// +optional
	MariaDB string `json:"mariadb,omitempty"`
	// galera version of the provider.
	// +optional
	Galera string `json:"galera,omitempty"`
	// openssl is the servers' TLS library.
	// +optional
	OpenSSL string `json:"openssl,omitempty"`
	// sysbench version.
	// +optional
	Sysbench string `json:"sysbench,omitempty"`
	// hosts of all valid runs, including the client's; at most 10. A host whose kernel changed is listed twice.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	Hosts []BenchmarkHost `json:"hosts,omitempty"`
	// limits of the database containers; a resource without a limit is missing.
	// +optional
	Limits corev1.ResourceList `json:"limits,omitempty"`
	// storageClass of the volumes; "default" if its name is unknown.
	// +optional
	StorageClass string `json:"storageClass,omitempty"`
	// dataSets is the test data, also after its removal.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	DataSets []BenchmarkDataSet `json:"dataSets,omitempty"`
	// seed of the order and of the load generator.
	// +optional
	Seed int64 `json:"seed,omitempty"`
}

// BenchmarkHost is a host on which results were measured.
type BenchmarkHost struct {
	// name of the host: its Kubernetes Node.
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// pods that ran on the host: database nodes by their names, "client" for the load generator, "ssh" for the SSH server
	// of a workload via SSHTunnel, "vpn" for that of WireGuard.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=9
	// +kubebuilder:validation:items:MaxLength=63
	Pods []string `json:"pods,omitempty"`
	// kernel release. This and the following fields are empty if unknown, for instance for a host with the SSH server
	// only.
	// +optional
	// +kubebuilder:validation:MaxLength=96
	Kernel string `json:"kernel,omitempty"`
	// cpu model.
	// +optional
	// +kubebuilder:validation:MaxLength=96
	CPU string `json:"cpu,omitempty"`
	// cpus is the number of CPUs of the host, regardless of the pods' limits.
	// +optional
	CPUs int32 `json:"cpus,omitempty"`
	// cpuFlags that matter for ciphers.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=32
	CPUFlags []string `json:"cpuFlags,omitempty"`
}
