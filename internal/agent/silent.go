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
// keepalive there. How long what has come takes to be applied is not judged: that may be anything.
func (a *agent) endSilent(now time.Time) {
	f := &a.run.follow
	if a.proc == nil || a.run.note == nil || a.run.stopping || a.run.condemned || a.config == nil || now.Sub(f.heardAt) < showEvery {
		return
	}
	f.heardAt = now
	limit := a.config.StateTransfer.Stall()
	if silent, ok := a.silence(incrementalPort); !ok || silent <= limit {
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
