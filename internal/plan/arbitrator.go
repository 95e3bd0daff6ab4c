package plan

import (
	"fmt"
	"time"

	"github.com/galera-operator/galera-operator/internal/galera"
)

// silentArbitrator is how long there has to be no Primary component before an arbitrator that does not
// answer counts as gone: its agent ends it sooner when nobody counts it.
const silentArbitrator = 45 * time.Second

// ApplyArbitrator brings the arbitrator's Deployment to what the spec asks for, with a pod or without.
type ApplyArbitrator struct{ Running bool }

// RemoveArbitrator deletes the arbitrator's Deployment.
type RemoveArbitrator struct{}

func (ApplyArbitrator) isAction()  {}
func (RemoveArbitrator) isAction() {}

// tendArbitrator makes the arbitrator, lets it go, and takes it down for something new, only while every
// node serves: then the nodes alone have a majority, and it is their turn when the arbitrator is back.
// Nothing of this is journalled: what is to be done shows in the facts, and a repeated order names the
// very process it ends.
func tendArbitrator(s galera.Snapshot) (Decision, bool) {
	a := s.Arbitrator
	if a == nil || s.Hibernate || !everyoneServes(s) {
		return Decision{}, false
	}
	switch {
	case !a.Wanted && a.Deployed && (len(s.Members) == s.Replicas || cannotRun(a)):
		return Decision{Action: RemoveArbitrator{}, Reason: ReasonScaling, Message: fmt.Sprintf("the arbitrator goes: %d nodes need none", s.Replicas)}, true
	case len(s.Members) == 1:
		return Decision{}, false // there is nothing to arbitrate yet
	case a.Wanted && (!a.Deployed || !a.Scheduled):
		return Decision{Action: ApplyArbitrator{Running: true}, Reason: ReasonScaling, Message: "the arbitrator is started"}, true
	case a.Wanted && a.Outdated:
		return Decision{Action: ApplyArbitrator{Running: true}, Reason: ReasonRestarting, Message: "the arbitrator is replaced: its pod is of an earlier template"}, true
	case a.Process == "" || !a.RestartNeeded || a.Pod.Outdated || a.Pod.Terminating:
		return Decision{}, false
	}
	if d, waiting := nodesRead(s); waiting {
		return d, true // whoever is to meet it has to know what it will run with
	}
	return endArbitrator(s, ReasonRestarting, "the arbitrator is restarted, because it takes nothing over while it runs")
}

// cannotRun says that the arbitrator has no vote that could be lost with it, and will have none: one that has crashed is started again.
func cannotRun(a *galera.Arbitrator) bool {
	return a.Process == "" && (!a.Scheduled || a.LacksGarbd || !a.Known && a.Pod.Waiting)
}

// endArbitrator ends the garbd that runs. Another one is started as soon as two nodes are Primary.
func endArbitrator(s galera.Snapshot, reason, message string) (Decision, bool) {
	return Decision{Reason: reason, Message: message, Action: SendOrder{
		Member: s.Arbitrator.Name, ID: s.Arbitrator.Process, Epoch: s.Epoch, Kind: OrderRestart,
	}}, true
}

// allServe says that there is something to arbitrate, and everyoneServes.
func allServe(s galera.Snapshot) bool { return len(s.Members) > 1 && everyoneServes(s) }

// everyoneServes says that every member is Synced and served, and that none has been told to do anything.
func everyoneServes(s galera.Snapshot) bool {
	for _, m := range s.Members {
		if !m.Synced() || !m.Pod.Ready || m.Order != nil && m.Order.State == orderAccepted {
			return false
		}
	}
	return true
}

// waitForArbitrator waits until a wanted arbitrator is counted, before a node is taken down. Beside a single node
// there is nothing it could be counted for.
func waitForArbitrator(s galera.Snapshot) (Decision, bool) {
	a := s.Arbitrator
	switch {
	case a == nil || !a.Wanted && !a.Deployed || a.Votes() || len(s.Members) == 1:
		return Decision{}, false
	case a.Failure != nil:
		return wait(ReasonArbitratorAway, "the arbitrator has to be there before a node is taken down: "+a.Failure.Message)
	}
	return wait(ReasonArbitratorAway, "waiting for the arbitrator before a node is taken down")
}

