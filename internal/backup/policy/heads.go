package policy

import (
	"slices"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
)

// Heads are those of an archive's segments, in order. A long archive has hundreds of thousands: one is read when At is
// asked for it, and Unreadable if it cannot be read.
type Heads struct {
	// Numbers of the segments.
	Numbers []uint64
	// At is the head of the one at an index.
	At func(i int) binlog.Head
}

func headsOf(all []binlog.Head) Heads {
	h := Heads{Numbers: make([]uint64, len(all)), At: func(i int) binlog.Head { return all[i] }}
	for i := range all {
		h.Numbers[i] = all[i].Number
	}
	return h
}

func (h Heads) len() int { return len(h.Numbers) }

// breaks reports why the segment at an index does not go on from the one before it.
func (h Heads) breaks(i int) string { return Break(h.At(i-1), h.At(i)) }

// search returns the first index, from one on and before another, of a segment that something holds for, and that other
// one for none. It holds for all later ones, too. A segment that cannot be read shows nothing.
func (h Heads) search(from, to int, holds func(binlog.Head) bool) int {
	for from < to {
		mid := from + (to-from)/2
		at := mid
		for at > from && h.At(at).Unreadable != "" {
			at--
		}
		if of := h.At(at); of.Unreadable == "" && holds(of) {
			to = at
		} else {
			from = mid + 1
		}
	}
	return from
}

// chains passes on each chain, the last one first, until that returns false: the indices of its first segment and of
// the one after its last, and the head of its last one that can be read. They go back to an index.
func (h Heads) chains(to int, do func(first, end int, last binlog.Head) (more bool)) {
	for end := h.len(); end > to; {
		last, first := h.At(end-1), end-1
		if last.Unreadable == "" {
			first, _ = slices.BinarySearch(h.Numbers[:end-1], last.Chain)
			if first = max(first, to); !do(first, end, last) {
				return
			}
		}
		end = first
	}
}

// since is the index of the segment that goes on from a base, -1 for none. In a chain, each segment starts at a later
// number than the one before it: those up to the base's number are found by bisection. By its seqno, the base may end
// before that.
func (h Heads) since(b Base) int {
	found := -1
	h.chains(0, func(first, end int, last binlog.Head) bool {
		if !b.mayPrecede(last) {
			return true
		}
		i := h.search(first, end, func(of binlog.Head) bool { return !atOrAfter(b.GTID, of.Start()) }) - 1
		for i >= first && !reachedBy(h.At(i), b) {
			i--
		}
		if i >= first {
			found = i
		}
		return found < 0
	})
	return found
}

// mayPrecede reports whether a base may belong to a segment of a chain that ends with a head: lines are only added.
func (b Base) mayPrecede(end binlog.Head) bool {
	return b.Session == end.Session &&
		slices.ContainsFunc(end.Lines, func(l binlog.Line) bool { return l.Same(b.Line) })
}

// holding is the index of the first segment of those right before one, and itself, that may end with a transaction, or
// a later one.
func (h Heads) holding(i int, g binlog.GTID) int {
	for i > 0 && atOrAfter(h.At(i-1).Last, g) {
		i--
	}
	return i
}
