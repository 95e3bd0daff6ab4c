package orders

import (
	"fmt"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/datadir"
	"github.com/galera-operator/galera-operator/internal/eventloop"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// JudgementTTL is how long what the others answered when an order was judged is good enough to make a member Primary.
const JudgementTTL = 30 * time.Second

// Reply is called once with what became of an order.
type Reply func(agentapi.OrderResult, error)

// Store is not safe for concurrent use; event loop only.
type Store struct {
	*Book
	// Current is the order that is being carried out: accepted, not finished. JudgedAt is when the others were asked about
	// it.
	Current  *agentapi.Order
	JudgedAt time.Time

	loop   eventloop.Loop
	volume *datadir.Volume
	// recording is an order being written to the book, accepting the same unless it is refused.
	recording, accepting *agentapi.Order
	acceptedAt           time.Time // when accepting was judged, by what the others said
	// pendingEnds are orders that are over, and whose end could not be recorded yet; ending reports whether one is on its
	// way.
	pendingEnds map[string]end
	ending      bool
	lineAsked   int64 // epoch of the line that is being written to the book, 0 for none
}

// NewStore returns a Store without a book: call Open first.
func NewStore(loop eventloop.Loop, volume *datadir.Volume) Store {
	return Store{loop: loop, volume: volume}
}

// Open reads the book in dir. It blocks while the volume does not answer.
func (r *Store) Open(dir string) {
	book := OpenBook(dir, time.Now)
	if why := book.Damaged(); why != nil {
		r.loop.Logger.Error("the order book cannot be read; orders are refused", "error", why)
	}
	if why := book.Unsaved(); why != nil {
		r.loop.Logger.Error("the order book cannot be written", "error", why)
		r.volume.Suspect()
	}
	r.Book = book
}

// Record writes a change of the book: the change is in force from the moment done is called.
func (r *Store) Record(e Edit, done func(error)) {
	var next Content
	r.volume.Do(func() (err error) {
		next, err = r.Write(e)
		return err
	}, func(err error) {
		if err == nil {
			r.Take(next)
		} else {
			r.volume.Suspect()
		}
		done(err)
	})
}

// Recording is the order being written to the book, nil when none is.
func (r *Store) Recording() *agentapi.Order { return r.recording }

// Refuse writes into the book that an order was refused.
func (r *Store) Refuse(o agentapi.Order, why string, reply Reply) {
	r.recording = &o
	r.Record(r.Book.Refuse(o, why), func(err error) {
		r.recording = nil
		if err != nil {
			reply(agentapi.OrderResult{}, Unwritten(err))
			return
		}
		reply(agentapi.OrderResult{State: agentapi.OrderRefused, Message: why}, nil)
	})
}

// Accept writes an order into the book, and only then begins. It was judged by what the others said at a time.
func (r *Store) Accept(o agentapi.Order, asked time.Time, begin func(), reply Reply) {
	if r.Current != nil {
		r.Finish(r.Current.ID, agentapi.OrderFailed, "superseded by order "+o.ID)
	}
	r.recording, r.accepting, r.acceptedAt = &o, &o, asked
	r.Record(r.Book.Accept(o), func(err error) {
		r.recording, r.accepting = nil, nil
		if err != nil {
			reply(agentapi.OrderResult{}, Unwritten(err))
			return
		}
		r.Current, r.JudgedAt = &o, asked
		begin()
		r.volume.Do(func() error { return nil }, func(error) { // what ended at once is in the book by then
			record := r.Content().Find(o.ID)
			reply(agentapi.OrderResult{State: record.State, Message: record.Message}, nil)
		})
	})
}

// Unwritten is why an order was not accepted whose record could not be written.
func Unwritten(err error) error { return fmt.Errorf("the order book cannot be written: %w", err) }

// OutOfDate ends an order that makes the member Primary when the volume took so long to record it that what it was
// judged by is out of date: meanwhile another member may have been made so.
func (r *Store) OutOfDate() bool {
	if r.Current == nil || !MakesPrimary(r.Current.Kind) || time.Since(r.JudgedAt) <= JudgementTTL {
		return false
	}
	r.Finish(r.Current.ID, agentapi.OrderFailed,
		"the data volume took too long to record the order: what it was decided by may have changed since")
	return true
}

// TakeLineage records a later line of history.
func (r *Store) TakeLineage(l galera.Lineage) {
	if l.Epoch > max(r.Content().Lineage.Epoch, r.lineAsked) {
		r.SetLineage(l, func(error) {})
	}
}

// Belong records whose data the volume holds. What fails is tried again at the next start.
func (r *Store) Belong(to agentapi.Identity) {
	r.Record(r.Book.Belong(to), func(err error) {
		if err != nil {
			r.loop.Logger.Error("could not record which cluster the data belong to", "error", err)
		}
	})
}

// SetLineage records the line; after a failure its caller asks for it again.
func (r *Store) SetLineage(l galera.Lineage, done func(error)) {
	r.lineAsked = l.Epoch
	r.Record(r.Book.SetLineage(l), func(err error) {
		if r.lineAsked == l.Epoch {
			r.lineAsked = 0
		}
		if err != nil {
			r.loop.Logger.Error("the line of history could not be recorded", "error", err)
		}
		done(err)
	})
}

// Unusable is why no order can be taken, nil when the book can be read.
func (r *Store) Unusable() *agentapi.Failure {
	why := r.Damaged()
	if why == nil {
		return nil
	}
	return &agentapi.Failure{Reason: agentapi.FailureOrderBook,
		Message: fmt.Sprintf("%v. What this member was ordered before is not known: it takes no orders "+
			"and starts nothing, its data are left as they are. While others serve, give it an empty volume: it comes back by "+
			"SST", why)}
}

// Report adds the last order, the lines of history, and whether the book can be read.
func (r *Store) Report(to *agentapi.Report) {
	content := r.Content()
	to.Order = r.last(content.Last(), time.Now())
	to.Lineage, to.BookDamaged = content.Lineage, r.Damaged() != nil
}

// Busy implements handover.Part.
func (r *Store) Busy() string {
	if r.Current != nil || r.recording != nil || r.ending || len(r.pendingEnds) > 0 || r.lineAsked != 0 {
		return "an order is being carried out"
	}
	return ""
}
