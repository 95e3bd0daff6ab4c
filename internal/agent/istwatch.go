package agent

import (
	"fmt"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/sst"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// incrementalPort is where a joiner is sent the write-sets it misses (ist.recv_addr).
const incrementalPort = 4568

// endStalledIST ends a run that waits for write-sets over a connection nothing comes over any more (sst.ISTWatch).
func (a *agent) endStalledIST(now time.Time) {
	f := &a.run.follow
	if a.proc == nil || a.run.note == nil || a.run.stopping || a.run.condemned || a.config.Node == nil || now.Sub(f.heardAt) < showEvery {
		return
	}
	f.heardAt = now
	limit := a.config.Node.StateTransfer.Stall()
	silent, ok := a.silence(incrementalPort)
	look := sst.ISTLook{Connected: ok, Silent: silent, Position: a.position, Frozen: a.volume.Frozen()}
	if !f.ist.See(now, look, showEvery, limit) {
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
