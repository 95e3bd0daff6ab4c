// Package orders keeps the order book, one file on the volume that remembers what this member
// has been ordered to do, and judges new orders against it and against the member's own facts.
package orders

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/datadir"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/cluster"
)

const (
	bookFile = "orders.json"
	// remembered is how many orders a repeated one is looked up among.
	remembered = 32
)

// Content is what the book says.
type Content struct {
	// HighestEpoch is the highest epoch of any order this member has recorded.
	HighestEpoch int64 `json:"highestEpoch"`
	// Formed is the last Initialise or Bootstrap that was accepted.
	Formed FormedBy `json:"formed,omitzero"`
	// Held says that mariadbd stays down until an order lifts it.
	Held bool `json:"held,omitempty"`
	// Lineage are the lines of history the data belong to.
	Lineage cluster.Lineage `json:"lineage,omitzero"`
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

// Book is the order book on the volume. Its methods are not for concurrent use: the
// agent's loop owns it.
type Book struct {
	path    string
	content Content
	damaged error
	now     func() time.Time
}

// Open reads the book in dir. Orders that were being carried out when the agent died are over:
// nothing is ever carried out because of what the book says. A damaged book is kept as it is;
// see Damaged.
func Open(dir string, now func() time.Time) (*Book, error) {
	b := &Book{path: filepath.Join(dir, bookFile), now: now}
	data, err := os.ReadFile(b.path)
	if errors.Is(err, fs.ErrNotExist) {
		return b, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &b.content)
	}
	if err != nil {
		b.content = Content{}
		b.damaged = fmt.Errorf("order book %s: %w", b.path, err)
		return b, nil
	}
	return b, b.endInterrupted()
}

func (b *Book) endInterrupted() error {
	changed := false
	for i := range b.content.Records {
		r := &b.content.Records[i]
		if r.State != agentapi.OrderAccepted {
			continue
		}
		changed = true
		r.At = b.now()
		if r.Kind == agentapi.OrderStop {
			r.State, r.Message = agentapi.OrderDone, "mariadbd went down with the container"
			continue
		}
		r.State, r.Message = agentapi.OrderFailed, "interrupted: the agent was restarted before the order was carried out"
	}
	if !changed {
		return nil
	}
	return b.save()
}

// Damaged says why the book cannot be used, nil when it can. Nothing is written to a damaged book.
func (b *Book) Damaged() error { return b.damaged }

// Content returns what the book says.
func (b *Book) Content() Content {
	c := b.content
	c.Records = slices.Clone(c.Records)
	return c
}

// Accept records an order before it is carried out. When it returns an error nothing may be done.
func (b *Book) Accept(o agentapi.Order) error {
	return b.change(func(c *Content) {
		switch o.Kind {
		case agentapi.OrderStop:
			c.Held = true
		case agentapi.OrderStart, agentapi.OrderInitialise, agentapi.OrderBootstrap:
			c.Held = false
		}
		if Forms(o.Kind) {
			c.Formed = FormedBy{Epoch: o.Epoch, ID: o.ID}
		}
		b.put(c, o, agentapi.OrderAccepted, "")
	})
}

// Refuse records that an order was refused.
func (b *Book) Refuse(o agentapi.Order, why string) error {
	return b.change(func(c *Content) { b.put(c, o, agentapi.OrderRefused, why) })
}

// Finish records how an accepted order ended.
func (b *Book) Finish(id string, state agentapi.OrderState, message string) error {
	return b.change(func(c *Content) {
		for i := range c.Records {
			if r := &c.Records[i]; r.ID == id && r.State == agentapi.OrderAccepted {
				r.State, r.Message, r.At = state, message, b.now()
			}
		}
	})
}

// SetLineage records the lines of history the data belong to.
func (b *Book) SetLineage(l cluster.Lineage) error {
	if b.content.Lineage.Equal(l) {
		return nil
	}
	return b.change(func(c *Content) { c.Lineage = l })
}

// BeginLine records that the data go on in a new line of history.
func (b *Book) BeginLine(l cluster.Line) error { return b.SetLineage(b.content.Lineage.Then(l)) }

func (b *Book) put(c *Content, o agentapi.Order, state agentapi.OrderState, why string) {
	c.HighestEpoch = max(c.HighestEpoch, o.Epoch)
	c.Records = append(c.Records, agentapi.OrderRecord{Order: o, State: state, Message: why, At: b.now()})
	if extra := len(c.Records) - remembered; extra > 0 {
		c.Records = slices.Delete(c.Records, 0, extra)
	}
}

// change applies f and keeps the result only when it is on the disk.
func (b *Book) change(f func(*Content)) error {
	if b.damaged != nil {
		return b.damaged
	}
	before := b.content
	b.content.Records = slices.Clone(before.Records)
	f(&b.content)
	if err := b.save(); err != nil {
		b.content = before
		return err
	}
	return nil
}

func (b *Book) save() error {
	data, err := json.MarshalIndent(b.content, "", "  ")
	if err != nil {
		return err
	}
	return datadir.WriteFile(b.path, data, 0o600)
}

// MakesPrimary says whether a kind of order makes a member Primary.
func MakesPrimary(k agentapi.OrderKind) bool { return Forms(k) || k == agentapi.OrderRebuildQuorum }

// Forms says whether a kind of order forms a component.
func Forms(k agentapi.OrderKind) bool {
	return k == agentapi.OrderInitialise || k == agentapi.OrderBootstrap
}
