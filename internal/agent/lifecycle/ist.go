package lifecycle

import (
	"time"

	"github.com/galera-operator/galera-operator/internal/galera"
)

// ISTWatch follows the connection a joiner receives IST on. When the network drops its packets, the donor's kernel
// closes the connection after a quarter of an hour; the joiner kept waiting even then, as Galera sets no keepalive on
// it. While write-sets arrive or are applied there is no stall; one write-set may take any time as long as the
// connection is alive.
//
// One observation is not enough: a connection whose data waited unread during an SST still shows an old receive time
// for a moment after it is read.
type ISTWatch struct {
	// since is the first observation of the present silence at one position.
	since time.Time
	at    galera.Position
}

// ISTObservation is what a joiner sees of its IST connection.
type ISTObservation struct {
	// Connected is false without a connection, or if Silent is not known (platform.StreamSilence).
	Connected bool
	Silent    time.Duration
	// Position is the joiner's.
	Position galera.Position
	// Frozen is true while its volume does not answer.
	Frozen bool
}

// See takes one observation and returns whether the IST has stalled. every is the pause between two.
func (w *ISTWatch) See(now time.Time, l ISTObservation, every, limit time.Duration) bool {
	switch {
	case !l.Connected:
		w.since = time.Time{}
		return false
	case w.since.IsZero(), l.Frozen, l.Silent < every, l.Position != w.at:
		w.since, w.at = now, l.Position
		return false
	}
	return l.Silent > limit && now.Sub(w.since) > limit
}

// Silent returns whether the last observation saw a silent connection.
func (w *ISTWatch) Silent() bool { return !w.since.IsZero() }
