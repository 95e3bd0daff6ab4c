package binlog

import "time"

// ClockSlack is how far the clocks of a node and of the archiver may differ.
const ClockSlack = 5 * time.Second

// Times bound when the transactions of a segment were committed, by the archiver's clock: a transaction reports any
// time that its client has set (SET timestamp).
type Times struct {
	// Floor is not after, and Ceiling not before the commit of any of them. Low is Floor without what the segments before
	// say.
	Low     time.Time `json:"low,omitzero"`
	Floor   time.Time `json:"floor,omitzero"`
	Ceiling time.Time `json:"ceiling,omitzero"`
	// LateCeiling is set where clocks were in two halves, and nothing showed which one was right: it is the ceiling by the
	// later half, and Ceiling that by the earlier one.
	LateCeiling time.Time `json:"lateCeiling,omitzero"`
}

// Between are the bounds of transactions that were committed after one time and before another one. latest is the time
// of the transaction before them: times do not go back in the order of commits.
func Between(after, before, latest time.Time) Times {
	t := Times{Ceiling: before.Add(ClockSlack)}
	if !after.IsZero() {
		t.Low = after.Add(-ClockSlack)
	}
	t.Floor = Later(t.Low, latest)
	t.Ceiling = Later(t.Ceiling, t.Floor)
	return t
}

// Doubtful are the bounds where the time before which they were committed is early by one half of the clocks, and late
// by the other one. What is known of after has no slack: a time that was called archived can still be restored.
func Doubtful(after, early, late, latest time.Time) Times {
	t := Times{Low: after, Floor: Later(after, latest)}
	t.Ceiling = Later(early, t.Floor)
	t.LateCeiling = Later(late.Add(ClockSlack), t.Ceiling)
	return t
}

// Since are the bounds where archived is a time that was called archived before these transactions, and read is when
// the last one was read that says to be of before that, the zero time for none. One that was read more than the slack
// after that time was committed after it: no clock that agrees with the archiver's is so far behind.
func (t Times) Since(archived, read time.Time) Times {
	if read.After(archived.Add(ClockSlack)) {
		t.Floor = Later(t.Floor, archived)
		t.Ceiling = Later(t.Ceiling, t.Floor)
	}
	return t
}

// Soonest is not after the commit of a transaction that was the first to say of itself first, as far as it was bounded.
func (t Times) Soonest(first time.Time) time.Time {
	if t.LateCeiling.IsZero() {
		return first
	}
	return Later(t.Low, first.Add(t.Ceiling.Sub(t.LateCeiling)))
}

// Bound is the time of a transaction that says raw of itself, without regard to others.
func (t Times) Bound(raw time.Time) time.Time {
	if raw = Later(raw, t.Low); raw.After(t.Ceiling) {
		return t.Ceiling
	}
	return raw
}

// After is the time of a transaction that comes after one of another time.
func (t Times) After(last, raw time.Time) time.Time { return Later(t.Bound(raw), t.Floor, last) }

// Later is the latest of some times.
func Later(a time.Time, more ...time.Time) time.Time {
	for _, b := range more {
		if b.After(a) {
			a = b
		}
	}
	return a
}
