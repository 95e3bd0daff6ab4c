package resources

import (
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// Encryption returns what members of a cluster have to agree on, of a policy.
func Encryption(t agentapi.TLSConfig) galera.Encryption {
	return galera.NewEncryption(t.Replication, t.CipherSuites)
}

// Effective returns the wanted policy with the published encryption of replication in it: a switch
// goes by steps, and until its last one this is not the wanted one. Full transfers are encrypted as
// long as either end of the switch asks for it; without certificates they stay as they were.
func Effective(want, before agentapi.TLSConfig, published galera.Encryption) agentapi.TLSConfig {
	if published == Encryption(want) {
		return want
	}
	out := want
	out.Replication = published.Socket
	if published.Socket != galera.SocketPlain {
		out.CipherSuites = published.SuiteNames()
	}
	if out.StateTransfer != galera.PolicyRequired || published.Socket == galera.SocketPlain {
		out.StateTransfer = before.StateTransfer
	}
	return out
}
