package v1alpha1

// ConditionComplete of a GaleraBenchmark is True when everything was measured, and cleaned up as far as possible.
// Reconciling and Stalled have the same meaning as for a GaleraCluster.
const ConditionComplete = "Complete"

// Reasons of the conditions of a GaleraBenchmark. docs/conditions.md explains each of them.
const (
	ReasonMeasured           = "Measured"
	ReasonPreparingCluster   = "PreparingCluster"
	ReasonSwitchingArm       = "SwitchingArm"
	ReasonPreparingData      = "PreparingData"
	ReasonMeasuring          = "Measuring"
	ReasonCleaningUp         = "CleaningUp"
	ReasonClusterPaused      = "ClusterPaused"
	ReasonClusterNotFound    = "ClusterNotFound"
	ReasonClusterNotReady    = "ClusterNotReady"
	ReasonClusterBusy        = "ClusterBusy"
	ReasonTemplateChanged    = "TemplateChanged"
	ReasonNotEnoughDisk      = "NotEnoughDisk"
	ReasonWorkloadFailed     = "WorkloadFailed"
	ReasonTooManyInvalidRuns = "TooManyInvalidRuns"
	ReasonPreparingAccess    = "PreparingAccess"
	ReasonProxyNotFound      = "ProxyNotFound"

	ReasonProxyOfAnotherCluster = "ProxyOfAnotherCluster"
)

// Labels and annotations of a benchmark's objects.
const (
	// LabelBenchmark names the GaleraBenchmark an object belongs to.
	LabelBenchmark = "galera-operator.io/benchmark"
	// LabelTunnel is the name of the tunnel's server, on its pod.
	LabelTunnel = "galera-operator.io/tunnel"
	// AnnotationBenchmark on a GaleraCluster names the GaleraBenchmark that measures it: one at a time.
	AnnotationBenchmark = "galera-operator.io/benchmark"
	// AnnotationTemplate on a benchmark's private cluster is the checksum of its template.
	AnnotationTemplate = "galera-operator.io/benchmark-template"
	// LabelRun is the number of the run an object belongs to.
	LabelRun = "galera-operator.io/run"
	// LabelValid on the ConfigMap of a run is "true" if the run is valid, and "false" otherwise.
	LabelValid = "galera-operator.io/valid"
)
