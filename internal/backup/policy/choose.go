package policy

import (
	"errors"
	"fmt"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
)

// NotBefore is why a base that was complete after a target cannot serve it.
const NotBefore = "it is not before it"

// Before reports why a base cannot serve a target, "" when it can.
func Before(b Base, t binlog.Target) string {
	if why := b.why(); why != "" {
		return why
	}
	switch {
	case !t.Time.IsZero() && b.Time.After(t.Second()), t.GTID != binlog.GTID{} && !atOrAfter(t.GTID, b.GTID):
		return NotBefore
	}
	return ""
}

// Range is the segments that bring a base to a target: all of them but what is not after Base in the first, and what is
// beyond the target.
type Range struct {
	// From and To are the numbers of the first and the last segment; 0 when the base needs none.
	From, To uint64
	// Bytes is how much binary log they hold.
	Bytes int64
	// Sum is the checksum of the last one's head, and with it of all before.
	Sum string
	// Chain is the number of the segment that their chain has begun with.
	Chain uint64
	// Also is the line of history of a later chain that has a transaction of the target's GTID; the zero Line for none.
	Also binlog.Line
}

// Choose is ChooseOf heads that have been read: the archive's in order, from the one that holds the base's position or
// an earlier one.
func Choose(heads []binlog.Head, b Base, t binlog.Target, through binlog.Through) (Range, error) {
	return ChooseOf(headsOf(heads), b, t, through)
}

// ChooseOf finds the range for a target. It reads what is around the base, and from there to the target. The error
// names what is missing, and what could be had: it is Outside then.
func ChooseOf(heads Heads, b Base, t binlog.Target, through binlog.Through) (Range, error) {
	w, why, err := choose(heads, b, t, through)
	if err == nil && why != "" {
		err = outside(w, heads, through, why)
	}
	if err != nil {
		return Range{}, err
	}
	return w.out, nil
}

// choose walks through the segments that lead from a base to a target. why is what keeps it from arriving there.
func choose(heads Heads, b Base, t binlog.Target, through binlog.Through) (w walk, why string, err error) {
	w = walk{base: b, target: t, end: b}
	if why := b.why(); why != "" {
		return w, "", fmt.Errorf("the backup %s is no base of an archive: %s", b.ID, why)
	}
	first := heads.since(b)
	if w.first = first; first < 0 {
		return w, "", fmt.Errorf("the archive does not go back to the backup %s at %s, in its line of history", b.ID, b.GTID)
	}
	if holds(heads, first, b, t) {
		return w, "", fmt.Errorf("%s cannot be restored with the backup %s: it holds transactions of that time, or later "+
			"ones",
			t, b.ID)
	}
	if why := mayHold(heads, first, b, t, through); why != "" {
		return w, "", errors.New(why)
	}
	w.out.Also = another(heads, first, b, t)
	if why := doubtful(heads, first, b, t, through); why != "" {
		return w, "", Doubtful(why)
	}
	for i := first; i < heads.len(); i++ {
		h := heads.At(i)
		if why := ahead(h, b); why != "" && belongs(b, h) {
			return w, "", errors.New(why)
		}
		if !atOrAfter(b.GTID, h.Last) {
			break
		}
	}
	w.out.Chain = heads.At(first).Chain
	for i := first; i < heads.len(); i++ {
		if why := w.add(heads, i); why != "" {
			if w.passed || t.GTID != (binlog.GTID{}) && w.reached() { // nothing after the gap is needed
				break
			}
			return w, "there is a gap in the archive: " + why, nil
		}
		h := heads.At(i)
		if w.passed && !w.late(h) {
			break
		}
		w.take(h)
	}
	if last := heads.At(heads.len() - 1); through.Segment == last.Number && through.Last == w.end.GTID {
		w.end.Time = binlog.Later(w.end.Time, through.Time)
	}
	if !w.passed && !w.reached() {
		return w, "the archive ends before it", nil
	}
	return w, "", nil
}

// walk goes through the segments after a base.
type walk struct {
	first     int // the index of the segment that goes on from the base
	base, end Base
	target    binlog.Target
	last      binlog.Head // the last segment with transactions that was taken
	out       Range
	passed    bool
}

// add reports why the segment i does not go on from what was taken, "" when it does.
func (w *walk) add(heads Heads, i int) string {
	if i > w.first {
		if why := heads.breaks(i); why != "" {
			return why
		}
	}
	if h := heads.At(i); !belongs(w.base, h) {
		return fmt.Sprintf("the cluster went on in the line of history %s, without what the backup %s has", h.Line(),
			w.base.ID)
	}
	return ""
}

