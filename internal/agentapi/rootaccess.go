package agentapi

// RootAccess is from where root may log in over the network; nil for everywhere. On the pods root is the operator's.
type RootAccess struct {
	// Hosts are patterns of addresses, in lower case.
	Hosts []string `json:"hosts,omitempty"`
	// Disabled is for none.
	Disabled bool `json:"disabled,omitempty"`
}
