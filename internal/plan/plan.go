// Package plan decides. Plan turns one Snapshot into at most one Action, or into a reason to
// wait. It is pure: no context, client, clock or logger; it imports only the standard library
// and internal/galera, so that the simulator can run it millions of times.
//
// The algorithm is an ordered list of policies; the first one that returns a decision wins:
//
//  1. Refuse all work with two Primary components, or a Primary with a foreign history.
//  2. Record the history's UUID as soon as a component has one.
//  3. Move the Service NAME-primary to a node that can write.
//     Keep published an encryption with which nodes can join the component that serves.
//  4. Let nodes join again that an earlier operation had stopped.
//  5. Restart a donor that would stay one forever, or the only node with data if its image cannot be a donor: other
//     operations wait for it.
//  6. Continue the journalled operation, until it is observed to be done.
//  7. No node runs: publish the wanted encryption at once.
//  8. Stop all nodes in order, if the cluster is to hibernate.
//
// 9. No Primary component: replace pods that cannot start as they are; then first start, rebuild quorum, or recover.
// All of
//
//	   them need facts about every member, or an approval; until then nothing happens.
//	10. Move the primary to the node a user has named.
//	11. Start, remove or restart the arbitrator, while every node serves.
//	12. Bring the number of members to the wanted one, one at a time.
//	13. Switch the encryption of replication.
//
// 14. Restart nodes that run with old settings or in an old pod, or that a user has named, one at a time, the primary
// last.
//
// A node never bootstraps by itself: without a running node only an order can make one Primary. So
// a slow or stale report can delay a decision, but never make it wrong.
package plan

import (
	"fmt"

	"github.com/galera-operator/galera-operator/internal/galera"
)

// Decision is what to do now: an Action, or nil and the reason for waiting.
type Decision struct {
	Action Action
	// Reason is one of the Reason… constants.
	Reason string
	// Message is a sentence for the user: what is wrong, then what to do.
	Message string
	// Blocked reports whether manual action is required.
	Blocked bool
	// Approval would permit what the decision waits for; nil when none is asked for.
	Approval *galera.Approval
	// DeletePod is the member whose pod a user may delete to end the wait, "" for none.
	DeletePod string
}

// Reasons of a Decision. They are also reasons of conditions (api/v1alpha1).
const (
	ReasonHealthy              = "Healthy"
	ReasonHibernating          = "Hibernating"
	ReasonHibernated           = "Hibernated"
	ReasonFirstStart           = "FirstStart"
	ReasonJoining              = "Joining"
	ReasonRestarting           = "Restarting"
	ReasonUpgrading            = "Upgrading"
	ReasonDowngradeRefused     = "DowngradeRefused"
	ReasonScaling              = "Scaling"
	ReasonRecovering           = "Recovering"
	ReasonQuorumLost           = "QuorumLost"
	ReasonWaitingForMembers    = "WaitingForMembers"
	ReasonPositionUnknown      = "PositionUnknown"
	ReasonDataLost             = "DataLost"
	ReasonForeignData          = "ForeignData"
	ReasonOrderBookDamaged     = "OrderBookDamaged"
	ReasonTwoPrimaryComponents = "TwoPrimaryComponents"
	ReasonMemberFailed         = "MemberFailed"
	ReasonConfigurationStale   = "ConfigurationStale"
	ReasonSwitching            = "Switching"
	ReasonSwitchRefused        = "SwitchRefused"
	ReasonRebootstrapRequired  = "RebootstrapRequired"
	ReasonArbitratorAway       = "ArbitratorAway"
	ReasonTransferToolsMissing = "TransferToolsMissing"
)

// policy judges a Snapshot; ok reports whether it decides; then no later policy is asked.
type policy func(galera.Snapshot) (d Decision, ok bool)

var policies = []policy{
	refuseTwoPrimaries,
	recordUUID,
	followWriter,
	publishJoinableEncryption,
	clearStopOrders,
	releaseDonor,
	releaseOnlyDonor,
	continueOperation,
	publishWhileDown,
	hibernate,
	replaceStuck,
	startWithoutPrimary,
	promote,
	reconcileArbitrator,
	scale,
	switchEncryption,
	restartOutdated,
	reportMembers,
}

// Plan decides what to do next about a cluster.
func Plan(s galera.Snapshot) Decision {
	for _, p := range policies {
		if d, ok := p(s); ok {
			return d
		}
	}
	return Decision{Reason: ReasonHealthy, Message: galera.AllNodes(len(s.Members)) + " Synced"}
}

// reportMembers names the members that are not Synced yet, though no action is needed.
func reportMembers(s galera.Snapshot) (Decision, bool) {
	var joining []string
	for _, m := range s.Members {
		if (m.Synced() || m.Copying()) && m.CannotAct == galera.Able {
			continue
		}
		if m.CannotAct != galera.Able {
			return Decision{Reason: ReasonMemberFailed, Message: m.Name + " " + memberProblem(m)}, true
		}
		if m.Failure != nil {
			return Decision{Reason: ReasonMemberFailed, Message: m.Name + ": " + m.Failure.Message}, true
		}
		joining = append(joining, m.Name)
	}
	if len(joining) == 0 {
		return reportArbitrator(s)
	}
	d := Decision{Reason: ReasonJoining, Message: "waiting for " + list(joining) + " to become Synced"}
	if s.Replicas != len(s.Members) && s.Replicas > 0 {
		d.Reason = ReasonScaling
		d.Message += fmt.Sprintf(", scaling from %d to %s", len(s.Members), galera.Count(s.Replicas, "node"))
	}
	return d, true
}

// reportArbitrator reports a wanted arbitrator that is not in the Primary component.
func reportArbitrator(s galera.Snapshot) (Decision, bool) {
	a := s.Arbitrator
	switch {
	case a == nil || !a.Wanted || a.Votes():
		return Decision{}, false
	case a.Failure != nil:
		return wait(ReasonArbitratorAway, "the arbitrator is not in the Primary component: "+a.Failure.Message)
	}
	return wait(ReasonArbitratorAway, "waiting for the arbitrator to join the Primary component")
}