// take has a segment applied.
func (w *walk) take(h binlog.Head) {
	if w.out.From == 0 {
		w.out.From = h.Number
	}
	w.out.To, w.out.Sum = h.Number, h.Checksum
	w.out.Bytes += h.Bytes
	if !h.Empty() {
		w.last = h
	}
	switch {
	case !w.target.Time.IsZero():
		w.passed = w.passed || !h.Empty() && !h.LastTime.Before(w.target.Time)
	case w.target.GTID != binlog.GTID{}:
		w.passed = h.Last.Follows(w.target.GTID)
	}
	if h.Last.Follows(w.end.GTID) {
		w.end.GTID = h.Last
	}
	w.end.Time = binlog.Later(w.end.Time, h.LastTime, h.Through)
}

// late reports whether a segment after the target has transactions that name a time before it: they are counted.
func (w *walk) late(h binlog.Head) bool {
	return !w.target.Time.IsZero() && !h.Empty() && h.Earliest.Before(w.target.Time)
}

// reached reports whether the archive has all up to the target, though nothing beyond it.
func (w *walk) reached() bool {
	switch {
	case w.target.Latest:
		return true
	case !w.target.Time.IsZero():
		return !w.end.Time.Before(w.target.Time)
	}
	return w.end.GTID == w.target.GTID
}

// another finds a line of history, of a later chain, that has a transaction of the target's GTID, but does not come
// from the base. A chain that begins with that GTID has one, unless it is the very transaction, by its content.
func another(heads Heads, first int, b Base, t binlog.Target) (found binlog.Line) {
	if t.GTID == (binlog.GTID{}) {
		return found
	}
	heads.chains(first, func(from, end int, last binlog.Head) bool {
		if belongs(b, last) { // and so do those before it
			return true
		}
		has := heads.search(from, end, func(h binlog.Head) bool { return atOrAfter(h.Last, t.GTID) })
		for _, i := range []int{min(has, end-1), from} {
			h := heads.At(i)
			if h.Unreadable != "" || belongs(b, h) {
				continue
			}
			if h.Begins && h.Last == t.GTID && !ends(heads, first, b, h) ||
				!h.Empty() && atOrAfter(t.GTID, h.First) && atOrAfter(h.Last, t.GTID) {
				found = h.Line() // the first one is returned
			}
		}
		return true
	})
	return found
}

// ends reports whether a segment of a base's chain ends with the very transaction that another chain begins with.
func ends(heads Heads, first int, b Base, begins binlog.Head) bool {
	for i := heads.holding(first, begins.Last); i < heads.len(); i++ {
		h := heads.At(i)
		if h.Last == begins.Last && h.LastSum == begins.LastSum && h.LastSum != "" && belongs(b, h) {
			return true
		}
	}
	return false
}

// holds reports whether a base has transactions that are not before a target, by the times of the archive: the clock of
// the backup's Job may be another one. Where a segment cannot be read, that clock counts with its slack. first is the
// index of the segment that goes on from the base: it may have transactions of later ones, by their seqnos.
func holds(heads Heads, first int, b Base, t binlog.Target) bool {
	if t.Time.IsZero() {
		return false
	}
	late := func(at time.Time) bool { return !at.Before(t.Second()) }
	for i := max(0, first-1); i < heads.len(); i++ {
		switch h := heads.At(i); {
		case i > first && (!belongs(b, h) || heads.breaks(i) != ""):
			return false
		case h.Empty():
		case h.Unreadable != "":
			if !before(b, t.Second()) {
				return true
			}
		case b.has(h, h.First, i >= first) && late(h.FirstTime) || b.has(h, h.Last, i >= first) && late(h.LastTime):
			return true
		case i > first && !b.has(h, h.First, true):
			return false
		}
	}
	return false
}

// has reports whether a base has a transaction of a segment: by its number, or, in the base's chain, by the very seqno
// that it names.
func (b Base) has(h binlog.Head, g binlog.GTID, inChain bool) bool {
	return atOrAfter(b.GTID, g) || inChain && h.Names(g.Seq) && h.SeqnoAtLeast(g.Seq) <= b.Seqno
}

// GoesBack reports whether segments from this one on have what follows a base.
func GoesBack(h binlog.Head, b Base) bool { return reachedBy(h, b) }
