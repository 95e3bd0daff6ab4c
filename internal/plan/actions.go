package plan

import "github.com/galera-operator/galera-operator/internal/galera"

// Action is one side effect. Each type is one thing that internal/apply knows how to do.
type Action interface{ isAction() }

// Begin writes an operation into the journal. No order is sent before it is stored.
type Begin struct{ Operation galera.Operation }

// Complete removes the operation from the journal: it was observed to be done, or is abandoned.
type Complete struct {
	Message string
	// Abandoned reports whether the operation did not reach its goal; the planner decides again.
	Abandoned bool
	// Cause is remembered when the operation was abandoned because of one member, nil otherwise.
	Cause *galera.Abandoned
	// Reached reports whether the operation has reached the goal of the one that was abandoned before.
	Reached bool
	// Line is the line of history that the operation has begun, "" when it has not, or when a Primary component is seen.
	Line string
	// Size is the new number of members, 0 if the operation has not changed it.
	Size int
}

// Resize records another number of members. Pods and volumes follow what is recorded.
type Resize struct{ Size int }

// RecordUUID stores the state UUID of the cluster's history, once, and the highest epoch that
// any member remembers: after a loss of the status both come from the members.
type RecordUUID struct {
	UUID  string
	Epoch int64
	// Leap reports whether a member may remember a higher epoch than Epoch: an epoch is recorded that was neither used
	// before nor recorded by an earlier Leap.
	Leap bool
}

// AssignRoles moves NAME-primary to Primary, by one write: kube-proxy needs seconds to refill a Service that was
// without a pod for a moment. Open connections stay on the old primary.
type AssignRoles struct{ Primary string }

// SendOrder sends an order to a member's agent.
type SendOrder struct {
	Member   string
	ID       string
	Epoch    int64
	Kind     OrderKind
	Position galera.Position
	// GivenUp are the members that an approval in force lets the cluster start without.
	GivenUp []string
}

// DeletePod replaces a member's pod by one made from the current template.
type DeletePod struct{ Member string }

// PublishEncryption publishes another encryption of replication to the nodes. It is applied only if the
// published one is still From, so that an operator with a stale cache cannot undo a step.
type PublishEncryption struct{ From, To galera.Encryption }

// OrderKind is the kind of an order; the values are those of agentapi.OrderKind.
type OrderKind string

// Kinds of orders the planner uses.
const (
	OrderInitialise    OrderKind = "Initialise"
	OrderBootstrap     OrderKind = "Bootstrap"
	OrderRebuildQuorum OrderKind = "RebuildQuorum"
	OrderRestart       OrderKind = "Restart"
	OrderStop          OrderKind = "Stop"
	OrderStart         OrderKind = "Start"
)

// States of an order that an agent remembers; the values are those of agentapi.OrderState.
const (
	orderAccepted = "Accepted"
	orderRefused  = "Refused"
	orderFailed   = "Failed"
	orderDone     = "Done"
)

func (Begin) isAction()             {}
func (Complete) isAction()          {}
func (Resize) isAction()            {}
func (RecordUUID) isAction()        {}
func (AssignRoles) isAction()       {}
func (SendOrder) isAction()         {}
func (DeletePod) isAction()         {}
func (PublishEncryption) isAction() {}
