package orders

import (
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// Remembered is how many orders a repeated one is looked up among.
const Remembered = 32

// Content is the content of the book.
type Content struct {
	// HighestEpoch is the highest epoch of any order this member has recorded.
	HighestEpoch int64 `json:"highestEpoch"`
	// Formed is the last Initialise or Bootstrap that was accepted.
	Formed FormedBy `json:"formed,omitzero"`
	// Held reports whether mariadbd stays down until an order lifts it.
	Held bool `json:"held,omitempty"`
	// Lineage are the lines of history the data belong to.
	Lineage galera.Lineage `json:"lineage,omitzero"`
	// Cluster is whose data the volume holds: recorded when the member serves for the first time.
	Cluster agentapi.Identity `json:"cluster,omitzero"`
	// Records holds the last orders, the latest at the end.
	Records []agentapi.OrderRecord `json:"records,omitempty"`
}

// FormedBy names an order that formed a component.
type FormedBy struct {
	Epoch int64  `json:"epoch,omitempty"`
	ID    string `json:"id,omitempty"`
}

// Last returns the latest record, nil when there is none.
func (c Content) Last() *agentapi.OrderRecord {
	if len(c.Records) == 0 {
		return nil
	}
	last := c.Records[len(c.Records)-1]
	return &last
}

// Find returns the record of an order, nil when it is not remembered.
func (c Content) Find(id string) *agentapi.OrderRecord {
	for i := len(c.Records) - 1; i >= 0; i-- {
		if c.Records[i].ID == id {
			found := c.Records[i]
			return &found
		}
	}
	return nil
}

// Accept records an order before it is carried out.
func (c *Content) Accept(o agentapi.Order, now time.Time) {
	switch o.Kind {
	case agentapi.OrderStop:
		c.Held = true
	case agentapi.OrderStart, agentapi.OrderInitialise, agentapi.OrderBootstrap:
		c.Held = false
	}
	if Forms(o.Kind) {
		c.Formed = FormedBy{Epoch: o.Epoch, ID: o.ID}
	}
	c.put(o, agentapi.OrderAccepted, "", now)
}

// Refuse records that an order was refused.
func (c *Content) Refuse(o agentapi.Order, why string, now time.Time) {
	c.put(o, agentapi.OrderRefused, why, now)
}

// Finish records how an accepted order ended; one that has ended already stays as it is.
func (c *Content) Finish(id string, state agentapi.OrderState, message string, now time.Time) {
	for i := range c.Records {
		if r := &c.Records[i]; r.ID == id && r.State == agentapi.OrderAccepted {
			r.State, r.Message, r.At = state, message, now
		}
	}
}

// Interrupt ends what was being carried out when the agent died, and reports whether there was anything. A Stop is
// done: mariadbd went down with the container. Nothing is ever carried out because of the book's content.
func (c *Content) Interrupt(now time.Time) bool {
	changed := false
	for i := range c.Records {
		r := &c.Records[i]
		if r.State != agentapi.OrderAccepted {
			continue
		}
		changed = true
		r.At = now
		if r.Kind == agentapi.OrderStop {
			r.State, r.Message = agentapi.OrderDone, "mariadbd went down with the container"
			continue
		}
		r.State, r.Message = agentapi.OrderFailed, "interrupted: the agent was restarted before the order was carried out"
	}
	return changed
}

// SetLineage records the lines of history the data belong to, and reports whether that changed anything.
func (c *Content) SetLineage(l galera.Lineage) bool {
	same := c.Lineage.Equal(l)
	c.Lineage = l
	return !same
}

// Belong records whose data the volume holds, and reports whether that changed anything.
func (c *Content) Belong(to agentapi.Identity) bool {
	same := c.Cluster == to
	c.Cluster = to
	return !same
}

// BeginLine records that the data go on in a new line of history.
func (c *Content) BeginLine(l galera.Line) bool { return c.SetLineage(c.Lineage.Then(l)) }

func (c *Content) put(o agentapi.Order, state agentapi.OrderState, why string, now time.Time) {
	c.HighestEpoch = max(c.HighestEpoch, o.Epoch)
	c.Records = append(c.Records, agentapi.OrderRecord{Order: o, State: state, Message: why, At: now})
	if extra := len(c.Records) - Remembered; extra > 0 {
		copy(c.Records, c.Records[extra:])
		c.Records = c.Records[:Remembered]
	}
}

// MakesPrimary reports whether a kind of order makes a member Primary.
func MakesPrimary(k agentapi.OrderKind) bool { return Forms(k) || k == agentapi.OrderRebuildQuorum }

// Forms reports whether a kind of order forms a component.
func Forms(k agentapi.OrderKind) bool {
	return k == agentapi.OrderInitialise || k == agentapi.OrderBootstrap
}