// arbitratorReads waits until a running arbitrator knows what is published, and it is told whether it needs a
// restart for it.
func arbitratorReads(s galera.Snapshot) (Decision, bool) {
	if a := s.Arbitrator; a != nil && a.Process != "" && a.ConfigLoaded != s.ConfigRevision {
		return wait(ReasonConfiguration, "waiting for the arbitrator to read the new configuration")
	}
	return Decision{}, false
}

// arbitratorFirst says that every node serves and the arbitrator does not: it is to be seen to before another
// node is taken down.
func arbitratorFirst(s galera.Snapshot) bool {
	_, away := waitForArbitrator(s)
	return away && allServe(s)
}

// dismissArbitrator sends the arbitrator's pod away: before the last node leaves, or the arbitrator alone would
// remain as the Primary component.
func dismissArbitrator(s galera.Snapshot, reason string) (Decision, bool) {
	a := s.Arbitrator
	switch {
	case a == nil:
		return Decision{}, false
	case a.Scheduled:
		return Decision{Action: ApplyArbitrator{Running: false}, Reason: reason, Message: "the arbitrator is stopped before the last node"}, true
	case a.Process != "":
		return wait(reason, "waiting for the arbitrator to stop")
	}
	return Decision{}, false
}

// endLeftArbitrator sees to it, before a member is made the start of a component, that no arbitrator
// runs that could be another Primary component, without any data, or could be taken for one with some.
func endLeftArbitrator(s galera.Snapshot, _ galera.Operation, _ galera.Member) (Decision, bool) {
	a := s.Arbitrator
	switch {
	case a == nil || !a.Pod.Exists:
		return Decision{}, false
	case a.Process != "":
		return endArbitrator(s, ReasonRecovering, "the arbitrator is ended before the cluster starts anew")
	case !a.Known && s.NoPrimaryFor < silentArbitrator && s.Operation.Type != galera.OpFirstStart:
		return wait(ReasonRecovering, "the arbitrator does not answer; waiting until it has certainly ended")
	}
	return Decision{}, false
}

// arbitratorHolds says why an encryption cannot be published yet because of the arbitrator, "" when it can.
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
		return "waiting for the arbitrator to be counted"
	case !a.Running.Meets(to):
		return fmt.Sprintf("waiting for the arbitrator to run with %s sockets", s.Published.Sockets)
	case to.Sockets == galera.SocketStrict && s.Published.Sockets == galera.SocketDynamic && !a.LinksVerified:
		return "waiting for the arbitrator to have verified every node's certificate"
	}
	return ""
}

// arbitratorRefuses says why a switch could not be finished by the arbitrator.
func arbitratorRefuses(s galera.Snapshot, bridge galera.Encryption) (Decision, bool) {
	a := s.Arbitrator
	switch {
	case a == nil || !a.Deployed || !a.Scheduled:
		return Decision{}, false
	case !a.Known:
		return wait(ReasonSwitching, "the switch of encryption begins when the agent of the arbitrator answers")
	case s.Wanted.Sockets != galera.SocketPlain && a.TLSProblem != "":
		return blocked(ReasonSwitchRefused, "encryption is not switched on, and nothing was touched: the arbitrator: "+a.TLSProblem)
	case !s.Rebootstrap && !a.Votes():
		return wait(ReasonArbitratorAway, "the switch of encryption begins when the arbitrator is counted")
	case !s.Rebootstrap && bridge.Sockets == galera.SocketDynamic && !a.DynamicSockets:
		return blocked(ReasonRebootstrap, "the arbitrator's Galera library has no dynamic sockets, which a rolling switch needs; "+
			"set spec.tls.switchStrategy to Rebootstrap, which costs the restart of one node")
	}
	return Decision{}, false
}
