package policy

import (
	"fmt"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
)

// mayHold reports why a base may hold a transaction that its number, or the target, is before, or may lack one that its
// number is not before; "" when nothing suggests it. first is the index of the segment that goes on from it.
func mayHold(heads Heads, first int, b Base, t binlog.Target, through binlog.Through) string {
	of := behind{Base: b, target: t.GTID}
	if first > 0 && heads.breaks(first) == "" {
		of.before(heads.At(first - 1))
		of.least, _ = leastBefore(first, func(i int) (binlog.Head, error) { return heads.At(i), nil })
	}
	i := first
	for ; i < heads.len() && (i == first || belongs(b, heads.At(i)) && heads.breaks(i) == ""); i++ {
		if why, done := of.see(heads.At(i)); done || why != "" {
			return otherwise(why)
		}
	}
	last := heads.At(i - 1)
	if through.Segment == last.Number && through.Last == last.Last && through.Held > last.From {
		of.held = max(of.held, through.Held)
	}
	switch {
	case t.GTID.Follows(last.Last) && t.GTID != b.GTID: // it is not archived
		return ""
	case of.early():
		return fmt.Sprintf("the archive does not show yet whether the backup %s ends with %s: nothing was archived since it "+
			"began. Ask again once something was written to the cluster, or for the latest transaction", b.ID, t)
	}
	return otherwise(of.ends())
}

// otherwise adds to why a backup is refused what to do.
func otherwise(why string) string {
	if why == "" {
		return ""
	}
	return why + ". Begin with an earlier backup, or restore this one without a point in time"
}

// behind finds out whether a base holds exactly those statements that change tables which its number is not before: its
// node may number transactions differently than the archive, and such a statement does not name its seqno. It would be
// applied twice, or be left out. Between which seqnos it is follows from what the archive knows of its neighbours.
type behind struct {
	Base
	target binlog.GTID // what the data are to end with, the zero GTID for another target
	known  bool        // segments report up to which seqno the archive has everything
	held   int64       // the archive has everything up to it
	least  int64       // the seqno of the transaction that was seen last, at least
	unsure uint64      // the number of the base's last transaction, if that may be after the base's seqno; otherwise 0
	after  int64       // how many transactions were seen after it
	over   bool        // a transaction was seen that is after the base, and so are all later ones
}

// before takes a segment that is before the base. A chain begins with what one node has: what that one lacks in its
// binary log may follow, and be before it. Later ones show that it did.
func (b *behind) before(h binlog.Head) {
	b.known = b.known || h.Held > 0
	if h.Held > h.From {
		b.held = max(b.held, h.Held)
	}
	b.held = max(b.held, h.SeqnoAtLeast(h.Last.Seq))
}

// see takes the segments of the base's chain in order. why is what shows that the base may hold too much, or too
// little, and done reports that the later ones do not matter. Where no node has shown that a segment's seqnos are
// Galera's, they have to fit all the same: such a segment is read by number alone.
func (b *behind) see(h binlog.Head) (why string, done bool) {
	if b.least = max(b.least, h.PreviousHeld); h.Empty() {
		b.before(h)
		return "", false
	}
	shown := h.Seqnos
	h.Seqnos = true
	for n := h.First.Seq; n <= h.Last.Seq; n = given(h, n+1) {
		at := int64(0) // its very seqno
		if h.Names(n) {
			at = h.SeqnoAtLeast(n)
		}
		if !shown && at > 0 && (n <= b.GTID.Seq) != (at <= b.Seqno) {
			return b.unshown(n), false
		}
		b.least = max(b.least+1, h.SeqnoAtLeast(n))
		if n <= b.GTID.Seq {
			if b.unsure = 0; h.IsUnnamed(n) {
				b.unsure, b.after = n, 0
			}
			continue
		}
		if why, done := b.follows(h, n, at); done || why != "" {
			return why, done
		}
	}
	if b.unsure > 0 && h.Seqno > 0 && h.Seqno-b.after <= b.Seqno {
		b.unsure = 0
	}
	h.Seqnos = shown
	b.before(h)
	return "", b.over && b.unsure == 0
}

// follows takes a transaction that has a later number than the base. at is its seqno, 0 when it is not known.
func (b *behind) follows(h binlog.Head, n uint64, at int64) (why string, done bool) {
	switch b.after++; {
	case h.IsUnnamed(n) && b.least <= b.Seqno:
		return b.holds(n), false
	case at > 0 && at <= b.Seqno && b.target != binlog.GTID{} && n > b.target.Seq:
		return b.holds(n), false
	case b.unsure > 0 && at-b.after > b.Seqno:
		return b.mayLack(), false
	case b.unsure > 0 && at > 0:
		b.unsure = 0
	}
	b.over = b.over || b.least > b.Seqno
	return "", b.over && b.unsure == 0
}

// ends reports why the base may hold more where its chain ends: before all that the base has was archived, nothing
// shows that it ends with the target.
func (b *behind) ends() string {
	switch {
	case b.unsure > 0:
		return b.mayLack()
	case !b.over && b.target != binlog.GTID{} && (b.known || b.held > 0) && b.held < b.Seqno:
		return fmt.Sprintf("the backup %s ends at the seqno %d, the archive is known to be complete up to %d, and what the "+
			"backup has after that may be later than %s", b.ID, b.Seqno, b.held, b.target)
	}
	return ""
}

// early reports whether it is not shown because nothing was archived since the chain began.
func (b *behind) early() bool {
	return b.unsure == 0 && b.held == 0 && b.ends() != ""
}

// leastBefore is the least seqno that the last transaction before the segment i may have, 0 when nothing is known. An
// earlier build does not report PreviousHeld.
func leastBefore(i int, head func(i int) (binlog.Head, error)) (int64, error) {
	after := int64(0)
	for ; i > 0; i-- {
		h, err := head(i)
		if err != nil {
			return 0, err
		}
		before, err := head(i - 1)
		if err != nil || Break(before, h) != "" {
			return 0, err
		}
		if least := before.LastAtLeast(); least > 0 {
			return least + after, nil
		}
		after += int64(before.Transactions)
	}
	return 0, nil
}

func (b *behind) unshown(number uint64) string {
	return fmt.Sprintf("the backup %s ends at %s and the seqno %d, the transaction of the number %d names a seqno on the "+
		"other side of that, and no node has shown that it is Galera's: the backup's node may number transactions "+
		"differently", b.ID, b.GTID, b.Seqno, number)
}

func (b *behind) holds(number uint64) string {
	return fmt.Sprintf("the backup %s ends at %s and the seqno %d, and may hold the transaction of the number %d: the "+
		"backup's node may number transactions lower than the archive", b.ID, b.GTID, b.Seqno, number)
}

func (b *behind) mayLack() string {
	return fmt.Sprintf("the backup %s ends at %s and the seqno %d, and may lack the transaction of the number %d, a "+
		"statement that changes tables: the backup's node may number transactions higher than the archive", b.ID, b.GTID,
		b.Seqno, b.unsure)
}

// given is a number of a segment, or the one after the hole that it is in.
func given(h binlog.Head, n uint64) uint64 {
	for _, hole := range h.Holes {
		if hole.After.Seq < n && n < hole.Next.Seq {
			return hole.Next.Seq
		}
	}
	return n
}
