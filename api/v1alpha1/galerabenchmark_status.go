package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// GaleraBenchmarkStatus is what has been measured so far. Every number is decimal text.
type GaleraBenchmarkStatus struct {
	// observedGeneration is the generation of the spec this status speaks of; -1 before the operator has seen the benchmark.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions: Complete, Reconciling, Stalled.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// progress is the number of measured runs of all runs, and what the rest will take, for instance
	// "14/27, ~6 min left".
	// +optional
	Progress string `json:"progress,omitempty"`

	// armNames are the names of what is compared, the baseline first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	ArmNames []string `json:"armNames,omitempty"`

	// verdict is the answer in one line, for instance "replication TLS: −4.1 % tps (±1.2)".
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Verdict string `json:"verdict,omitempty"`

	// run is the one that is going on: written before its first act.
	// +optional
	Run *BenchmarkRun `json:"run,omitempty"`

	// resources says what is made for the Jobs: written before any of it.
	// +optional
	Resources *BenchmarkResources `json:"resources,omitempty"`

	// startedAt is when the first run was begun.
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`

	// completedAt is when all was measured and cleaned up, or given up.
	// +optional
	CompletedAt *metav1.Time `json:"completedAt,omitempty"`

	// measuredTime is the time inside measured windows so far, in whole seconds, for instance 3m0s; the rest went into making
	// clusters and data, and into switches.
	// +optional
	MeasuredTime *metav1.Duration `json:"measuredTime,omitempty"`

	// restoreTLS is what arms change in the spec.tls of a referenced cluster, as it is put back at the end; absent when
	// nothing has to be put back.
	// +optional
	RestoreTLS *BenchmarkTLS `json:"restoreTLS,omitempty"`

	// failure is why the benchmark ends without having measured everything: written before anything is put back.
	// +optional
	Failure *BenchmarkFailure `json:"failure,omitempty"`

	// endingSince is when putting everything back was begun: it is not waited for without end.
	// +optional
	EndingSince *metav1.Time `json:"endingSince,omitempty"`

	// dataSets that have been made, with their checksums.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=8
	DataSets []BenchmarkDataSet `json:"dataSets,omitempty"`

	// results, one for every workload, variant and arm.
	// +optional
	// +kubebuilder:validation:MaxItems=56
	Results []BenchmarkResult `json:"results,omitempty"`

	// environment is where it was measured.
	// +optional
	Environment *BenchmarkEnvironment `json:"environment,omitempty"`

	// invalidRuns did not count; the last ones, with their reasons.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	InvalidRuns []InvalidRun `json:"invalidRuns,omitempty"`
}

// BenchmarkResources is what is made for a benchmark's Jobs.
type BenchmarkResources struct {
	// suffix is chosen at random, once: NAME-bench-SUFFIX is the Jobs' account in Kubernetes, bench_SUFFIX the one in the
	// database, and bench_…_SUFFIX are the databases of the test data.
	// +kubebuilder:validation:MaxLength=16
	Suffix string `json:"suffix"`
	// account says that the account bench_SUFFIX is in the database, or may be: written before it is made, and taken back when it
	// has been dropped.
	// +optional
	Account bool `json:"account,omitempty"`
}

// BenchmarkFailure is why a benchmark ends early.
type BenchmarkFailure struct {
	// reason in one word, that of the condition Complete.
	Reason string `json:"reason"`
	// message for a person.
	// +kubebuilder:validation:MaxLength=4096
	Message string `json:"message"`
}

// BenchmarkRun is one run of one workload against one arm.
type BenchmarkRun struct {
	// index of the run, from 1, in the order of the runs.
	Index int32 `json:"index"`
	// attempt at it, from 1.
	Attempt int32 `json:"attempt"`
	// round the run belongs to, from 1.
	Round int32 `json:"round"`
	// arm that is measured.
	Arm string `json:"arm"`
	// workload that is run.
	Workload string `json:"workload"`
	// variant of the workload, for instance threads=8.
	// +optional
	Variant string `json:"variant,omitempty"`
	// step: Switch (the cluster gets the arm's policy), Prepare (the data set is made), Measure, Transfer (a node takes a full copy), CleanUp.
	// +kubebuilder:validation:Enum=Switch;Prepare;Measure;Transfer;CleanUp
	Step string `json:"step"`
	// startedAt is when the step was begun.
	StartedAt metav1.Time `json:"startedAt"`
}

// BenchmarkDataSet is test data that was made once.
type BenchmarkDataSet struct {
	// name of the database.
	Name string `json:"name"`
	// clusterUUID is the history the data is part of.
	ClusterUUID string `json:"clusterUUID,omitempty"`
	// tables and rows in each of them.
	Tables int32 `json:"tables"`
	// rows in each table.
	Rows int64 `json:"rows"`
	// bytes the tables take on disk.
	Bytes int64 `json:"bytes,omitempty"`
	// checksum over all tables as they were made, the same on every node.
	Checksum string `json:"checksum,omitempty"`
}

// BenchmarkResult is what was measured for one workload, variant and arm.
type BenchmarkResult struct {
	// workload and variant.
	Workload string `json:"workload"`
	// variant of the workload, for instance threads=8.
	// +optional
	Variant string `json:"variant,omitempty"`
	// arm that was measured.
	Arm string `json:"arm"`
	// samples is the number of runs that count.
	Samples int32 `json:"samples"`
	// invalid is the number of runs that do not.
	// +optional
	Invalid int32 `json:"invalid,omitempty"`

	// metric is the figure the overhead speaks of, for instance tps or seconds.
	// +optional
	Metric string `json:"metric,omitempty"`
	// overheadPercent is what the arm costs against the baseline: so much fewer transactions or
	// connections per second, or so much more time. Negative when the arm is quicker; empty for the baseline.
	// +optional
	OverheadPercent string `json:"overheadPercent,omitempty"`
	// overheadLow and overheadHigh are the ends of its confidence interval, of 95 % at least.
	// +optional
	OverheadLow string `json:"overheadLow,omitempty"`
	// overheadHigh is the upper end.
	// +optional
	OverheadHigh string `json:"overheadHigh,omitempty"`
	// significant says that the interval does not include zero.
	// +optional
	Significant *bool `json:"significant,omitempty"`

	// figures by name, each as median with a confidence interval over the rounds: tps, qps, latencyP50Ms, latencyP95Ms,
	// latencyP99Ms, latencyMaxMs, errors, reconnects, deadlocks, serverCPUMicros and clientCPUMicros (per
	// transaction), replicatedBytes (per transaction), flowControlPausedPercent, seconds,
	// connectionsPerSecond, sessionsResumedPercent, megabytesPerSecond, loadLossPercent (what the load beside a full transfer
	// lost on all nodes together), donorLoadLossPercent (what it lost on the node that gave the copy; not there without
	// loadThreads, and when too little of that node's load was seen), cpuSeconds (of all nodes while one took a full
	// transfer, the load beside it included).
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Figures []BenchmarkFigure `json:"figures,omitempty"`
}

// BenchmarkFigure is one figure over all rounds.
type BenchmarkFigure struct {
	// name of the figure; units are part of it.
	Name string `json:"name"`
	// median over the rounds.
	Median string `json:"median"`
	// low end of the median's interval: with fewer than 6 rounds the smallest value, which makes
	// it an interval of less than 95 % (5 rounds: 94 %, 4: 88 %, 3: 75 %).
	// +optional
	Low string `json:"low,omitempty"`
	// high end of the interval.
	// +optional
	High string `json:"high,omitempty"`
}

// InvalidRun is a run that does not count.
type InvalidRun struct {
	// index and attempt of the run.
	Index int32 `json:"index"`
	// attempt at it.
	Attempt int32 `json:"attempt"`
	// arm that was to be measured.
	Arm string `json:"arm,omitempty"`
	// reason: why it does not count.
	// +kubebuilder:validation:MaxLength=512
	Reason string `json:"reason"`
}

// BenchmarkEnvironment is where it was measured.
type BenchmarkEnvironment struct {
	// databaseImage with its digest. Where runs had different ones, here as below, all of them, separated by "; ".
	// +optional
	// +kubebuilder:validation:MaxLength=512
	DatabaseImage string `json:"databaseImage,omitempty"`
	// clientImage with its digest: that of the load generator, and of the SSH server where there is one.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	ClientImage string `json:"clientImage,omitempty"`
	// operatorImage with its digest: the nodes' agent and the program in the Jobs come from it.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	OperatorImage string `json:"operatorImage,omitempty"`
	// proxyImage with its digest: the pooling proxy's, where a workload goes via PoolingProxy.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	ProxyImage string `json:"proxyImage,omitempty"`
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
	// cpu model of the database nodes' hosts, and how many CPUs each has; separated by "; " where hosts differ.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	CPU string `json:"cpu,omitempty"`
	// cpuFlags of the database nodes' hosts that matter for ciphers; separated by "; " where hosts differ.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	CPUFlags string `json:"cpuFlags,omitempty"`
	// kernel of the database nodes' hosts; separated by "; " where hosts differ.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Kernel string `json:"kernel,omitempty"`
	// hosts of all runs that count, the client's among them; at most 10. One whose kernel was another one later is there twice.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	Hosts []BenchmarkHost `json:"hosts,omitempty"`
	// nodes: which pod ran on which host, for instance "db-0=worker1, client=worker3". A pod that was moved from one run to
	// the next is there with each of its hosts.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Nodes string `json:"nodes,omitempty"`
	// limits of the database containers, for instance "cpu 2, memory none".
	// +optional
	Limits string `json:"limits,omitempty"`
	// storageClass of the volumes; "default" when it is neither named nor known.
	// +optional
	StorageClass string `json:"storageClass,omitempty"`
	// dataSet in words.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	DataSet string `json:"dataSet,omitempty"`
	// seed of the order and of the load generator.
	// +optional
	Seed int64 `json:"seed,omitempty"`
}

// BenchmarkHost is a host something was measured on.
type BenchmarkHost struct {
	// name of the Kubernetes node.
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// pods that ran there: database nodes by their names, "client" for where the load came from, "ssh" for the SSH server of a
	// workload that goes via SSHTunnel.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=9
	// +kubebuilder:validation:items:MaxLength=63
	Pods []string `json:"pods,omitempty"`
	// kernel release; empty, as the others below, when it is not known: of a host with the SSH server only, for instance.
	// +optional
	// +kubebuilder:validation:MaxLength=96
	Kernel string `json:"kernel,omitempty"`
	// cpu model.
	// +optional
	// +kubebuilder:validation:MaxLength=96
	CPU string `json:"cpu,omitempty"`
	// cpus the host has, whatever the limits of the pods.
	// +optional
	CPUs int32 `json:"cpus,omitempty"`
	// cpuFlags that matter for ciphers, separated by spaces.
	// +optional
	// +kubebuilder:validation:MaxLength=96
	CPUFlags string `json:"cpuFlags,omitempty"`
}
