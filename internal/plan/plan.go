// Package plan decides. Plan turns one Snapshot into at most one Action, or into a reason to
// wait. It is pure: no context, client, clock or logger; it imports only the standard library
// and internal/galera, so that the simulator can run it millions of times.
//
// The algorithm is an ordered list of policies; the first one that has something to say wins:
//
//  1. What is too grave to touch: two Primary components, a Primary with a foreign history.
//  2. Remember the history's UUID as soon as a component has one.
//  3. The Service NAME-primary follows a node that can write.
//     What is published must let nodes join the component that serves.
//  4. Let nodes join again that an earlier operation had stopped.
//  5. Restart a donor that would stay one for ever, or the only node with data when its image cannot give them: what goes
//     on waits for it.
//  6. Go on with the journalled operation, until it is observed to be done.
//  7. Nothing runs at all: the wanted encryption can be published at once.
//  8. Stop everything in order, when the cluster is to hibernate.
//  9. No Primary component: replace pods that cannot start as they are; then first start, rebuild quorum, or recover. All of them need facts
//     about every member, or a person's approval; until then nothing happens.
//  10. Start the arbitrator, let it go, or restart it, while every node serves.
//  11. Bring the number of members to the wanted one, one by one.
//  12. Switch the encryption of replication.
//  13. Restart nodes that run with old settings or in an old pod, one by one, the primary last.
//
// A node never bootstraps by itself, so "nobody is Primary, nobody runs" can only be ended by an
// order; a slow or stale report can therefore delay a decision and never make it wrong.
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
	// Message is a sentence for a person: what is the matter, and what helps.
	Message string
	// Blocked says that only a person can change the situation.
	Blocked bool
}

// Reasons of a Decision. They are also reasons of conditions (api/v1alpha1).
const (
	ReasonHealthy           = "Healthy"
	ReasonHibernating       = "Hibernating"
	ReasonHibernated        = "Hibernated"
	ReasonFirstStart        = "FirstStart"
	ReasonJoining           = "Joining"
	ReasonRestarting        = "Restarting"
	ReasonUpgrading         = "Upgrading"
	ReasonDowngrade         = "DowngradeRefused"
	ReasonScaling           = "Scaling"
	ReasonRecovering        = "Recovering"
	ReasonQuorumLost        = "QuorumLost"
	ReasonWaitingForMembers = "WaitingForMembers"
	ReasonPositionUnknown   = "PositionUnknown"
	ReasonDataLost          = "DataLost"
	ReasonForeignData       = "ForeignData"
	ReasonOrderBook         = "OrderBookDamaged"
	ReasonTwoPrimaries      = "TwoPrimaryComponents"
	ReasonMemberFailed      = "MemberFailed"
	ReasonConfiguration     = "ConfigurationStale"
	ReasonSwitching         = "Switching"
	ReasonSwitchRefused     = "SwitchRefused"
	ReasonRebootstrap       = "RebootstrapRequired"
	ReasonArbitratorAway    = "ArbitratorAway"
	ReasonTransferTools     = "TransferToolsMissing"
)

// policy looks at a Snapshot; ok says that it decides and that nobody after it is asked.
type policy func(galera.Snapshot) (d Decision, ok bool)

var policies = []policy{
	refuseTwoPrimaries,
	recordUUID,
	followWriter,
	keepJoinable,
	liftStops,
	releaseDonor,
	releaseGiver,
	continueOperation,
	publishWhileDown,
	hibernate,
	replaceStuck,
	startWithoutPrimary,
	tendArbitrator,
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
	return Decision{Reason: ReasonHealthy, Message: fmt.Sprintf("all %d nodes are Synced", len(s.Members))}
}

// reportMembers tells who is not Synced yet, though nothing has to be done about it.
func reportMembers(s galera.Snapshot) (Decision, bool) {
	var joining []string
	for _, m := range s.Members {
		if m.Synced() && m.CannotAct == galera.Able {
			continue
		}
		if m.CannotAct != galera.Able {
			return Decision{Reason: ReasonMemberFailed, Message: m.Name + " " + plight(m)}, true
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
		d.Message += fmt.Sprintf(", on the way from %d to %d nodes", len(s.Members), s.Replicas)
	}
	return d, true
}

// reportArbitrator tells that a wanted arbitrator is not counted.
func reportArbitrator(s galera.Snapshot) (Decision, bool) {
	a := s.Arbitrator
	switch {
	case a == nil || !a.Wanted || a.Votes():
		return Decision{}, false
	case a.Failure != nil:
		return wait(ReasonArbitratorAway, "the arbitrator is not counted: "+a.Failure.Message)
	}
	return wait(ReasonArbitratorAway, "waiting for the arbitrator to be counted")
}
