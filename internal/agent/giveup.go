package agent

import (
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// giveUp ends a run of mariadbd that leads nowhere.
func (a *agent) giveUp() {
	if a.proc == nil || a.run.stopping || a.run.condemned {
		return
	}
	if a.volume.Frozen() {
		a.run.nowhereSince = time.Time{}
		return
	}
	why, patience := a.leadsNowhere()
	switch {
	case why == "":
		a.run.nowhereSince = time.Time{}
	case a.run.nowhereSince.IsZero():
		a.run.nowhereSince = time.Now()
	case time.Since(a.run.nowhereSince) > patience:
		a.Logger.Warn("ending mariadbd", "why", why)
		if a.run.served {
			a.restarts++
			a.failure = &agentapi.Failure{Reason: agentapi.FailureLeft, At: time.Now(),
				Message: "mariadbd had left the group and was started anew"}
		}
		a.run.stopping, a.run.givenUp = true, true
		a.run.patience, a.run.stopAt = patienceJoiner, time.Now().Add(patienceJoiner)
		if a.run.served {
			a.proc.Terminate()
		} else {
			a.failures++  // the next attempt dials somebody else
			a.proc.Kill() // in the middle of connecting it hears nothing else, and there is nothing to lose
		}
	}
}

func (a *agent) leadsNowhere() (why string, patience time.Duration) {
	note := a.run.note
	return lifecycle.GiveUp(lifecycle.Run{Server: a.status, Joining: note != nil, FullCopy: note != nil && note.Transfer,
		Served: a.run.served, Peers: a.peers})
}
