package sst

import "time"

const (
	// graceNoACK is added to the limit when the joiner owes no TCP ACK: one that lives has ended the transfer by then.
	graceNoACK = time.Minute
	// leastNoACK is the least limit then. The kernel asks a joiner that has no room whether it has some every two
	// minutes, in the end, and one answer may be lost.
	leastNoACK = 4 * time.Minute
)

// JoinerWatch is what a donor knows of the joiner its transfer script sends to.
type JoinerWatch struct {
	at time.Time
	// silentSince is the first of the looks since which nothing has come from the joiner, owedSince the first of those at
	// which it has owed an ACK, too.
	silentSince, owedSince time.Time
}

// JoinerLook is what a donor sees of the connection to its joiner.
type JoinerLook struct {
	// Connected says that there is one, and that the donor has quorum.
	Connected bool
	// Silent is how long nothing has come from the joiner, OwesACK says that something sent to it is not acknowledged.
	Silent  time.Duration
	OwesACK bool
}

// See takes one look and returns for how long the joiner has been silent when that is too long, 0 otherwise.
//
// Only silence counts, not how far the copy comes: a joiner that is slow tells at least that it has no room, and one that lives
// judges the copy itself.
func (w *JoinerWatch) See(now time.Time, l JoinerLook, limit time.Duration) time.Duration {
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
	if silent > max(limit+graceNoACK, leastNoACK) || !w.owedSince.IsZero() && w.at.Sub(w.owedSince) > limit {
		return silent
	}
	return 0
}
