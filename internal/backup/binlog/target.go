package binlog

import "time"

// Target is a point in time: exactly one of its fields is set.
type Target struct {
	// Time: everything that was committed before it. A transaction names the second it was made in, so that those of the
	// named second, and all after the first of them, are left out.
	Time time.Time `json:"time,omitzero"`
	// GTID: everything up to this transaction, and with it.
	GTID GTID `json:"gtid,omitzero"`
	// Latest: everything.
	Latest bool `json:"latest,omitempty"`
}

// String describes the target.
func (t Target) String() string {
	switch {
	case !t.Time.IsZero():
		return "the time " + t.Time.UTC().Format(time.RFC3339)
	case t.GTID != GTID{}:
		return "the GTID " + t.GTID.String()
	}
	return "the latest transaction"
}
