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
