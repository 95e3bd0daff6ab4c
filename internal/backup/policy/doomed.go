package policy

import (
	"slices"
	"time"
)

// Doomed notes since when nothing has needed a segment.
type Doomed map[uint64]time.Time

// Due notes what nothing needs now, and returns the segments that nothing has needed for a while. read is when the
// manifest was read that was not read for the longest time: a segment stays until all were read once more. What
// replaces a backup after that is later than the one that has made the segment needless.
func (d Doomed) Due(needless []uint64, read, now time.Time, after time.Duration) (due []uint64) {
	for n := range d {
		if !slices.Contains(needless, n) {
			delete(d, n)
		}
	}
	for _, n := range needless {
		since, before := d[n]
		switch {
		case !before:
			d[n] = now
		case now.Sub(since) >= after && read.After(since):
			due = append(due, n)
		}
	}
	return due
}
