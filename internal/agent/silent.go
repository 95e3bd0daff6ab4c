package agent

import (
	"fmt"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// incrementalPort is where a joiner is sent the write-sets it misses (ist.recv_addr).
const incrementalPort = 4568

// endSilent ends a run that waits for write-sets over a connection nothing comes over any more. A donor whose stream is
// cut off gives up after a quarter of an hour, when its kernel does, and its joiner was seen waiting even then: Galera has no
// keepalive there. Nothing is judged while write-sets come or are applied one after the other;
// a single one may take as long as it takes while the connection is well.
//
// It has to have been so at every look for as long: a connection that was not read while a copy came, because nobody had
// time for it, has been silent for as long as that took, and for a moment after it was read at last.
func (a *agent) endSilent(now time.Time) {
	f := &a.run.follow
	if a.proc == nil || a.run.note == nil || a.run.stopping || a.run.condemned || a.config.Node == nil || now.Sub(f.heardAt) < showEvery {
		return
	}
	f.heardAt = now
	limit := a.config.Node.StateTransfer.Stall()
	silent, ok := a.silence(incrementalPort)
	switch {
	case !ok:
		f.silentSince = time.Time{}
		return
	case f.silentSince.IsZero(), a.volume.Frozen(), silent < showEvery, a.position != f.silentAt:
		f.silentSince, f.silentAt = now, a.position
		return
	case silent <= limit, now.Sub(f.silentSince) <= limit:
		return
	}
	from := "its donor"
	if a.join != nil && a.join.Donor != "" {
		from = a.join.Donor
	}
	a.endTransfer(&agentapi.Failure{Reason: agentapi.FailureStalled, At: now, Message: fmt.Sprintf(
		"no write-set has come from %s for %s over a connection that is still there (port %d): the network may swallow them; the transfer was ended and will be begun anew",
		from, limit, incrementalPort)})
}
