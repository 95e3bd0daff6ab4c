package serving

import "time"

const (
	// firstPause is for how long a server is left alone whose stream has broken, lastPause at most: a pause doubles with
	// each stream that does not last for steadyTime.
	firstPause = 5 * time.Second
	lastPause  = 2 * time.Minute
	steadyTime = time.Minute
)

// attempt is what is known of the stream of one server. The zero value is a server that was not tried yet.
type attempt struct {
	failures int
	// until is when it is tried again, err why the stream has ended last.
	until time.Time
	err   string
}

// choose returns the first server that is not left alone, in the order of the spec; false for none: the archive is
// followed. It is asked only while no stream runs: one that works is kept.
func choose(servers []string, of map[string]attempt, now time.Time) (server string, ok bool) {
	for _, s := range servers {
		if !now.Before(of[s].until) {
			return s, true
		}
	}
	return "", false
}

// ended is what is known once a stream has ended that has lasted for a time, or could not be begun.
func (a attempt) ended(now time.Time, lasted time.Duration, why string) attempt {
	if lasted >= steadyTime {
		a.failures = 0
	}
	pause := lastPause
	if a.failures < 10 {
		pause = min(firstPause<<a.failures, lastPause)
	}
	return attempt{failures: a.failures + 1, until: now.Add(pause), err: why}
}
