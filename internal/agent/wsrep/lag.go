package wsrep

import "time"

const (
	// lagQuiet is how long a node must not have asked its group to wait before it counts as caught up.
	lagQuiet = 5 * time.Second
	// maxLagQuiet bounds what lagQuiet grows to, twice as much each time, when the node falls behind again within
	// lagMemory of having caught up. Two readers would otherwise fall behind in turn, each with the load of both.
	maxLagQuiet = time.Minute
	lagMemory   = 2 * time.Minute
)

// lag decides whether a node is behind its group, from one reading of its status to the next. Galera lets a node fall
// back by some write-sets only: then it asks the group to wait (flow control).
type lag struct {
	// pauses is how often it has asked since its server was started, as it was read last; -1 before the first reading.
	pauses int64
	// asked reports whether it had asked at the last reading, last when it did.
	asked  bool
	last   time.Time
	behind bool
	// quiet is lagQuiet, or what it has grown to; caughtUp is when the node did last.
	quiet    time.Duration
	caughtUp time.Time
}

// next takes a reading. A node is behind when it asks in two readings one after the other: a single pause is over in
// milliseconds. It has caught up when it has not asked for lagQuiet, or longer if that happens again and again.
func (l *lag) next(s Status, now time.Time) bool {
	asks := s.Pausing || l.pauses >= 0 && s.Pauses > l.pauses
	switch {
	case asks:
		if l.asked && !l.behind {
			l.behind = true
			if l.quiet = min(2*l.quiet, maxLagQuiet); l.quiet == 0 || now.Sub(l.caughtUp) > lagMemory {
				l.quiet = lagQuiet
			}
		}
		l.last = now
	case l.behind && now.Sub(l.last) >= l.quiet:
		l.behind, l.caughtUp = false, now
	}
	l.pauses, l.asked = s.Pauses, asks
	return l.behind
}
