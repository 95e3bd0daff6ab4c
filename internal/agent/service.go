package agent

import (
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// awayKept is how many times without service are remembered: a switch of the encryption has two
// for every member, and some to spare.
const awayKept = 8

// watchService notes when a running server stops taking queries, and when it takes them again. A
// donor that does not block goes on taking them.
func (a *agent) watchService() {
	if !a.run.stopping && a.status.Component == galera.ComponentPrimary && a.status.Ready {
		a.backInService()
		return
	}
	a.leaveService()
}

// leaveService notes since when a member that served does not.
func (a *agent) leaveService() {
	if !a.run.served || a.isAway() {
		return
	}
	a.away = append(a.away, agentapi.Away{From: time.Now()})
	a.away = a.away[max(0, len(a.away)-awayKept):]
}

// backInService notes that it serves again.
func (a *agent) backInService() {
	if a.isAway() {
		a.away[len(a.away)-1].To = time.Now()
	}
}

func (a *agent) isAway() bool {
	return len(a.away) > 0 && a.away[len(a.away)-1].To.IsZero()
}
