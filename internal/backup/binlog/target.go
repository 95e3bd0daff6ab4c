package binlog

import (
	"fmt"
	"time"
)

// Target is a point in time: exactly one of its fields is set.
type Target struct {
	// Time: everything before the first transaction that is later.
	Time time.Time `json:"time,omitzero"`
	// GTID: everything up to this transaction, and with it.
	GTID GTID `json:"gtid,omitzero"`
	// Latest: everything.
	Latest bool `json:"latest,omitempty"`
}

// String tells of the target.
func (t Target) String() string {
	switch {
	case !t.Time.IsZero():
		return "the time " + t.Time.UTC().Format(time.RFC3339)
	case t.GTID != GTID{}:
		return "the GTID " + t.GTID.String()
	}
	return "the latest transaction"
}

// Base is a backup that transactions can be applied to.
type Base struct {
	ID string
	// GTID is its position in the archive's domain.
	GTID GTID
	// Time the copy was complete at.
	Time time.Time
}

// Before says that a base may serve a target.
func (t Target) Before(b Base) bool {
	switch {
	case b.GTID == GTID{}:
		return false
	case !t.Time.IsZero():
		return !b.Time.After(t.Time)
	case t.GTID != GTID{}:
		return b.GTID == t.GTID || t.GTID.Follows(b.GTID)
	}
	return true
}

// Range is the segments that bring a base to a target: all of them but what is not after Base in the first, and what is beyond the target in
// the last.
type Range struct {
	// From and To are the numbers of the first and the last segment; 0 when the base needs none.
	From, To uint64
	// Bytes is how much binary log they hold.
	Bytes int64
}

// Choose finds the range for a target. heads are the archive's segments in order, from the one that holds the base's position or an earlier one.
// The error says what is missing, and what could be had.
func Choose(heads []Head, b Base, t Target, through Through) (r Range, err error) {
	heads = since(heads, b)
	if len(heads) == 0 {
		return r, fmt.Errorf("the archive does not go back to the backup %s at %s", b.ID, b.GTID)
	}
	end := Base{GTID: b.GTID, Time: b.Time}
	for i, h := range heads {
		if why := broken(heads, i); why != "" {
			return r, outside(t, b, end, "there is a gap in the archive: "+why)
		}
		if h.Begins {
			continue
		}
		if r.From == 0 {
			r.From = h.Number
		}
		r.To = h.Number
		r.Bytes += h.Bytes
		if t.passed(h) {
			return r, nil
		}
		if h.Last.Follows(end.GTID) {
			end.GTID = h.Last
		}
		end.Time = later(end.Time, h.LastTime, h.Through)
	}
	if through.Last == end.GTID {
		end.Time = later(end.Time, through.Time)
	}
	switch {
	case t.Latest:
		return r, nil
	case !t.Time.IsZero() && !end.Time.Before(t.Time):
		return r, nil
	case t.GTID != GTID{} && end.GTID == t.GTID:
		return r, nil
	}
	return r, outside(t, b, end, "the archive ends before it")
}

// passed says that a target lies in a segment, or before it.
func (t Target) passed(h Head) bool {
	switch {
	case !t.Time.IsZero():
		return h.LastTime.After(t.Time)
	case t.GTID != GTID{}:
		return h.Last == t.GTID || h.Last.Follows(t.GTID)
	}
	return false
}

// since leaves out the segments before the one that goes on from a base.
func since(heads []Head, b Base) []Head {
	for i := len(heads) - 1; i >= 0; i-- {
		if GoesOn(heads[i], b) {
			return heads[i:]
		}
	}
	return nil
}

// GoesOn says that what follows a base is in a segment, or in later ones.
func GoesOn(h Head, b Base) bool {
	start := h.Start()
	return b.GTID == start || b.GTID.Follows(start)
}

// Start is the transaction after which a segment goes on.
func (h Head) Start() GTID {
	if h.Begins {
		return h.Last
	}
	return h.Previous
}

// Needless says that a segment holds nothing that is after a base.
func Needless(h Head, oldest Base) bool { return oldest.GTID == h.Last || oldest.GTID.Follows(h.Last) }

// broken says why the segment does not go on from the one before it, "" when it does.
func broken(heads []Head, i int) string {
	if i == 0 {
		return ""
	}
	h, before := heads[i], heads[i-1]
	switch {
	case h.Begins:
		return fmt.Sprintf("after %s it begins anew at %s (%s)", before.Last, h.Last, h.Why)
	case h.Number != before.Number+1:
		return fmt.Sprintf("the segments between %s and %s are missing", Name(before.Number), Name(h.Number))
	case h.Previous != before.Last:
		return fmt.Sprintf("the segment %s goes on after %s, and the one before ends at %s", Name(h.Number), h.Previous, before.Last)
	}
	return ""
}

func outside(t Target, b, end Base, why string) error {
	return fmt.Errorf("%s cannot be restored: %s. With the backup %s, what can be restored is from %s (%s) to %s (%s)", t, why, b.ID,
		b.Time.UTC().Format(time.RFC3339), b.GTID, end.Time.UTC().Format(time.RFC3339), end.GTID)
}

func later(a time.Time, more ...time.Time) time.Time {
	for _, b := range more {
		if b.After(a) {
			a = b
		}
	}
	return a
}

// Cut is what is applied of a range: it is asked for each transaction in order.
type Cut struct {
	Base   GTID
	Target Target
	// Last is the last transaction that was to be applied; the base's before the first one.
	Last  GTID
	ended bool
}

// Takes says whether a transaction is to be applied. Once one is beyond the target, none after it is.
func (c *Cut) Takes(t Transaction) bool {
	if c.ended || t.GTID.Seq <= c.Base.Seq {
		return false
	}
	beyond := !c.Target.Time.IsZero() && t.Time.After(c.Target.Time) || c.Target.GTID != GTID{} && t.GTID.Seq > c.Target.GTID.Seq
	if beyond {
		c.ended = true
		return false
	}
	c.Last = t.GTID
	return true
}

// Ended says that the target was passed.
func (c *Cut) Ended() bool { return c.ended }
