package archiver

import "time"

// hurryTime is how long such a request counts: it is repeated every second.
const hurryTime = 5 * time.Second

// hurry notes that the operator has asked for it: clients wait for another site to take over.
func (b *board) hurry() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.hurried = time.Now()
}

// hurries reports whether what was read is to be stored at once.
func (b *board) hurries(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.hurried.IsZero() && now.Sub(b.hurried) < hurryTime
}

// hurriedWait is how long an event is waited for while clients wait for another site.
const hurriedWait = 200 * time.Millisecond

// wait is how long an event is waited for.
func (r *reader) wait() time.Duration {
	switch {
	case r.reports.hurries(time.Now()):
		return hurriedWait
	case !r.asked.IsZero():
		return time.Second
	}
	return min(max(time.Until(r.next), time.Millisecond), time.Second)
}
