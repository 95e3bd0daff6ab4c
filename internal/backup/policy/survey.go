package policy

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
)

// Archive is what a store has of it.
type Archive struct {
	// Numbers of its segments, in order.
	Numbers []uint64
	// Head reads that of one.
	Head func(number uint64) (binlog.Head, error)
}

// Report is what an archive can be used for.
type Report struct {
	// Chain is the number from which on nothing is missing: of the segment that the archive has begun with, or of the one
	// after those lost.
	Chain uint64
	// Base is the earliest backup that leads to the end of the archive, with an empty ID for none.
	Base Base
	// From is the earliest time that is restored with it, zero for none: also while the archive ends before it.
	From time.Time
	// Gap is why there is none, though there was an archive before; "" without a gap.
	Gap string
	// Unfit is why the latest backup does not lead there, when none does.
	Unfit Unfit
}

// Unfit is why an archive does not go on from a backup.
type Unfit struct{ ID, Why string }

// Survey reports what the end of an archive can be reached from.
func Survey(a Archive, bases []Base) (r Report, err error) {
	if len(a.Numbers) == 0 {
		return r, nil
	}
	last, err := a.Head(a.Numbers[len(a.Numbers)-1])
	if err != nil {
		return r, err
	}
	i := len(a.Numbers) - 1
	for i > 0 && a.Numbers[i] > last.Chain && a.Numbers[i-1] == a.Numbers[i]-1 {
		i--
	}
	i, first, err := a.joined(i)
	if err != nil {
		return r, err
	}
	r.Chain = first.Number
	if r.Base, r.From, r.Unfit, err = a.earliest(i, first, last, bases); err != nil {
		return r, err
	}
	switch {
	case r.Base.ID != "":
	case first.Number > last.Chain:
		lost := last.Chain
		if i > 0 {
			lost = max(lost, a.Numbers[i-1]+1)
		}
		r.Gap = missing(lost, first.Number-1)
	case first.Number > 1:
		r.Gap = first.Why
	}
	return r, nil
}

// earliest returns the earliest base that leads from a segment, the first one, to the last one, and the earliest time
// that is restored with it; or, with an empty ID for none, why the latest one does not.
func (a Archive) earliest(i int, first, last binlog.Head, bases []Base) (base Base, from time.Time,
	latest Unfit, err error) {
	bases = slices.SortedStableFunc(slices.Values(bases), func(x, y Base) int { return x.Time.Compare(y.Time) })
	for _, b := range bases {
		heads, why, err := a.leads(i, first, last, b)
		switch {
		case err != nil:
			return Base{}, time.Time{}, Unfit{}, err
		case why == "":
			if from = b.from(heads...); b.GTID.Follows(last.Last) {
				from = time.Time{} // nothing can be restored with it until the archive has what it holds
			}
			return b, from, Unfit{}, nil
		}
		latest = Unfit{b.ID, why}
	}
	return Base{}, time.Time{}, latest, nil
}

// leads reports why a base does not lead from the segment i, the first one, to the last one; or the heads of the
// segment that it leads into, of the one before, and of those after it that begin before its seqno, or may be of before
// the time that it leads to.
func (a Archive) leads(i int, first, last binlog.Head, b Base) (heads []binlog.Head, why string, err error) {
	switch {
	case b.why() != "":
		return nil, b.why(), nil
	case !belongs(b, last):
		return nil, "it is not of the history that the archive has", nil
	case !startsBefore(first, b):
		return nil, fmt.Sprintf("it ends at %s, before the archive begins at %s", b.GTID, first.Start()), nil
	}
	of, h, err := a.segmentOf(a.Numbers[i:], b)
	if err != nil {
		return nil, "", err
	}
	before, err := a.Head(a.Numbers[max(0, i+of-1)])
	if err != nil {
		return nil, "", err
	}
	if why, err = a.ahead(a.Numbers[i:], of, b); err == nil && why == "" {
		why, err = a.mayHold(a.Numbers[i:], of, b)
	}
	if err != nil {
		return nil, "", err
	}
	heads = []binlog.Head{before, h}
	for k := i + of + 1; k < len(a.Numbers) && (!beyond(h, b) || mayPrecede(h, b.from(heads...))); k++ {
		if h, err = a.Head(a.Numbers[k]); err != nil {
			return nil, "", err
		}
		heads = append(heads, h)
	}
	return heads, why, nil
}

