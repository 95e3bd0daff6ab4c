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
