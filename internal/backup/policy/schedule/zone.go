package schedule

import (
	"fmt"
	"time"

	"github.com/robfig/cron/v3"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// Parse returns the times of a schedule. The error names what cannot be read.
func Parse(s v1alpha1.GaleraBackupScheduleSpec) (Times, error) {
	schedule, err := cron.ParseStandard(s.Schedule)
	if err != nil {
		return Times{}, fmt.Errorf("the schedule %q cannot be read: %w", s.Schedule, err)
	}
	zone, err := time.LoadLocation(s.TimeZone)
	if err != nil {
		return Times{}, fmt.Errorf("the time zone %q is not known: %w", s.TimeZone, err)
	}
	return Times{schedule, zone}, nil
}

// Times are those of a schedule in a time zone. Where clocks are set forward or back, a time of the day still comes
// once a day.
type Times struct {
	cron.Schedule
	zone *time.Location
}

// Next implements cron.Schedule.
func (z Times) Next(t time.Time) time.Time {
	next, _ := z.next(t)
	return next
}

// note returns what is special about a time of the schedule, "" for nothing.
func (z Times) note(due time.Time) string {
	_, note := z.next(due.Add(-time.Nanosecond))
	return note
}

// maxClockChanges bounds how many times of the clock are passed over that have come already.
const maxClockChanges = 24 * 60

func (z Times) next(t time.Time) (next time.Time, note string) {
	if z.always() {
		return z.Schedule.Next(t.In(z.zone)), ""
	}
	clock := clockOf(t.In(z.zone))
	for range maxClockChanges {
		if clock = z.Schedule.Next(clock); clock.IsZero() {
			return clock, ""
		}
		if next, note = z.instant(clock); next.After(t) {
			return next, note
		}
	}
	return time.Time{}, ""
}

// always reports whether the schedule is for every hour: such a one follows time, not the clock.
func (z Times) always() bool {
	const hours = 1<<24 - 1
	spec, ok := z.Schedule.(*cron.SpecSchedule)
	return ok && spec.Hour&hours == hours
}

// clockOf is what the clock shows, as a time in UTC.
func clockOf(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
}

// instant is when the clock shows a time first. One that is left out, as clocks are set forward, is the moment of that.
func (z Times) instant(clock time.Time) (at time.Time, note string) {
	at, other := z.instantAt(clock, -24*time.Hour), z.instantAt(clock, 24*time.Hour)
	if other.Before(at) {
		at, other = other, at
	}
	first, second := clockOf(at).Equal(clock), clockOf(other).Equal(clock)
	switch {
	case first && second && !at.Equal(other):
		return at, fmt.Sprintf("%s comes twice in %s: the first one counts", clock.Format("2006-01-02 15:04"), z.zone)
	case first:
		return at, ""
	case second:
		return other, ""
	}
	at, _ = other.ZoneBounds()
	return at, fmt.Sprintf("%s is left out in %s: %s counts", clock.Format("2006-01-02 15:04"), z.zone,
		at.In(z.zone).Format("15:04"))
}

// instantAt is the instant of a clock that is as far off UTC as clocks are some time away.
func (z Times) instantAt(clock time.Time, away time.Duration) time.Time {
	_, offset := clock.Add(away).In(z.zone).Zone()
	return clock.Add(-time.Duration(offset) * time.Second).In(z.zone)
}
