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

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/datadir"
	"github.com/galera-operator/galera-operator/internal/galera"
)

const bookFile = "orders.json"

// Book is the order book on the volume. It is written outside the loop that owns it: Write is for the one worker that
// writes, everything else for the loop, which goes by what was reported to be on the disk (Take).
type Book struct {
	path    string
	content Content // the loop's
	disk    Content // the worker's
	damaged error
	unsaved error
	write   func(path string, data []byte, mode os.FileMode) error
	now     func() time.Time
}

// Edit changes the book's content; it returns false when there is nothing to change.
type Edit func(*Content) bool

// OpenBook reads the book in dir. Orders that were being carried out when the agent died are over: nothing is ever
// carried out because of the book's content. A volume that cannot record that, because it is full or read-only, does
// not keep the agent from starting: see Unsaved. A damaged book is kept as it is; see Damaged.
func OpenBook(dir string, now func() time.Time) *Book {
	return openBook(dir, now, datadir.WriteReserved)
}

func openBook(dir string, now func() time.Time, write func(string, []byte, os.FileMode) error) *Book {
	b := &Book{path: filepath.Join(dir, bookFile), now: now, write: write}
	data, err := os.ReadFile(b.path)
	if errors.Is(err, fs.ErrNotExist) {
		return b
	}
	if err == nil {
		err = json.Unmarshal(data, &b.content)
	}
	if err != nil {
		b.content = Content{}
		b.damaged = fmt.Errorf("order book %s: %w", b.path, err)
		return b
	}
	if b.content.Interrupt(b.now()) {
		b.unsaved = b.save(b.content)
	}
	b.disk = b.content // the next change that can be written brings the whole content to the disk
	return b
}

// Unsaved returns why the end of an interrupted order could not be written, nil when it could. It is in memory only: an
// agent that starts later ends the order again.
func (b *Book) Unsaved() error { return b.unsaved }

// Damaged returns the reason why the book cannot be used, nil when it can. Nothing is written to a damaged book.
func (b *Book) Damaged() error { return b.damaged }

// Content returns the book's content.
func (b *Book) Content() Content {
	c := b.content
	c.Records = slices.Clone(c.Records)
	return c
}

// Accept records an order before it is carried out. When it cannot be written nothing may be done.
func (b *Book) Accept(o agentapi.Order) Edit {
	return func(c *Content) bool { c.Accept(o, b.now()); return true }
}

// Refuse records that an order was refused.
func (b *Book) Refuse(o agentapi.Order, why string) Edit {
	return func(c *Content) bool { c.Refuse(o, why, b.now()); return true }
}

// Finish records how an accepted order ended.
func (b *Book) Finish(id string, state agentapi.OrderState, message string) Edit {
	return func(c *Content) bool { c.Finish(id, state, message, b.now()); return true }
}

// SetLineage records the lines of history the data belong to.
func (b *Book) SetLineage(l galera.Lineage) Edit {
	return func(c *Content) bool { return c.SetLineage(l) }
}

// Belong records whose data the volume holds.
func (b *Book) Belong(to agentapi.Identity) Edit {
	return func(c *Content) bool { return c.Belong(to) }
}

// BeginLine records that the data go on in a new line of history.
func (b *Book) BeginLine(l galera.Line) Edit {
	return func(c *Content) bool { return c.BeginLine(l) }
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

// Take makes what was written the book's content.
func (b *Book) Take(c Content) { b.content = c }

func (b *Book) save(c Content) error {
	data, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	return b.write(b.path, data, 0o600)
}
