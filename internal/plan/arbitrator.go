package plan

import (
	"fmt"
	"time"

	"github.com/galera-operator/galera-operator/internal/galera"
)

// silentArbitrator is how long there must be no Primary component before an arbitrator that does not
// answer counts as ended: its own agent ends it sooner if it is in no Primary component.
const silentArbitrator = 45 * time.Second

// ApplyArbitrator applies the arbitrator's Deployment as the spec asks for, with a pod or without.
type ApplyArbitrator struct{ Running bool }

// RemoveArbitrator deletes the arbitrator's Deployment.
type RemoveArbitrator struct{}

func (ApplyArbitrator) isAction()  {}
func (RemoveArbitrator) isAction() {}

// reconcileArbitrator creates, removes and restarts the arbitrator, only while every node serves: then the
// nodes alone have quorum. Nodes are restarted when it is back. None of this is journalled: the facts show
// what is to be done, and a repeated order names the process it ends.
func reconcileArbitrator(s galera.Snapshot) (Decision, bool) {
	a := s.Arbitrator
	if a == nil || s.Hibernate || !everyoneServes(s) {
		return Decision{}, false
	}
	switch {
	case !a.Wanted && a.Deployed && (len(s.Members) == s.Replicas || cannotRun(a)):
		return Decision{Action: RemoveArbitrator{}, Reason: ReasonScaling,
			Message: "removing the arbitrator: it is not needed with " + galera.Count(s.Replicas, "node")}, true
	case len(s.Members) == 1:
		return Decision{}, false // there is nothing to arbitrate yet
	case a.Wanted && (!a.Deployed || !a.Scheduled):
		return Decision{Action: ApplyArbitrator{Running: true}, Reason: ReasonScaling, Message: "starting the arbitrator"},
			true
	case a.Wanted && a.Outdated:
		return Decision{Action: ApplyArbitrator{Running: true}, Reason: ReasonRestarting,
			Message: "replacing the arbitrator: its pod template has changed"}, true
	case a.Process == "" || !a.RestartNeeded || a.Pod.Outdated || a.Pod.Terminating:
		return Decision{}, false
	}
	if d, waiting := nodesRead(s); waiting {
		return d, true // the nodes must have the configuration with which it starts again
	}
	return endArbitrator(s, ReasonRestarting,
		"restarting the arbitrator: garbd reads new settings and certificates only when it starts")
}

// cannotRun reports whether the arbitrator has no vote to lose, and will not get one: a crashed garbd, in contrast, is
// started again.
func cannotRun(a *galera.Arbitrator) bool {
	return a.Process == "" && (!a.Scheduled || a.LacksGarbd || !a.Known && a.Pod.Waiting)
}

// endArbitrator ends the running garbd. Its agent starts another one as soon as two nodes are Primary.
func endArbitrator(s galera.Snapshot, reason, message string) (Decision, bool) {
	return Decision{Reason: reason, Message: message, Action: SendOrder{
		Member: s.Arbitrator.Name, ID: s.Arbitrator.Process, Epoch: s.Epoch, Kind: OrderRestart,
	}}, true
}

// allServe reports whether there is more than one node, and everyoneServes.
func allServe(s galera.Snapshot) bool { return len(s.Members) > 1 && everyoneServes(s) }

// everyoneServes reports whether every member is Synced, that its pod is ready, and whether it has no order to carry
// out.
func everyoneServes(s galera.Snapshot) bool {
	for _, m := range s.Members {
		if !m.Synced() || !m.Pod.Ready || m.Order != nil && m.Order.State == orderAccepted {
			return false
		}
	}
	return true
}

// waitForArbitrator waits until a wanted arbitrator is in the Primary component, before a node is stopped. Next to a
// single node it does not run.
func waitForArbitrator(s galera.Snapshot) (Decision, bool) {
	a := s.Arbitrator
	switch {
	case a == nil || !a.Wanted && !a.Deployed || a.Votes() || len(s.Members) == 1:
		return Decision{}, false
	case a.Failure != nil:
		return wait(ReasonArbitratorAway, "the arbitrator must be in the Primary component before a node is stopped: "+
			a.Failure.Message)
	}
	return wait(ReasonArbitratorAway, "waiting for the arbitrator before a node is stopped")
}

