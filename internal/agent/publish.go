package agent

import (
	"cmp"
	"fmt"
	"runtime"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/certs"
	"github.com/galera-operator/galera-operator/internal/agent/config"
	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
	"github.com/galera-operator/galera-operator/internal/agent/metrics"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// publish makes the Report of the present state.
func (a *agent) publish(step lifecycle.Step) {
	if a.handover.Holds(a.run.Proc == nil || a.config.Node != nil && a.image.ProviderVersion != "") {
		return
	}
	found := a.exam.Found
	r := agentapi.Report{
		Name: a.Name, Protocol: agentapi.Protocol, AgentVersion: a.Version, AgentDigest: a.Digest, AgentArch: runtime.GOARCH,
		Phase: step.Phase, Waiting: step.Waiting,
		Data: found.Data, Position: found.Position, SafeToBootstrap: found.SafeToBootstrap,
		Draining: a.queue.Draining(), Primary: a.role.primary, Proxied: a.role.proxied,
	}
	a.image.Report(&r)
	a.orders.Report(&r)
	a.run.Report(&r)
	if a.run.Status != nil {
		if a.serving.MayReportComponent() {
			s := *a.run.Status
			r.Server = &s
		}
		a.gcache.Report(&r)
		a.distance.Report(&r)
	}
	if space := a.volume.Space(); space != nil && space.Size > 0 { // 0 when it could not be asked
		r.Volume = &agentapi.VolumeSpace{Free: space.Free, Size: space.Size}
	}
	r.OtherPeers = a.group.Others()
	a.joiner.Report(&r)
	a.donor.Report(&r)
	if a.run.Served {
		r.LoggedSince = a.logged.since
	}
	a.backup.Report(&r)
	r.Settling = a.evicted.Settling(time.Now())
	if f := a.exam.Found; a.exam.Done && a.run.Proc == nil {
		r.Marked, r.VotedOut = f.Marked, f.VotedOut
	}
	r.Failure = a.shownFailure(step)
	if late := a.latency.Longest(time.Now()); late >= agentapi.StarvedAfter {
		r.StarvedFor = late.Round(time.Millisecond)
	}
	a.serving.Upgrade.Report(&r)
	a.serving.Report(&r)
	a.follow.Report(&r)
	if r.Data == galera.DataPresent {
		r.Tables = a.exam.Versions.Tables
	}
	a.config.Report(&r)
	a.scan.Set(a.config.Running().Output.AtRest, a.run.Served, a.run.PID())
	a.scan.Report(&r)
	a.certs.Report(&r)
	r.Config.RestartNeeded = r.Config.RestartNeeded || r.TLS.KeepsOldKey || r.AtRest != nil && r.AtRest.UnusedPages > 0
	a.prove.Report(&r)
	a.config.Running().ReportSessions(&r)
	a.handover.Report(&r)
	a.reports.Set(r)
}

// facts are what the metrics are made of. Safe for concurrent use.
func (a *agent) facts() metrics.Facts {
	f := metrics.Facts{Report: a.reports.Get(), Now: time.Now(), SchedulingDelay: a.latency.Longest(time.Now())}
	if space := a.volume.Space(); space != nil {
		f.Volume = &metrics.Volume{Free: float64(space.Free), Size: float64(space.Size)}
	}
	if ago, known := a.guard.Renewed(); known {
		f.Renewed = &ago
	}
	return f
}

// shownFailure is why the member is down, or was. What keeps it from carrying out orders comes first, because the
// operator has to know it; then what Next returns, and what keeps it from acting now: a full volume may be why a server
// hangs.
func (a *agent) shownFailure(step lifecycle.Step) *agentapi.Failure {
	disk := a.volume.Failure()
	blocksOrders := disk
	if disk != nil && disk.Reason == agentapi.FailureDiskFull {
		blocksOrders = nil
	}
	attempt := a.run.Attempts.Failure
	if step.Phase == galera.PhaseStopped {
		attempt = nil // stopped by order: the next start may well succeed, and the operator must not give the member up
	}
	f := cmp.Or(blocksOrders, step.Failure, a.run.LoginFailure(), a.run.HungFailure(), disk, a.exam.Slow(time.Now()),
		attempt, a.serving.Upgrade.Failure(), a.serving.Root.Failure())
	if f == nil {
		return nil
	}
	shown := *f
	if shown.At.IsZero() {
		shown.At = time.Now()
	}
	return &shown
}

// updateSubject passes the present state to the prover and the asker.
func (a *agent) updateSubject() {
	if a.config.Node == nil {
		return
	}
	node, output, run := a.config.Node, a.config.Output, a.config.Running()
	a.group.SetMembers(node.Identity(), node.Members)
	s := certs.ProofSubject{Address: a.Address, Cluster: node.Identity(), Arbitrator: node.Arbitrator,
		Credentials: certs.Credentials{Roots: a.certs.Installed().Roots},
		Password:    a.serving.Root.Password, Running: a.run.Status != nil && a.run.Proc != nil,
		TransferEncrypted: config.TransferEncrypted(output.MyCnf)}
	for _, p := range node.Members {
		if p.Name != a.Name {
			s.Peers = append(s.Peers, p)
		}
	}
	if a.run.Proc != nil {
		s.Socket, s.Clients = run.Output.Socket, run.Clients
	}
	if at := a.certs.ReplacedAt(); !at.IsZero() {
		s.NotBefore = at.Add(certs.AfterReload)
	}
	if a.certs.Installed().ID != "" {
		pair := a.certs.Installed().Pair
		s.Pair = &pair
	}
	a.prove.Set(s, fmt.Sprint(s.Running, s.Socket, s.Clients, s.TransferEncrypted, a.certs.Loaded().ID,
		a.certs.Installed().ID, a.run.PID(), s.Peers,
		node.Arbitrator != nil))
	a.vitals.SetDonorReady(node.StateTransfer.Method == config.MariaBackup)
}
