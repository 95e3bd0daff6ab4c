package agentapi

import "time"

// Upgrade is the run of mariadb-upgrade a newer server needs, once the member is Synced.
type Upgrade struct {
	// From is the version the system tables were of, "" when that was not known; To is the server's.
	From string `json:"from,omitempty"`
	To   string `json:"to"`
	// State is one of the Upgrade… constants.
	State     string    `json:"state"`
	StartedAt time.Time `json:"startedAt"`
	// EndedAt is when the last attempt ended.
	EndedAt *time.Time `json:"endedAt,omitempty"`
}

// States of an Upgrade.
const (
	UpgradeRunning = "Running"
	UpgradeDone    = "Done"
	UpgradeFailed  = "Failed" // tried again by itself
)
