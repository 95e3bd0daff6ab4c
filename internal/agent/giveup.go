package agent

import (
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

const (
	// hopeless is how long a starting joiner is left alone once no member is Primary any more.
	// Galera itself would look for a component for 30 s, and nobody could be bootstrapped meanwhile.
	hopeless = 1500 * time.Millisecond
	// deaf is the same when the other members do not answer at all: that may as well be us.
	deaf = 10 * time.Second
	// cutOff is how long a server may answer and be in no group at all. Galera leaves it so for good
	// after some failures ("node restart required").
	cutOff = 3 * time.Second
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
	switch {
	case a.status != nil && a.status.Component == galera.ComponentDisconnected:
		return "it has left the group for good", cutOff
	case a.status == nil && a.run.note != nil && !a.run.note.Transfer && !a.run.served && len(primaryPeers(a.peers)) == 0:
		if len(a.peers) == 0 {
			return "no other member answers any more", deaf
		}
		return "there is no Primary component to join any more", hopeless
	}
	return "", 0
}
