package policy

import (
	"cmp"
	"fmt"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
)

// mayHold reports why a base may hold a transaction that its number, or the target, is before; "" when nothing suggests
// it. first is the index of the segment that goes on from it.
func mayHold(heads []binlog.Head, first int, b Base, t binlog.Target, through binlog.Through) string {
	of := behind{Base: b, target: t.GTID}
	if first > 0 && Break(heads[first-1], heads[first]) == "" {
		of.before(heads[first-1])
	}
	i := first
	for ; i < len(heads) && (i == first || belongs(b, heads[i]) && Break(heads[i-1], heads[i]) == ""); i++ {
		if why, done := of.see(heads[i]); done || why != "" {
			return otherwise(why)
		}
	}
	if last := heads[i-1]; through.Segment == last.Number && through.Last == last.Last && through.Held > last.From {
		of.held = max(of.held, through.Held)
	}
	switch {
	case t.GTID.Follows(heads[i-1].Last) && t.GTID != b.GTID: // it is not archived
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

// behind finds out whether a base may hold a statement that changes tables, though that has a later number than the
// base: its node may number transactions lower than the archive, and such a statement does not name its seqno. It would
// be applied twice.
type behind struct {
	Base
	target binlog.GTID // what the data are to end with, the zero GTID for another target
	known  bool        // segments report up to which seqno the archive has everything
	held   int64       // the archive has everything up to it
	least  int64       // the seqno of the transaction that was seen last, at least
	next   uint64      // the first number after the base's, 0 before it was seen
	may    uint64      // the number of the first statement that the base may hold, 0 for none
	end    binlog.Head // the last segment with Galera's seqnos that ends after the base
}

// before takes a segment that is before the base. A chain begins with what one node has: what that one lacks in its
// binary log may follow, and be before it. Later ones show that it did.
func (b *behind) before(h binlog.Head) {
	b.known = b.known || h.Held > 0
	if h.Held > h.From {
		b.held, b.least = max(b.held, h.Held), max(b.least, h.Held)
	}
}

// see takes the segments of the base's chain in order. why is what shows that the base may hold too much, and done
// reports that it holds nothing of the later ones. Where no node has shown that a segment's seqnos are Galera's, they
// show nothing but that a base may not fit: each transaction takes one all the same.
func (b *behind) see(h binlog.Head) (why string, done bool) {
	if h.Empty() {
		b.before(h)
		return "", false
	}
	if h.Seqnos && h.Last.Seq > b.GTID.Seq {
		b.end = h
	}
	for n := h.First.Seq; n <= h.Last.Seq; n = given(h, n+1) {
		if b.crosses(h, n) {
			return b.unshown(n), false
		}
		b.least = max(b.least+1, h.SeqnoAtLeast(n))
		switch named := h.Names(n); {
		case n <= b.GTID.Seq:
			continue
		case b.least <= b.Seqno && !named:
			b.may = cmp.Or(b.may, n)
		case b.least <= b.Seqno && (b.may > 0 || b.target != binlog.GTID{} && n > b.target.Seq):
			return b.holds(cmp.Or(b.may, n)), false
		case b.least > b.Seqno && b.may == 0:
			return "", true
		case b.least > b.Seqno && named:
			return b.lower(n, b.least), true
		}
		b.next = cmp.Or(b.next, n)
	}
	b.before(h)
	b.held = max(b.held, h.SeqnoAtLeast(h.Last.Seq))
	return "", false
}

// ends reports why the base may hold more where its chain ends: before all that the base has was archived, nothing
// shows that it ends with the target.
func (b *behind) ends() string {
	switch {
	case b.may > 0 && b.end.Seqno > 0:
		return b.lower(b.end.Last.Seq, b.end.Seqno)
	case b.may == 0 && b.target != binlog.GTID{} && (b.known || b.held > 0) && b.held < b.Seqno:
		return fmt.Sprintf("the backup %s ends at the seqno %d, the archive is known to be complete up to %d, and what the "+
			"backup has after that may be later than %s", b.ID, b.Seqno, b.held, b.target)
	}
	return ""
}

// early reports whether it is not shown because nothing was archived since the chain began.
func (b *behind) early() bool {
	return b.may == 0 && b.held == 0 && b.ends() != ""
}

// lower reports why the base's node may number transactions lower than the archive, by one that is after the base: each
// number takes a seqno, so that at the base as many seqnos had no number as there, or fewer.
func (b *behind) lower(number uint64, seqno int64) string {
	if seqno-int64(number) >= b.Seqno-int64(b.next-1) { //nolint:gosec // small
		return ""
	}
	return b.holds(b.may)
}

// crosses reports whether a transaction that the base lacks by its number is in it by the seqno that it names, or the
// other way, in a segment that was stored while no node answered: the seqno may well be Galera's.
func (b *behind) crosses(h binlog.Head, number uint64) bool {
	if h.Seqnos {
		return false
	}
	h.Seqnos = true
	return h.Names(number) && (number <= b.GTID.Seq) != (h.SeqnoAtLeast(number) <= b.Seqno)
}

func (b *behind) unshown(number uint64) string {
	return fmt.Sprintf("the backup %s ends at %s and the seqno %d, the transaction of the number %d names a seqno on the "+
		"other side of that, and no node has shown that it is Galera's: the backup's node may number transactions "+
		"differently", b.ID, b.GTID, b.Seqno, number)
}

func (b *behind) holds(number uint64) string {
	return fmt.Sprintf("the backup %s ends at %s and the seqno %d, and may hold the transaction of the number %d: the "+
		"backup's node numbered transactions lower than the archive", b.ID, b.GTID, b.Seqno, number)
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
