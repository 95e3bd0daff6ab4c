package status

import (
	"slices"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// The words agents send that are enums in status. An agent may be of another version than the operator: a word that the API
// does not know would keep the whole status from being written.
var (
	phases = []galera.Phase{galera.PhaseExamining, galera.PhaseWaiting, galera.PhaseInitialising, galera.PhaseStarting, galera.PhaseRunning,
		galera.PhaseStopping, galera.PhaseStopped, galera.PhaseFailed}
	nodeStates      = []galera.NodeState{galera.NodeJoining, galera.NodeDonor, galera.NodeJoined, galera.NodeSynced}
	componentStates = []galera.ComponentState{galera.ComponentPrimary, galera.ComponentNonPrimary, galera.ComponentDisconnected}
	observations    = []string{agentapi.ObservedTLS, agentapi.ObservedPlaintext, agentapi.ObservedMixed}
	joinKinds       = []string{agentapi.JoinIST, agentapi.JoinSST, agentapi.JoinNone}
	joinPhases      = []string{agentapi.JoinWaiting, agentapi.JoinTransferring, agentapi.JoinPreparing, agentapi.JoinApplying}
)

// known is a word the API knows, or otherwise in its place.
func known[T ~string](word T, words []T, otherwise string) string {
	if slices.Contains(words, word) {
		return string(word)
	}
	return otherwise
}
