package status

import (
	"slices"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// The values sent by agents that are enums in status. An agent may have another version than the operator: the API
// server would refuse the whole status for one unknown value.
var (
	phases = []galera.Phase{galera.PhaseExamining, galera.PhaseWaiting, galera.PhaseInitialising, galera.PhaseStarting,
		galera.PhaseRunning,
		galera.PhaseStopping, galera.PhaseStopped, galera.PhaseFailed}
	nodeStates      = []galera.NodeState{galera.NodeJoining, galera.NodeDonor, galera.NodeJoined, galera.NodeSynced}
	componentStates = []galera.ComponentState{galera.ComponentPrimary, galera.ComponentNonPrimary,
		galera.ComponentDisconnected}
	observations = []string{agentapi.ObservedTLS, agentapi.ObservedPlaintext, agentapi.ObservedMixed}
	joinKinds    = []string{agentapi.JoinIST, agentapi.JoinSST, agentapi.JoinNone}
	joinPhases   = []string{agentapi.JoinWaiting, agentapi.JoinTransferring, agentapi.JoinPreparing,
		agentapi.JoinApplying}
)

// known returns word if the API knows it, and otherwise if not.
func known[T ~string](word T, words []T, otherwise string) string {
	if slices.Contains(words, word) {
		return string(word)
	}
	return otherwise
}
