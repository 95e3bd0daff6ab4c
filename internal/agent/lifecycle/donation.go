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
