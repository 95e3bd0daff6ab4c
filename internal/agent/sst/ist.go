package sst

import (
	"time"

	"github.com/galera-operator/galera-operator/internal/galera"
)

// ISTWatch follows the connection a joiner gets its write-sets over. A donor whose stream is cut off gives up after a quarter of an
// hour, when its kernel does, and its joiner was seen waiting even then: Galera has no keepalive there. Nothing is judged while
// write-sets come or are applied one after the other; a single one may take as long as it takes while the connection is well.
//
// The connection has to have been silent at every look for as long: one that was not read while a copy came, because the joiner had
// no time for it, has been silent for as long as that took, and for a moment after it was read at last.
type ISTWatch struct {
	// since is the first of the looks since which nothing has come and the joiner has stayed at one position.
	since time.Time
	at    galera.Position
}

// ISTLook is what a joiner sees of the connection its write-sets come over.
type ISTLook struct {
	// Connected says that there is one, and how long it has been Silent is known.
	Connected bool
	Silent    time.Duration
	// Position is the joiner's.
	Position galera.Position
	// Frozen says that its volume does not answer.
	Frozen bool
}

// See takes one look and says whether the transfer is stalled. every is the pause between two looks.
func (w *ISTWatch) See(now time.Time, l ISTLook, every, limit time.Duration) bool {
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

// Silent says that nothing came at the last look.
func (w *ISTWatch) Silent() bool { return !w.since.IsZero() }
