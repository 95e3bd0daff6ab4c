package sst

import (
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// stuckAfter is how long a donor without a running transfer is left alone: it may send the write-sets that
// belong to one, and becomes Joined by itself then.
const stuckAfter = 20 * time.Second

// Donation follows whether the end of a transfer reached the group. Galera's donor tells it once, and not
// while it has no quorum ("sst sent called when not SST donor"); when the group comes back it is restored as
// a donor, and stays one until its mariadbd ends. Donor alone says nothing: a node is also one while
// somebody makes a backup, or has set wsrep_desync.
type Donation struct {
	giving, unheard bool
	ended           time.Time
}

// See takes one look: what the server says of itself, nil while it does not answer, and whether a transfer
// script runs.
func (d *Donation) See(s *agentapi.Server, giving bool, now time.Time) {
	if s == nil {
		return
	}
	primary := s.Component == galera.ComponentPrimary
	switch {
	case giving:
		d.giving, d.ended = true, time.Time{}
	case d.giving:
		d.giving, d.unheard, d.ended = false, !primary, now
	case primary && s.State != galera.NodeDonor:
		d.unheard = false
	}
}

// Stuck says that the server would be a donor for ever.
func (d *Donation) Stuck(s *agentapi.Server, now time.Time) bool {
	return s != nil && d.unheard && !d.giving && s.Component == galera.ComponentPrimary && s.State == galera.NodeDonor && now.Sub(d.ended) > stuckAfter
}
