package binlog

import "time"

// Target is a point in time: exactly one of its fields is set.
type Target struct {
	// Time: everything that was committed before it. Most transactions name the second they were made in, so that those of
	// the named second, and all after the first of them, are left out.
	Time time.Time `json:"time,omitzero"`
	// GTID: everything up to this transaction, and with it.
	GTID GTID `json:"gtid,omitzero"`
	// Latest: everything.
	Latest bool `json:"latest,omitempty"`
}

// Second is the beginning of the second of the time: what names a whole second is before the time if it is before that.
func (t Target) Second() time.Time { return t.Time.Truncate(time.Second) }

// Passed reports whether a transaction of a time is not before that of the target. exact reports whether its time is
// known to the microsecond.
func (t Target) Passed(at time.Time, exact bool) bool {
	if t.Time.IsZero() {
		return false
	}
	return !at.Before(t.Second()) && (!exact || !at.Before(t.Time))
}

// String describes the target.
func (t Target) String() string {
	switch {
	case !t.Time.IsZero():
		return "the time " + t.Time.UTC().Format(time.RFC3339Nano)
	case t.GTID != GTID{}:
		return "the GTID " + t.GTID.String()
	}
	return "the latest transaction"
}
