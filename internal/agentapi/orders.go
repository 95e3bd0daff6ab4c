package agentapi

import (
	"strings"
	"time"

	"github.com/galera-operator/galera-operator/internal/galera"
)

// OrderKind names what an order asks for.
type OrderKind string

const (
	// OrderInitialise fills the empty data directory and starts it as the first component.
	// The agent refuses it unless its directory is Empty.
	OrderInitialise OrderKind = "Initialise"
	// OrderBootstrap starts the existing data as a new component. The agent refuses it
	// unless its own position equals Order.Position and its data is complete.
	OrderBootstrap OrderKind = "Bootstrap"
	// OrderRebuildQuorum sets pc.bootstrap on a running non-Primary node. Refused on a Primary one,
	// and when the node's position is behind Order.Position.
	OrderRebuildQuorum OrderKind = "RebuildQuorum"
	// OrderRestart stops mariadbd gracefully and starts it again with the loaded configuration.
	OrderRestart OrderKind = "Restart"
	// OrderStop stops mariadbd gracefully; it stays down until OrderStart or OrderBootstrap.
	OrderStop OrderKind = "Stop"
	// OrderStart lifts OrderStop: the node joins when a peer is Primary.
	OrderStart OrderKind = "Start"
)

// Order is one command of the operator. Sending the same order again is harmless: the
// agent remembers the last one on its volume and answers with its record.
type Order struct {
	// ID is the operation's id (status.operation.id), a slash, and a suffix per member and step.
	ID string `json:"id"`
	// Epoch grows with every operation. An agent refuses an epoch lower than the highest it
	// has ever seen, and, of the same epoch, a second Initialise or Bootstrap with another ID.
	Epoch int64     `json:"epoch"`
	Kind  OrderKind `json:"kind"`
	// Position the order was decided for; see the kinds.
	Position galera.Position `json:"position"`
	// ClusterUUID is status.clusterUUID, "" before the first start.
	ClusterUUID string `json:"clusterUUID,omitempty"`
	// GivenUp are the members that an approval gives up: a Bootstrap is carried out even if one of these answers
	// with a later position. All other checks stay.
	GivenUp []string `json:"givenUp,omitempty"`
}

// Operation is the ID of the operation that sends the order. It names the line of history that the order begins.
func (o Order) Operation() string {
	id, _, _ := strings.Cut(o.ID, "/")
	return id
}

// Line is the line of history that an order which makes a member Primary begins at a position.
func (o Order) Line(start galera.Position) galera.Line {
	return galera.Line{ID: o.Operation(), Epoch: o.Epoch, Start: start}
}

// Same reports whether two orders are the same. GivenUp does not count: it can change between two sendings, and an
// accepted order is not carried out again.
func (o Order) Same(other Order) bool {
	return o.ID == other.ID && o.Epoch == other.Epoch && o.Kind == other.Kind &&
		o.Position == other.Position && o.ClusterUUID == other.ClusterUUID
}

// OrderState describes what became of an order.
type OrderState string

const (
	// OrderAccepted means written to the volume, being carried out.
	OrderAccepted OrderState = "Accepted"
	// OrderDone means carried out.
	OrderDone OrderState = "Done"
	// OrderRefused means not carried out, and never will be.
	OrderRefused OrderState = "Refused"
	// OrderFailed means tried without success; the order is over.
	OrderFailed OrderState = "Failed"
)

// OrderRecord is the last order an agent has accepted or refused, as kept on its volume.
type OrderRecord struct {
	Order
	State   OrderState `json:"state"`
	Message string     `json:"message,omitempty"`
	At      time.Time  `json:"at"`
}

// OrderResult is the answer to an order: HTTP 200 with Accepted, Done or Failed, 409 with Refused.
type OrderResult struct {
	State   OrderState `json:"state"`
	Message string     `json:"message,omitempty"`
}