// arbitratorReads waits until a running arbitrator has read the published configuration: then its report shows
// whether it needs a restart.
func arbitratorReads(s galera.Snapshot) (Decision, bool) {
	if a := s.Arbitrator; a != nil && a.Process != "" && a.ConfigLoaded != s.ConfigRevision {
		return wait(ReasonConfigurationStale, "waiting for the arbitrator to read the new configuration")
	}
	return Decision{}, false
}

// arbitratorFirst reports whether every node serves and the arbitrator does not: it is restored before another node is
// stopped.
func arbitratorFirst(s galera.Snapshot) bool {
	_, away := waitForArbitrator(s)
	return away && allServe(s)
}

// removeArbitratorPod removes the arbitrator's pod before the last node stops: otherwise the arbitrator alone would
// remain as the Primary component.
func removeArbitratorPod(s galera.Snapshot, reason string) (Decision, bool) {
	a := s.Arbitrator
	switch {
	case a == nil:
		return Decision{}, false
	case a.Scheduled:
		return Decision{Action: ApplyArbitrator{Running: false}, Reason: reason,
			Message: "stopping the arbitrator before the last node"}, true
	case a.Process != "":
		return wait(reason, "waiting for the arbitrator to stop")
	}
	return Decision{}, false
}

// endLeftArbitrator ends a running arbitrator before a member bootstraps: alone it could be another Primary
// component, which has no data but looks like one that has.
func endLeftArbitrator(s galera.Snapshot, _ galera.Operation, _ galera.Member) (Decision, bool) {
	a := s.Arbitrator
	switch {
	case a == nil || !a.Pod.Exists:
		return Decision{}, false
	case a.Process != "":
		return endArbitrator(s, ReasonRecovering, "ending the arbitrator before the cluster is bootstrapped")
	case !a.Known && s.NoPrimaryFor < silentArbitrator && s.Operation.Type != galera.OpFirstStart:
		return wait(ReasonRecovering, "the arbitrator does not answer; waiting until it has certainly ended by itself")
	}
	return Decision{}, false
}

// arbitratorHolds returns the reason why the arbitrator delays the publication of an encryption, "" when it does not.
func arbitratorHolds(s galera.Snapshot, to galera.Encryption) string {
	a := s.Arbitrator
	switch {
	case a == nil || !a.Deployed || !a.Scheduled:
		return ""
	case !a.Known:
		return "waiting for the agent of the arbitrator"
	case a.ConfigLoaded != s.ConfigRevision:
		return "waiting for the arbitrator to read the new configuration"
	case a.Process == "" || !a.Votes():
		return "waiting for the arbitrator to join the Primary component"
	case !a.Running.Meets(to):
		return fmt.Sprintf("waiting for the arbitrator to run with %s sockets", s.Published.Socket)
	case to.Socket == galera.SocketStrict && s.Published.Socket == galera.SocketDynamic && !a.LinksVerified:
		return "waiting for the arbitrator to verify every node's certificate"
	}
	return ""
}

// arbitratorRefuses refuses, or delays, a switch that the arbitrator could not finish.
func arbitratorRefuses(s galera.Snapshot, bridge galera.Encryption) (Decision, bool) {
	a := s.Arbitrator
	switch {
	case a == nil || !a.Deployed || !a.Scheduled:
		return Decision{}, false
	case !a.Known:
		return wait(ReasonSwitching, "waiting for the agent of the arbitrator before encryption is switched")
	case s.Wanted.Socket != galera.SocketPlain && a.TLSProblem != "":
		return blocked(ReasonSwitchRefused, "encryption is not switched on, and nothing was changed: the arbitrator: "+
			a.TLSProblem)
	case !s.Rebootstrap && !a.Votes():
		return wait(ReasonArbitratorAway,
			"waiting for the arbitrator to join the Primary component before encryption is switched")
	case !s.Rebootstrap && bridge.Socket == galera.SocketDynamic && !a.DynamicSockets:
		return blocked(ReasonRebootstrapRequired,
			"the arbitrator's Galera library has no dynamic sockets, which a rolling switch needs; "+
				"set spec.tls.switchStrategy to Rebootstrap: the outage is the restart of one node")
	}
	return Decision{}, false
}
