package wsrep

import "time"

// lagQuiet is how long a node must not have asked its group to wait before it counts as caught up.
const lagQuiet = 5 * time.Second

// lag decides whether a node is behind its group, from one reading of its status to the next. Galera lets a node fall
// back by some write-sets only: then it asks the group to wait (flow control).
type lag struct {
	// pauses is how often it has asked since its server was started, as it was read last; -1 before the first reading.
	pauses int64
	// asked reports whether it had asked at the last reading, last when it did.
	asked  bool
	last   time.Time
	behind bool
}

// next takes a reading. A node is behind when it asks in two readings one after the other: a single pause is over in
// milliseconds. It has caught up when it has not asked for lagQuiet.
func (l *lag) next(s Status, now time.Time) bool {
	asks := s.Pausing || l.pauses >= 0 && s.Pauses > l.pauses
	switch {
	case asks:
		l.behind = l.behind || l.asked
		l.last = now
	case now.Sub(l.last) >= lagQuiet:
		l.behind = false
	}
	l.pauses, l.asked = s.Pauses, asks
	return l.behind
}
