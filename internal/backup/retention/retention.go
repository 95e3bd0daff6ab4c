// Package retention decides which backups are kept. It is pure.
package retention

import (
	"cmp"
	"slices"
	"time"
)

// Policy keeps a backup that any of its rules keeps; a rule that is 0 keeps none.
type Policy struct {
	// Last is how many of the latest are kept, Within how old a backup may be.
	Last   int
	Within time.Duration
	// Daily and Weekly are for how many days, and ISO weeks, in UTC, the last backup of each is kept.
	Daily, Weekly int
	// Archive is for how long an archive keeps every point in time, 0 for none.
	Archive time.Duration
}

// Backup is one that is complete, of one cluster.
type Backup struct {
	// At is when it was complete, and Order, which is not after that, when it was among the others; zero for the same.
	At, Order time.Time
	// Base reports whether an archive of the binary log may go on from it, and Reached whether points in time need it, or
	// may need it.
	Base, Reached bool
}

// Expired returns the indices of the backups that no rule keeps. The latest is always kept. So is the last one before
// the window of Within, if it is a base: the points in time at the window's beginning need it, whether the archive
// still continues or not. It may be of a line of history that was lost since: one that the archive leads from stays,
// too. So does the last base of each span of the archive's window, until one is older than that: the archive goes back
// to a base from before its window, and would grow without end if none came to be as old.
func Expired(backups []Backup, p Policy, now time.Time) (expired []int) {
	order := make([]int, len(backups))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { // the latest first, of one time the last one
		return cmp.Or(backups[b].order().Compare(backups[a].order()), cmp.Compare(b, a))
	})
	days, weeks, steps := spans(p.Daily), spans(p.Weekly), &steps{every: p.Archive}
	based := p.Within == 0
	for rank, i := range order {
		at := backups[i].At
		before := !based && now.Sub(at) > p.Within
		based = based || before
		daily, weekly := days.first(day(backups[i].order())), weeks.first(week(backups[i].order()))
		step := backups[i].Base && steps.first(at, now)
		if before && backups[i].Base || backups[i].Reached || step {
			continue
		}
		if rank > 0 && rank >= p.Last && now.Sub(at) > p.Within && !daily && !weekly {
			expired = append(expired, i)
		}
	}
	return expired
}

func (b Backup) order() time.Time {
	if b.Order.IsZero() {
		return b.At
	}
	return b.Order
}

func day(t time.Time) int { return t.UTC().Year()*1000 + t.UTC().YearDay() }

func week(t time.Time) int {
	year, week := t.UTC().ISOWeek()
	return year*100 + week
}

// span counts days, or weeks, with a backup.
type span struct {
	left int
	last int
	any  bool
}

func spans(n int) *span { return &span{left: n} }

// first reports whether a backup is the last of a day that is still to be kept. Days come in falling order.
func (s *span) first(day int) bool {
	if s.any && s.last == day || s.left == 0 {
		return false
	}
	s.left, s.last, s.any = s.left-1, day, true
	return true
}

// steps counts spans of the archive's window. They begin at fixed times, so that what is the last of one stays it.
type steps struct {
	every time.Duration
	last  int64
	any   bool
	over  bool // one is older than the window
}

// first reports whether a base is the last of a span that the archive is still to go back to. Bases come in falling
// order.
func (s *steps) first(at, now time.Time) bool {
	if s.every <= 0 || s.over {
		return false
	}
	span := at.Unix() / max(1, int64(s.every/time.Second))
	if s.any && s.last == span {
		return false
	}
	s.last, s.any, s.over = span, true, now.Sub(at) > s.every
	return true
}