// beyond reports whether later segments are after a base by their seqnos. What is reported of a node, as where a chain
// begins, may be later than what follows.
func beyond(h binlog.Head, b Base) bool {
	if h.Held > h.From && h.Held >= b.Seqno {
		return true
	}
	if h.Seqnos {
		return h.SeqnoAtLeast(h.Last.Seq) > b.Seqno
	}
	return !h.Begins && h.Seqno > b.Seqno
}

// segmentOf finds the segment that has the last transaction of a base, or the last one.
func (a Archive) segmentOf(numbers []uint64, b Base) (i int, h binlog.Head, err error) {
	i = sort.Search(len(numbers)-1, func(i int) bool {
		h, e := a.Head(numbers[i])
		err = cmp.Or(err, e)
		return atOrAfter(h.Last, b.GTID)
	})
	if err == nil {
		h, err = a.Head(numbers[i])
	}
	return i, h, err
}

// ahead reports why the number of a base is not where its seqno is in a segment, or, if that is empty, in the one
// before.
func (a Archive) ahead(numbers []uint64, i int, b Base) (why string, err error) {
	for ; i >= 0; i-- {
		h, err := a.Head(numbers[i])
		if err != nil {
			return "", err
		}
		if belongs(b, h) {
			why = ahead(h, b)
		}
		if why != "" || !h.Empty() {
			return why, nil
		}
	}
	return "", nil
}

// mayHold reports why a base may hold transactions that its number is before, or lack others. The segment i has its
// number, or is the last one; those before it count that may end after the base by their seqno.
func (a Archive) mayHold(numbers []uint64, i int, b Base) (why string, err error) {
	of := behind{Base: b}
	for i = max(0, i-1); i > 0; i-- {
		if h, err := a.Head(numbers[i]); err != nil || startsBefore(h, b) {
			break
		}
	}
	if of.least, err = leastBefore(i, func(i int) (binlog.Head, error) { return a.Head(numbers[i]) }); err != nil {
		return "", err
	}
	for ; i < len(numbers); i++ {
		h, err := a.Head(numbers[i])
		if err != nil {
			return "", err
		}
		if !belongs(b, h) { // before its line of history
			of.before(h)
			continue
		}
		if why, done := of.see(h); done || why != "" {
			return why, nil
		}
	}
	return of.ends(), nil
}

// joined leaves out a segment that the one after it does not follow: an archiver that was held up may have stored it in
// the place of a removed one.
func (a Archive) joined(i int) (int, binlog.Head, error) {
	h, err := a.Head(a.Numbers[i])
	for ; err == nil && i < len(a.Numbers)-1; i++ {
		var next binlog.Head
		if next, err = a.Head(a.Numbers[i+1]); err != nil || next.Before == h.Checksum {
			break
		}
		h = next
	}
	return i, h, err
}

