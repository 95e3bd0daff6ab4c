package agent

import (
	"cmp"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// publish makes the Report of the present state.
func (a *agent) publish(step lifecycle.Step) {
	r := agentapi.Report{
		Name: a.Name, AgentVersion: a.Version, Phase: step.Phase, Waiting: step.Waiting,
		Data: a.exam.Found.Data, Position: a.exam.Found.Position, SafeToBootstrap: a.exam.Found.Safe,
		Draining: a.draining, Restarts: a.restarts,
	}
	a.image.Report(&r)
	a.orders.Report(&r)
	if a.proc != nil {
		r.Killed = a.proc.Killed()
		r.Position, r.SafeToBootstrap = a.position, false
		r.Data = galera.DataPresent
		if a.incompleteAfterCrash() {
			r.Data, r.Position = galera.DataIncomplete, galera.Position{}
		}
	}
	if a.status != nil && a.lineTold() {
		s := *a.status
		r.Server = &s
	}
	if a.status != nil {
		a.gcache.Report(&r)
	}
	if a.join != nil {
		j := *a.join
		r.Join = &j
	}
	a.service.Report(&r)
	if a.own.giving != nil {
		g := *a.own.giving
		r.Giving = &g
	} else if a.own.gave != nil {
		g := *a.own.gave
		r.Gave = &g
	}
	if a.proc == nil && time.Since(a.downSince) < endedTime {
		r.Ended = a.ended
	}
	r.Settling = a.forget.settling(time.Now())
	r.StuckDonor = a.own.donation.Stuck(a.status, time.Now())
	r.Given, r.DataBytes, r.Primary = a.own.given, a.own.bytes, a.primary
	r.Failure = a.shownFailure(step)
	a.upgrade.Report(&r)
	if r.Data == galera.DataPresent {
		r.Tables = a.versions.Tables
	}
	a.config.Report(&r)
	a.certs.Report(&r)
	r.Config.RestartNeeded = r.Config.RestartNeeded || a.certs.KeepsOldKey()
	a.prove.Report(&r)
	a.reports.Set(r)
}

// slowExamination tells of a look at the data that goes on for long.
func (a *agent) slowExamination() *agentapi.Failure {
	if a.job != lifecycle.JobExamine {
		return nil
	}
	return a.exam.Slow(time.Now())
}

// shownFailure is why the member is down, or was. What keeps it from obeying comes first, because the operator has to know it; then
// what Next says, and what keeps it from acting now: a full volume may be why a server hangs.
func (a *agent) shownFailure(step lifecycle.Step) *agentapi.Failure {
	disk := a.volume.Failure()
	deaf := disk
	if disk != nil && disk.Reason == agentapi.FailureDiskFull {
		deaf = nil
	}
	f := cmp.Or(deaf, step.Failure, a.hungFailure(), disk, a.slowExamination(), a.failure, a.upgrade.Failure())
	if f == nil {
		return nil
	}
	shown := *f
	if shown.At.IsZero() {
		shown.At = time.Now()
	}
	return &shown
}
