package agentapi

import "time"

// BlockedAfter is how long a statement waits for a lock before it is reported.
const BlockedAfter = 20 * time.Second

// Blocked is a statement that the group has ordered, and that waits on this server for a lock. All later writes of the
// cluster wait behind it.
type Blocked struct {
	// For is how long it has waited.
	For time.Duration `json:"for"`
	// Table is what the lock is on, as DATABASE or DATABASE.TABLE, "" when that is not known.
	Table string `json:"table,omitempty"`
	// Holder is the connection that holds the lock, nil when it is not known.
	Holder *LockHolder `json:"holder,omitempty"`
}

// LockHolder is a connection that holds a lock.
type LockHolder struct {
	// ID of the connection, as KILL takes it, with its account's name and the client's address.
	ID   int64  `json:"id"`
	User string `json:"user,omitempty"`
	Host string `json:"host,omitempty"`
	// Idle reports whether it carries out no statement now.
	Idle bool `json:"idle,omitempty"`
	// Held is how long it has held the lock.
	Held time.Duration `json:"held,omitempty"`
}
