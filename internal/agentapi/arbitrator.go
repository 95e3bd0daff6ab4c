package agentapi

import "strings"

// arbitratorName begins the name of every arbitrator in the group. No pod is called so: names of
// clusters have no dot. It is short, because Galera keeps no more than 31 characters of a name.
const arbitratorName = "arbitrator."

// ArbitratorName returns the name of a garbd in the group. Each process has its own name, so that a node whose view
// contains the name has exactly that process in its component, and no earlier one.
func ArbitratorName(token string) string { return arbitratorName + token }

// IsArbitrator reports whether a member of a component is an arbitrator, and holds no data.
func IsArbitrator(member string) bool { return strings.HasPrefix(member, arbitratorName) }

// FailureNoArbitrator means that the image has no garbd.
const FailureNoArbitrator = "ArbitratorMissing"

// Arbitration is a running garbd.
type Arbitration struct {
	// Process is the name it has in the group. An OrderRestart names it as its ID: it ends that process,
	// and no other.
	Process string `json:"process"`
	// Counted reports whether a member of a Primary component lists it.
	Counted bool `json:"counted"`
}
