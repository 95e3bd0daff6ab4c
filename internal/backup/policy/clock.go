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

// off is how far a clock is outside of those that agree.
func (c Clock) off(d time.Duration) time.Duration { return min(d-c.Early, max(d-c.Late, 0)) }

// Differing returns which clocks are to be reported, and by how much they differ: those that differ by more than the
// slack. One that was reported before is so until it differs by less than a half of that, and as it was until that has
// changed: a status that changes with every check wakes every watcher.
func (c Clock) Differing(reported map[string]time.Duration) map[string]time.Duration {
	out := map[string]time.Duration{}
	for name, d := range c.Off {
		before, was := reported[name]
		switch {
		case was && d.Abs() > binlog.ClockSlack/2 && (d-before).Abs() < clockUnit:
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
	return "clocks differ (" + strings.Join(out, ", ") +
		"): set them, for times in the archive go by the clocks that agree"
}
