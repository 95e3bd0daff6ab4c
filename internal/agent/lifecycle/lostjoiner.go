package lifecycle

import "time"

const (
	// graceNoACK is added to the limit when no TCP ACK is outstanding: a live joiner has stopped a stalled SST itself by
	// then.
	graceNoACK = time.Minute
	// minNoACK is the least limit then. Zero-window probes are up to two minutes apart, and one answer may be lost.
	minNoACK = 4 * time.Minute
)

// JoinerWatch is what a donor knows of the joiner its transfer script sends to.
type JoinerWatch struct {
	at time.Time
	// silentSince is the first observation of the present silence, owedSince the first of those without an ACK that is
	// due.
	silentSince, owedSince time.Time
}

// JoinerObservation is what a donor sees of the connection to its joiner.
type JoinerObservation struct {
	// Connected reports whether there is one, and whether the donor has quorum.
	Connected bool
	// Silent is how long nothing was received from the joiner. OwesACK is true if sent data is not acknowledged.
	Silent  time.Duration
	OwesACK bool
}

// See takes one observation and returns how long the joiner has been silent if that is too long, 0 otherwise.
//
// Only silence counts, not progress: a slow joiner still answers window probes, and a live one ends a stalled SST
// itself.
func (w *JoinerWatch) See(now time.Time, l JoinerObservation, limit time.Duration) time.Duration {
	switch {
	case !l.Connected:
		w.silentSince = time.Time{}
	case w.silentSince.IsZero() || l.Silent < now.Sub(w.at):
		w.silentSince, w.owedSince = now, time.Time{}
	}
	if !l.Connected || !l.OwesACK {
		w.owedSince = time.Time{}
	} else if w.owedSince.IsZero() {
		w.owedSince = now
	}
	w.at = now
	return w.lost(limit)
}

func (w *JoinerWatch) lost(limit time.Duration) time.Duration {
	if w.silentSince.IsZero() {
		return 0
	}
	silent := w.at.Sub(w.silentSince)
	if silent > max(limit+graceNoACK, minNoACK) || !w.owedSince.IsZero() && w.at.Sub(w.owedSince) > limit {
		return silent
	}
	return 0
}
