package v1alpha1

// ReplicationTLS is Required or Disabled.
// +kubebuilder:validation:Enum=Required;Disabled
type ReplicationTLS string

// ClientTLS is Required, Preferred or Disabled.
// +kubebuilder:validation:Enum=Required;Preferred;Disabled
type ClientTLS string

// Values of ReplicationTLS and ClientTLS.
const (
	TLSRequired  = "Required"
	TLSPreferred = "Preferred"
	TLSDisabled  = "Disabled"
)

// Values of TLSSpec.DropOldCA.
const (
	DropAutomatic = "Automatic"
	DropManual    = "Manual"
)

// Values of TLSSpec.SwitchStrategy.
const (
	SwitchRolling     = "Rolling"
	SwitchRebootstrap = "Rebootstrap"
)
