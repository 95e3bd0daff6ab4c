package server

import (
	"strings"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// Classify says for which of the contract's reasons a server gave up, from its last lines.
func Classify(lines []string) string {
	for i := len(lines) - 1; i >= 0; i-- {
		line := lines[i]
		switch {
		case containsAny(line, []string{"No space left on device", "Disk is full", "error: 28", "Errcode: 28"}):
			return agentapi.FailureDiskFull
		case strings.Contains(line, "states diverged"):
			return agentapi.FailureDiverged
		case containsAny(line, []string{"unknown variable", "unknown option", "ambiguous option", "option without preceding group",
			"requires an argument", "Unknown suffix", "Error while setting value", "Unknown storage engine"}):
			return agentapi.FailureSettings
		}
	}
	return agentapi.FailureStart
}
