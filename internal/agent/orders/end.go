package orders

import (
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// end is how an order ended.
type end struct {
	state   agentapi.OrderState
	message string
}

// Finish records how an order ended. An end that cannot be recorded, on a full volume for instance, is reported all the
// same, and recorded later; when the agent dies before that, the order has failed.
func (r *Store) Finish(id string, state agentapi.OrderState, message string) {
	if r.Current != nil && r.Current.ID == id {
		r.Current = nil
	}
	r.recordEnd(id, end{state, message})
}

func (r *Store) recordEnd(id string, e end) {
	r.ending = true
	if e.state == agentapi.OrderFailed {
		r.setEnd(id, e) // whatever becomes of the record, others need not wait for this member
	}
	r.Record(r.Book.Finish(id, e.state, e.message), func(err error) {
		r.ending = false
		if err != nil {
			r.loop.Logger.Error("the end of an order could not be recorded", "order", id, "error", err)
			r.setEnd(id, e)
			return
		}
		delete(r.pendingEnds, id)
		r.loop.Logger.Info("order ended", "id", id, "state", e.state, "message", e.message)
	})
}

func (r *Store) setEnd(id string, e end) {
	if r.pendingEnds == nil {
		r.pendingEnds = map[string]end{}
	}
	r.pendingEnds[id] = e
}

// Tick tries again to record the end of an order.
func (r *Store) Tick() {
	if r.ending {
		return
	}
	for id, e := range r.pendingEnds {
		r.recordEnd(id, e)
		return
	}
}

// Ending reports whether the end of an order is being written to the book.
func (r *Store) Ending() bool { return r.ending }

// last is the last order of the book, as it ended, or the one that is being written to it.
func (r *Store) last(last *agentapi.OrderRecord, now time.Time) *agentapi.OrderRecord {
	if o := r.accepting; o != nil && MakesPrimary(o.Kind) && now.Sub(r.acceptedAt) <= JudgementTTL {
		// Others see it as Forming while it is being written to the disk: no other member may be made Primary meanwhile.
		// After JudgementTTL it fails, whenever it gets there.
		return &agentapi.OrderRecord{Order: *o, State: agentapi.OrderAccepted, At: r.acceptedAt}
	}
	if last == nil {
		return nil
	}
	if e, ok := r.pendingEnds[last.ID]; ok && last.State == agentapi.OrderAccepted {
		last.State, last.Message = e.state, e.message
	}
	return last
}
