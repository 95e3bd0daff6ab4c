package lifecycle

import (
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// stuckAfter is how long a donor without a running script is left alone: it may still send IST, and becomes Joined by
// itself then.
const stuckAfter = 20 * time.Second

// Donation detects a donor that could not report the end of its SST or IST: Galera reports it once, and fails without
// quorum ("sst sent called when not SST donor"). Back in a Primary component the node is Donor/Desynced until mariadbd
// restarts. The state alone proves nothing: a backup or wsrep_desync causes it, too.
type Donation struct {
	giving, unreported bool
	ended              time.Time
}

// See takes one observation: the server's status, nil while it does not answer, and whether a transfer script runs.
func (d *Donation) See(s *agentapi.Server, giving bool, now time.Time) {
	if s == nil {
		return
	}
	primary := s.Component == galera.ComponentPrimary
	switch {
	case giving:
		d.giving, d.ended = true, time.Time{}
	case d.giving:
		d.giving, d.unreported, d.ended = false, !primary, now
	case primary && s.State != galera.NodeDonor:
		d.unreported = false
	}
}

// Stuck returns whether the node would stay a donor until its restart.
func (d *Donation) Stuck(s *agentapi.Server, now time.Time) bool {
	return s != nil && d.unreported && !d.giving && s.Component == galera.ComponentPrimary &&
		s.State == galera.NodeDonor && now.Sub(d.ended) > stuckAfter
}

const (
	// graceNoACK is added to the limit where only the joiner could know better: a live one has stopped a stalled SST
	// itself by then.
	graceNoACK = time.Minute
	// minNoACK is the least limit when no TCP ACK is outstanding. Zero-window probes are up to two minutes apart, and one
	// answer may be lost.
	minNoACK = 4 * time.Minute
)

// JoinerWatch is what a donor knows of the joiner its transfer script sends to.
type JoinerWatch struct {
	at time.Time
	// silentSince is the first observation of the present silence, owedSince the first of those without an ACK that is
	// due, heldSince the first of those in which nothing of what waits was taken.
	silentSince, owedSince, heldSince time.Time
	taken                             uint64
}

// JoinerObservation is what a donor sees of the connection to its joiner.
type JoinerObservation struct {
	// Connected reports whether there is one, and whether the donor has quorum.
	Connected bool
	// Silent is how long nothing was received from the joiner. OwesACK is true if sent data is not acknowledged.
	Silent  time.Duration
	OwesACK bool
	// Queued is true if data waits to be taken, Taken the number of bytes the joiner has taken.
	Queued bool
	Taken  uint64
}

// JoinerLoss explains why a transfer leads nowhere.
type JoinerLoss string

const (
	// JoinerUnreachable is a joiner whose host does not answer.
	JoinerUnreachable JoinerLoss = "joiner unreachable"
	// JoinerTakesNothing is a joiner whose host answers, and whose programs take no data: its volume is frozen, or all of
	// its container.
	JoinerTakesNothing JoinerLoss = "joiner takes no data"
)

// See takes one observation and returns why the joiner is lost, and how long it has been like that; "" while it is not.
//
// A slow joiner answers window probes, and takes something. A live one ends a stalled SST itself, unless its volume is
// frozen: the donor must not wait for that volume, as other joiners wait for the donor.
func (w *JoinerWatch) See(now time.Time, l JoinerObservation, limit time.Duration) (JoinerLoss, time.Duration) {
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
	if !l.Connected || !l.Queued {
		w.heldSince = time.Time{}
	} else if w.heldSince.IsZero() || l.Taken != w.taken {
		w.heldSince = now
	}
	w.at, w.taken = now, l.Taken
	return w.lost(limit)
}

func (w *JoinerWatch) lost(limit time.Duration) (JoinerLoss, time.Duration) {
	if w.silentSince.IsZero() {
		return "", 0
	}
	silent := w.at.Sub(w.silentSince)
	if silent > max(limit+graceNoACK, minNoACK) || !w.owedSince.IsZero() && w.at.Sub(w.owedSince) > limit {
		return JoinerUnreachable, silent
	}
	if held := w.at.Sub(w.heldSince); !w.heldSince.IsZero() && held > limit+graceNoACK {
		return JoinerTakesNothing, held
	}
	return "", 0
}
