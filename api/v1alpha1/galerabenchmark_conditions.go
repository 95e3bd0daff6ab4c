package v1alpha1

// ConditionComplete of a GaleraBenchmark is True when everything was measured, and cleaned up as far as that could be done.
// Reconciling and Stalled mean what they mean for a GaleraCluster.
const ConditionComplete = "Complete"

// Reasons of the conditions of a GaleraBenchmark. Each is documented in docs/conditions.md.
const (
	ReasonMeasured            = "Measured"
	ReasonPreparingCluster    = "PreparingCluster"
	ReasonSwitchingArm        = "SwitchingArm"
	ReasonPreparingData       = "PreparingData"
	ReasonMeasuring           = "Measuring"
	ReasonCleaningUp          = "CleaningUp"
	ReasonClusterPaused       = "ClusterPaused"
	ReasonClusterNotFound     = "ClusterNotFound"
	ReasonClusterNotReady     = "ClusterNotReady"
	ReasonClusterBusy         = "ClusterBusy"
	ReasonTemplateChanged     = "TemplateChanged"
	ReasonPolicyChangeRefused = "PolicyChangeRefused"
	ReasonNotEnoughDisk       = "NotEnoughDisk"
	ReasonWorkloadFailed      = "WorkloadFailed"
	ReasonTooManyInvalidRuns  = "TooManyInvalidRuns"
	ReasonPreparingAccess     = "PreparingAccess"
)

// Labels and annotations of what belongs to a benchmark.
const (
	// LabelBenchmark names the GaleraBenchmark an object belongs to.
	LabelBenchmark = "galera-operator.io/benchmark"
	// LabelBenchmarkUID is the UID of that GaleraBenchmark, on the Secret cert-manager writes for it, which has no owner at first.
	LabelBenchmarkUID = "galera-operator.io/benchmark-uid"
	// LabelTunnel is on the pod of an SSH server, and is the server's own name.
	LabelTunnel = "galera-operator.io/tunnel"
	// AnnotationBenchmark on a GaleraCluster names the GaleraBenchmark that measures it: one at a time.
	AnnotationBenchmark = "galera-operator.io/benchmark"
	// AnnotationTemplate on a benchmark's private cluster is the sum of the template it was made from.
	AnnotationTemplate = "galera-operator.io/benchmark-template"
	// LabelRun is the number of the run an object belongs to.
	LabelRun = "galera-operator.io/run"
	// LabelValid is "true" on the ConfigMap of a run that counts, "false" on that of one that does not.
	LabelValid = "galera-operator.io/valid"
)
