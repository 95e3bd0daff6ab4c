package v1alpha1

// BenchmarkDesign is the order in which the arms are measured.
type BenchmarkDesign struct {
	// seed that chose the order.
	Seed int64 `json:"seed"`
	// rounds lists the arms of each round in their order, for instance "plain, encrypted".
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	// +kubebuilder:validation:items:MaxLength=512
	Rounds []string `json:"rounds,omitempty"`
	// balanced reports whether every arm is measured equally often at every place of a round, and equally often directly
	// after every other arm of the round, and whether of two workloads or variants each is equally often the earlier one.
	Balanced bool `json:"balanced"`
}

// BenchmarkCell is one workload, variant and arm.
type BenchmarkCell struct {
	// workload by its name.
	// +kubebuilder:validation:MaxLength=32
	Workload string `json:"workload"`
	// variant of the workload, for instance threads=8.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Variant string `json:"variant,omitempty"`
	// arm by its name.
	// +kubebuilder:validation:MaxLength=32
	Arm string `json:"arm"`
}

// BenchmarkComparison is what one cell costs compared with another, by the rounds in which both were measured.
type BenchmarkComparison struct {
	// of is the cell whose cost this is.
	Of BenchmarkCell `json:"of"`
	// with is the cell that it is compared with.
	With BenchmarkCell `json:"with"`
	// metric is the figure that is compared.
	Metric string `json:"metric"`
	// rounds is the number of rounds in which both were measured.
	Rounds int32 `json:"rounds"`
	// overheadPercent, overheadLow, overheadHigh, pValue and significant have the meaning they have in results.
	// +optional
	OverheadPercent string `json:"overheadPercent,omitempty"`
	// +optional
	OverheadLow string `json:"overheadLow,omitempty"`
	// +optional
	OverheadHigh string `json:"overheadHigh,omitempty"`
	// +optional
	// +kubebuilder:validation:MaxLength=16
	PValue string `json:"pValue,omitempty"`
	// +optional
	Significant *bool `json:"significant,omitempty"`
}
