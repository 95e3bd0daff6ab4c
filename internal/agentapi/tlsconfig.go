package agentapi

import "github.com/galera-operator/galera-operator/internal/galera"

// TLSConfig is the encryption in force, per channel.
type TLSConfig struct {
	Replication   galera.SocketMode    `json:"replication"`
	StateTransfer galera.ChannelPolicy `json:"stateTransfer"` // Required | Disabled
	Clients       galera.ChannelPolicy `json:"clients"`
	// MinVersion is "1.2" or "1.3".
	MinVersion string `json:"minVersion"`
	// CipherSuites in order of preference, OpenSSL TLS 1.3 names; empty for the library's default.
	CipherSuites []string `json:"cipherSuites,omitempty"`
	// PreferredSuite is put first where CipherSuites leaves the choice, so that all members choose
	// alike; empty as long as not all members' CPUs are known.
	PreferredSuite string `json:"preferredSuite,omitempty"`
}
