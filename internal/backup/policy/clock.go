package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
)

// clockUnit is what differences of clocks are reported in: a status that changes with every check wakes every watcher.
const clockUnit = 10 * time.Second

// Clock is how far the time is ahead of the archiver's own clock: at least Early, and at most Late.
type Clock struct {
	Early, Late time.Duration
	// Why names the clocks that differ from the others, "" when they agree.
	Why string
}

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
	c.Why = differing(ahead, c)
	if c.Early.Abs() <= binlog.ClockSlack {
		c.Early = 0
	}
	if c.Late.Abs() <= binlog.ClockSlack {
		c.Late = 0
	}
	return c
}

func differing(ahead map[string]time.Duration, c Clock) string {
	var out []string
	add := func(of string, d time.Duration) {
		switch early, late := c.Early-d, d-c.Late; {
		case early > binlog.ClockSlack:
			out = append(out, fmt.Sprintf("that of %s is %s behind", of, early.Round(clockUnit)))
		case late > binlog.ClockSlack:
			out = append(out, fmt.Sprintf("that of %s is %s ahead", of, late.Round(clockUnit)))
		}
	}
	add("the archiver's host", 0)
	for name, d := range ahead {
		add(name, d)
	}
	if d := c.Late - c.Early; d > binlog.ClockSlack {
		out = append(out, fmt.Sprintf("%s between those of two halves", d.Round(clockUnit)))
	}
	if len(out) == 0 {
		return ""
	}
	slices.Sort(out)
	return "clocks differ (" + strings.Join(out, ", ") +
		"): set them, for times in the archive go by the clocks that agree"
}
