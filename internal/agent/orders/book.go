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
	"github.com/galera-operator/galera-operator/internal/galera"
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
	Lineage galera.Lineage `json:"lineage,omitzero"`
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

// Book is the order book on the volume. It is written beside the loop that owns it: Write is for the one worker that
// writes, everything else for the loop, which goes by what it was told to be on the disk (Take).
type Book struct {
	path    string
	content Content // the loop's
	disk    Content // the worker's
	damaged error
	now     func() time.Time
}

// Edit changes what the book says; it returns false when there is nothing to change.
type Edit func(*Content) bool

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
	err = b.endInterrupted()
	b.disk = b.content
	return b, err
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
	return b.save(b.content)
}

// Damaged says why the book cannot be used, nil when it can. Nothing is written to a damaged book.
func (b *Book) Damaged() error { return b.damaged }

// Content returns what the book says.
func (b *Book) Content() Content {
	c := b.content
	c.Records = slices.Clone(c.Records)
	return c
}

// Accept records an order before it is carried out. When it cannot be written nothing may be done.
func (b *Book) Accept(o agentapi.Order) Edit {
	return func(c *Content) bool {
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
		return true
	}
}

// Refuse records that an order was refused.
func (b *Book) Refuse(o agentapi.Order, why string) Edit {
	return func(c *Content) bool { b.put(c, o, agentapi.OrderRefused, why); return true }
}

// Finish records how an accepted order ended.
func (b *Book) Finish(id string, state agentapi.OrderState, message string) Edit {
	return func(c *Content) bool {
		for i := range c.Records {
			if r := &c.Records[i]; r.ID == id && r.State == agentapi.OrderAccepted {
				r.State, r.Message, r.At = state, message, b.now()
			}
		}
		return true
	}
}

// SetLineage records the lines of history the data belong to.
func (b *Book) SetLineage(l galera.Lineage) Edit {
	return func(c *Content) bool {
		same := c.Lineage.Equal(l)
		c.Lineage = l
		return !same
	}
}

// BeginLine records that the data go on in a new line of history.
func (b *Book) BeginLine(l galera.Line) Edit {
	return func(c *Content) bool { return b.SetLineage(c.Lineage.Then(l))(c) }
}

func (b *Book) put(c *Content, o agentapi.Order, state agentapi.OrderState, why string) {
	c.HighestEpoch = max(c.HighestEpoch, o.Epoch)
	c.Records = append(c.Records, agentapi.OrderRecord{Order: o, State: state, Message: why, At: b.now()})
	if extra := len(c.Records) - remembered; extra > 0 {
		c.Records = slices.Delete(c.Records, 0, extra)
	}
}

// Write makes a change and brings it to the disk; the result is for Take. When it fails, nothing was changed.
func (b *Book) Write(e Edit) (Content, error) {
	if b.damaged != nil {
		return Content{}, b.damaged
	}
	next := b.disk
	next.Records = slices.Clone(next.Records)
	if e(&next) {
		if err := b.save(next); err != nil {
			return Content{}, err
		}
	}
	b.disk = next
	return next, nil
}

// Take makes what was written what the book says.
func (b *Book) Take(c Content) { b.content = c }

func (b *Book) save(c Content) error {
	data, err := json.MarshalIndent(c, "", "  ")
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
