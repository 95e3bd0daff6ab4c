package retention

import "time"

// Consistent corrects the times of backups that are known to follow each other, the first one first: none was complete
// after a later one. A clock that was ahead says so.
func Consistent(times []time.Time) []time.Time {
	out := make([]time.Time, len(times))
	for i := len(times) - 1; i >= 0; i-- {
		if out[i] = times[i]; i+1 < len(times) && out[i].After(out[i+1]) {
			out[i] = out[i+1]
		}
	}
	return out
}
