package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
)

// clockUnit is what differences of clocks are reported in.
const clockUnit = 10 * time.Second

// Clock is how far the time is ahead of the archiver's own clock: at least Early, and at most Late.
type Clock struct {
	Early, Late time.Duration
	// Off is how far each clock is ahead of those that agree, by its name.
	Off map[string]time.Duration
}

// ownClock and halves name what is no node's.
const (
	ownClock = "the archiver's host"
	halves   = ""
)

// JudgeClock decides what time it is by the archiver's own clock and those of nodes. ahead is how far each of these is
// ahead of the own one. The one in the middle counts, so that one of three may be wrong. Of two that differ, either may
// be right: what was archived until a time goes by the earlier one, and what bounds a transaction's time by the later
// one.
func JudgeClock(ahead map[string]time.Duration) (c Clock) {
	all := []time.Duration{0}
	for _, d := range ahead {
		all = append(all, d)
	}
	slices.Sort(all)
	c.Early, c.Late = all[(len(all)-1)/2], all[len(all)/2]
	c.Off = map[string]time.Duration{ownClock: c.off(0), halves: c.Late - c.Early}
	for name, d := range ahead {
		c.Off[name] = c.off(d)
	}
	if c.Early.Abs() <= binlog.ClockSlack {
		c.Early = 0
	}
	if c.Late.Abs() <= binlog.ClockSlack {
		c.Late = 0
	}
	return c
}

// Doubt is how far two halves of the clocks differ, where nothing shows which of them are right; 0 where they agree.
func (c Clock) Doubt() time.Duration {
	if c.Off[halves] <= binlog.ClockSlack {
		return 0
	}
	return c.Late - c.Early
}

// off is how far a clock is outside of those that agree.
func (c Clock) off(d time.Duration) time.Duration { return min(d-c.Early, max(d-c.Late, 0)) }

// Differing returns which clocks are to be reported, and by how much they differ: those that differ by more than the
// slack. One that was reported before is so until it differs by less than a half of that, and as it was until that has
// changed: a status that changes with every check wakes every watcher. Two halves are reported while there is a doubt.
func (c Clock) Differing(reported map[string]time.Duration) map[string]time.Duration {
	out := map[string]time.Duration{}
	for name, d := range c.Off {
		before, was := reported[name]
		switch {
		case was && d.Abs() > binlog.ClockSlack/2 && (d-before).Abs() < clockUnit && (name != halves || c.Doubt() > 0):
			out[name] = before
		case d.Abs() > binlog.ClockSlack:
			out[name] = d
		}
	}
	return out
}

// DescribeClocks names the clocks that differ, "" for none.
func DescribeClocks(differing map[string]time.Duration) string {
	var out []string
	for of, d := range differing {
		switch by := d.Abs().Round(clockUnit); {
		case of == halves:
			out = append(out, fmt.Sprintf("%s between those of two halves", by))
		case d < 0:
			out = append(out, fmt.Sprintf("that of %s is %s behind", of, by))
		default:
			out = append(out, fmt.Sprintf("that of %s is %s ahead", of, by))
		}
	}
	if len(out) == 0 {
		return ""
	}
	slices.Sort(out)
	why := "times in the archive go by the clocks that agree"
	if _, both := differing[halves]; both {
		why = "no time is called archived while nothing shows which of them are right"
	}
	return "clocks differ (" + strings.Join(out, ", ") + "): set them, for " + why
}

// Doubtful is the error of a target that no base is chosen for: every one before it is followed by the same doubt.
type Doubtful string

// Error implements error.
func (d Doubtful) Error() string { return string(d) }

// doubtful reports why nothing shows which transactions were committed before the time of a target, "" when it is
// shown: clocks were in two halves when a segment was stored. first is the index of the segment that goes on from the
// base.
func doubtful(heads Heads, first int, b Base, t binlog.Target, through binlog.Through) string {
	if t.Time.IsZero() {
		return ""
	}
	later, than := first, time.Time{}
	for i := first; i < heads.len(); i++ {
		h := heads.At(i)
		switch {
		case i > first && heads.breaks(i) != "":
			return ""
		case h.Empty():
			continue
		case h.LateCeiling.IsZero() || atOrAfter(b.GTID, h.Last):
			if !h.LastTime.Before(t.Time) { // later ones were committed after that
				return ""
			}
			continue
		}
		from := h.Soonest(h.FirstTime)
		if !t.Time.After(from) || !t.Time.Before(h.LateCeiling) { // as far as it can be known
			continue
		}
		if later <= i || !than.Equal(h.Through) { // of many segments that follow each other it is the same one
			later, than = heads.calledLater(i), h.Through
		}
		if to := stored(heads, i, later, through); t.Time.Before(to) {
			return fmt.Sprintf("%s cannot be restored: when the transactions %s to %s were archived, the clocks that were "+
				"known were in two halves, and nothing shows which of these transactions were committed before that time. Set a "+
				"GTID, or a time that is not between %s and %s", t, h.First, h.Last, from.UTC().Format(time.RFC3339Nano),
				to.UTC().Format(time.RFC3339Nano))
		}
	}
	return ""
}

// mayPrecede reports whether transactions from a segment on may have been committed before a time.
func mayPrecede(h binlog.Head, at time.Time) bool {
	return h.Empty() || !h.FirstTime.IsZero() && h.Soonest(h.FirstTime).Before(at)
}

// calledLater is the index of the first segment after another one that calls a later time archived.
func (h Heads) calledLater(i int) int {
	than := h.At(i).Through
	for i++; i < h.len() && !h.At(i).Through.After(than); i++ {
	}
	return i
}

// stored is a time before which a segment was stored: no time is called archived while clocks are in two halves, and
// one that is has been asked for after that. later is the index of the first segment that calls a later time archived.
func stored(heads Heads, i, later int, through binlog.Through) time.Time {
	h := heads.At(i)
	if later < heads.len() {
		return earlier(h.LateCeiling, heads.At(later).Through)
	}
	last := heads.At(heads.len() - 1)
	if through.Segment == last.Number && through.Last == last.Last && through.Time.After(h.Through) {
		return earlier(h.LateCeiling, through.Time)
	}
	return h.LateCeiling
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