// Prune returns the segments that nothing needs: no point in time of the last window, and none at all that a backup
// leads to. What is before the latest backup that is older than the window is not needed, and a chain that has ended
// before the window neither. The last segment stays. relied are the backups that lead to the points in time kept: they
// are to be in the store, and as they were when they were read, before anything is removed.
func Prune(a Archive, bases []Base, window time.Duration, now time.Time) (needless []uint64, relied []Base, err error) {
	err = a.chains(func(c chain, current bool) error {
		of, keep, err := c.needless(bases, now.Add(-window), current)
		if len(of) > 0 && keep.ID != "" {
			relied = append(relied, keep)
		}
		needless = append(of, needless...)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	if n := len(a.Numbers); n > 0 {
		needless = slices.DeleteFunc(needless, func(k uint64) bool { return k == a.Numbers[n-1] })
	}
	return needless, relied, nil
}

// Needed returns the backups that the points in time of the last window are reached from: one of each chain, also of
// those that have ended within the window. The archive shows more than the time of a backup does: it may be of a line
// of history that was lost, or hold what the archive calls later.
func Needed(a Archive, bases []Base, window time.Duration, now time.Time) (out []Base, err error) {
	since := now.Add(-window)
	err = a.chains(func(c chain, current bool) error {
		if c.over(since, current) {
			return nil
		}
		first, err := c.Head(c.numbers[0])
		if err != nil {
			return err
		}
		keep, err := c.kept(first, bases, since)
		if keep.ID != "" {
			out = append(out, keep)
		}
		return err
	})
	return out, err
}

// chains passes each one on, the current one first.
func (a Archive) chains(do func(c chain, current bool) error) error {
	left := a.Numbers
	for current := true; len(left) > 0; current = false {
		h, err := a.Head(left[len(left)-1])
		if err != nil {
			return err
		}
		cut := sort.Search(len(left), func(i int) bool { return left[i] >= h.Chain })
		if cut == len(left) {
			return fmt.Errorf("the segment %s names the chain %d", binlog.Name(h.Number), h.Chain)
		}
		if err := do(chain{a, left[cut:], h}, current); err != nil {
			return err
		}
		left = left[:cut]
	}
	return nil
}

// chain is the segments of one.
type chain struct {
	Archive
	numbers []uint64
	end     binlog.Head
}

// over reports whether the chain has ended before a time.
func (c chain) over(since time.Time, current bool) bool { return !current && c.end.End().Before(since) }

// needless returns the segments that nothing needs, and the backup that is kept, with an empty ID for none.
func (c chain) needless(bases []Base, since time.Time, current bool) (out []uint64, keep Base, err error) {
	if c.over(since, current) {
		return slices.Clone(c.numbers), keep, nil
	}
	first, err := c.Head(c.numbers[0])
	if err != nil {
		return nil, keep, err
	}
	if keep, err = c.kept(first, bases, since); err != nil || keep.ID == "" {
		return nil, keep, err
	}
	var failed error
	cut := sort.Search(len(c.numbers), func(i int) bool {
		h, err := c.Head(c.numbers[i])
		if err != nil {
			failed = err
		}
		return !atOrAfter(keep.GTID, h.Last) || h.Seqno <= 0 || h.Seqno > keep.Seqno
	})
	return slices.Clone(c.numbers[:cut]), keep, failed
}

// kept returns the backup that the points in time kept are reached from, with an empty ID for none. One whose node has
// numbered transactions ahead of the archive leads nowhere: what is before it stays for an earlier one. One that holds
// transactions of the window is one of the window, whatever the clock of its Job was.
func (c chain) kept(first binlog.Head, bases []Base, since time.Time) (keep Base, err error) {
	within := map[string]bool{}
	for {
		if keep = c.candidate(first, bases, since, within); keep.ID == "" {
			return keep, nil
		}
		heads, why, err := Archive{c.numbers, c.Head}.leads(0, first, c.end, keep)
		switch {
		case err != nil:
			return keep, err
		case why != "":
			bases = slices.DeleteFunc(slices.Clone(bases), func(b Base) bool { return b.ID == keep.ID })
		case !within[keep.ID] && before(keep, since) && !keep.from(heads...).Before(since):
			within[keep.ID] = true
		default:
			return keep, nil
		}
	}
}

// candidate returns the latest base of before the window, without one the earliest of the window; within are those of
// the window whose time says otherwise.
func (c chain) candidate(first binlog.Head, bases []Base, since time.Time, within map[string]bool) (keep Base) {
	isOld := func(b Base) bool { return before(b, since) && !within[b.ID] }
	for _, b := range bases {
		// one ahead of the archive may stay without what follows it
		fits := belongs(b, c.end) && startsBefore(first, b) && atOrAfter(c.end.Last, b.GTID)
		if b.why() != "" || !fits {
			continue
		}
		old, kept := isOld(b), keep.ID != "" && isOld(keep)
		switch {
		case keep.ID == "", old && (!kept || b.GTID.Follows(keep.GTID)), !old && !kept && keep.GTID.Follows(b.GTID):
			keep = b
		}
	}
	return keep
}

// before reports whether a base was complete before a time, whatever the clock of its Job.
func before(b Base, at time.Time) bool { return b.Time.Add(binlog.ClockSlack).Before(at) }
