package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/orders"
	"github.com/galera-operator/galera-operator/internal/agent/wsrep"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

const (
	// quorumTime is how long a rebuilt quorum may take to show.
	quorumTime = 15 * time.Second
	// answerTime is how long the caller waits at most for an order to be on the disk.
	answerTime = 10 * time.Second
	// judgedLasts is how long what the others said when an order was judged is good enough to make a member Primary.
	judgedLasts = 30 * time.Second
)

// takeOrder is called by the control port. Orders that form a component are judged by what the
// other members say at this moment.
func (a *agent) takeOrder(ctx context.Context, o agentapi.Order) (agentapi.OrderResult, error) {
	var views map[string]agentapi.PeerView
	asked := time.Now()
	if orders.Forms(o.Kind) || o.Kind == agentapi.OrderRebuildQuorum {
		views = a.asking.AskOnce(ctx)
	}
	type answer struct {
		result agentapi.OrderResult
		err    error
	}
	done := make(chan answer, 1)
	a.post(func() {
		if views != nil {
			a.peers, a.peersFrom = views, asked // what was heard before must not end what these allow
		}
		a.onOrder(o, views, asked, func(result agentapi.OrderResult, err error) { done <- answer{result, err} })
	})
	late := time.NewTimer(answerTime)
	defer late.Stop()
	select {
	case got := <-done:
		return got.result, got.err
	case <-ctx.Done():
		return agentapi.OrderResult{}, ctx.Err()
	case <-late.C:
		return agentapi.OrderResult{}, errors.New("the data volume is slow: the order is not on it yet")
	}
}

// replying is told once what became of an order.
type replying func(agentapi.OrderResult, error)

// onOrder judges an order and begins to carry it out.
func (a *agent) onOrder(o agentapi.Order, views map[string]agentapi.PeerView, asked time.Time, reply replying) {
	v := orders.Judge(o, a.book.Content(), a.book.Damaged(), a.orderFacts(views))
	a.Logger.Info("order", "id", o.ID, "kind", o.Kind, "epoch", o.Epoch, "position", o.Position.String(), "verdict", v.Decision.String(), "message", v.Message)
	if a.recording != nil && (v.Decision == orders.Accept || v.Decision == orders.Refuse) {
		// What is on its way into the book may change the verdict.
		reply(agentapi.OrderResult{}, fmt.Errorf("order %s is being recorded: the data volume has not answered yet", a.recording.ID))
		return
	}
	switch v.Decision {
	case orders.Repeat:
		reply(agentapi.OrderResult{State: v.Record.State, Message: v.Record.Message}, nil)
	case orders.Busy:
		reply(agentapi.OrderResult{}, errors.New(v.Message))
	case orders.Accept:
		a.accept(o, asked, reply)
	case orders.Refuse:
		a.recording = &o
		a.record(a.book.Refuse(o, v.Message), func(err error) {
			a.recording = nil
			if err != nil {
				reply(agentapi.OrderResult{}, unwritten(err))
				return
			}
			reply(agentapi.OrderResult{State: agentapi.OrderRefused, Message: v.Message}, nil)
		})
	default:
		reply(agentapi.OrderResult{State: agentapi.OrderRefused, Message: v.Message}, nil)
	}
}

func unwritten(err error) error { return fmt.Errorf("the order book cannot be written: %w", err) }

func (a *agent) orderFacts(views map[string]agentapi.PeerView) orders.Facts {
	f := orders.Facts{
		Examined: a.exam.Done && a.job == JobNone, Data: a.exam.Found.Data, Position: a.exam.Found.Position,
		Alive: a.proc != nil || a.job == JobLaunch || a.job == JobInitialise, Server: a.status,
		Draining: a.draining, Current: a.current, Cut: a.cuttable(),
		Peers: slices.Collect(maps.Values(views)),
	}
	if a.proc != nil {
		f.Position = a.position
	}
	if u := a.unusable(); u != nil {
		f.Blocked = u.Message
	} else if a.exam.Found.Newer != "" {
		f.Blocked = downgrade(a.image.ServerVersion, a.exam.Found.Newer)
	}
	return f
}

// cuttable says that the present order may be ended by another one: a restart that only waits for
// somebody to join.
func (a *agent) cuttable() bool {
	return a.current != nil && a.current.Kind == agentapi.OrderRestart && a.proc == nil && a.job != JobLaunch
}

// accept writes the order into the book, and only then begins. It was judged by what the others said at a time.
func (a *agent) accept(o agentapi.Order, asked time.Time, reply replying) {
	if a.current != nil {
		a.finish(a.current.ID, agentapi.OrderFailed, "superseded by order "+o.ID)
	}
	a.recording, a.accepting, a.acceptedAt = &o, &o, asked
	a.record(a.book.Accept(o), func(err error) {
		a.recording, a.accepting = nil, nil
		if err != nil {
			reply(agentapi.OrderResult{}, unwritten(err))
			return
		}
		a.begin(o, asked)
		a.volume.Do(func() error { return nil }, func(error) { // what ended at once is in the book by then
			record := a.book.Content().Find(o.ID)
			reply(agentapi.OrderResult{State: record.State, Message: record.Message}, nil)
		})
	})
}

// begin carries out an order that is in the book.
func (a *agent) begin(o agentapi.Order, asked time.Time) {
	a.current, a.judgedAt = &o, asked
	a.sticky, a.failures, a.exam.RetryAt = nil, 0, time.Time{}
	if a.outOfDate() {
		return
	}
	if orders.Forms(o.Kind) && (a.proc != nil || a.job != JobNone) {
		a.finish(o.ID, agentapi.OrderFailed, "something else was begun while the order was being recorded")
		return
	}
	switch o.Kind {
	case agentapi.OrderStart:
		a.finish(o.ID, agentapi.OrderDone, "")
		a.askAnew()
	case agentapi.OrderStop:
		a.heldSince = time.Now()
	case agentapi.OrderRestart:
		if a.proc != nil {
			a.restart = true
		} else if a.job != JobLaunch {
			a.asking.Now()
		}
	case agentapi.OrderRebuildQuorum:
		a.rebuildQuorum(o)
	}
}

// outOfDate ends an order that makes the member Primary when the volume took so long to record it that what it was judged by
// says nothing any more: meanwhile another member may have been made so.
func (a *agent) outOfDate() bool {
	if a.current == nil || !orders.MakesPrimary(a.current.Kind) || time.Since(a.judgedAt) <= judgedLasts {
		return false
	}
	a.finish(a.current.ID, agentapi.OrderFailed, "the data volume took too long to record the order: what it was decided by may have changed since")
	return true
}

// rebuildQuorum makes a running non-Primary component Primary.
func (a *agent) rebuildQuorum(o agentapi.Order) {
	proc := a.proc
	a.record(a.book.BeginLine(galera.Line{Epoch: o.Epoch, Start: a.position}), func(err error) {
		why := a.notAlone()
		switch {
		case err != nil:
			a.finish(o.ID, agentapi.OrderFailed, unwritten(err).Error())
		case a.current == nil || a.current.ID != o.ID || a.outOfDate():
		case why != "" || a.draining:
			a.finish(o.ID, agentapi.OrderFailed, cmp.Or(why, "the pod is on its way out"))
		case a.proc != proc || a.status == nil || a.status.Component != galera.ComponentNonPrimary:
			a.finish(o.ID, agentapi.OrderFailed, "the server does not run without quorum any more")
		default:
			a.bootstrapComponent(o)
		}
	})
}

func (a *agent) bootstrapComponent(o agentapi.Order) {
	go func() {
		err := a.conn.Bootstrap(context.Background())
		deadline := time.Now().Add(quorumTime)
		for err == nil {
			s, statusErr := a.conn.Status(context.Background())
			if statusErr == nil && s.Server.Component == galera.ComponentPrimary {
				break
			}
			if time.Now().After(deadline) {
				err = fmt.Errorf("the component did not become Primary within %s", quorumTime)
				break
			}
			time.Sleep(wsrep.PollFast)
		}
		a.post(func() {
			if err != nil {
				a.finish(o.ID, agentapi.OrderFailed, err.Error())
				return
			}
			a.finish(o.ID, agentapi.OrderDone, "")
		})
	}()
}

// orderEnd is how an order ended.
type orderEnd struct {
	state   agentapi.OrderState
	message string
}

// finish records how an order ended. An end that cannot be recorded, on a full volume for instance, is told all the same, and
// recorded later; when the agent dies before that, the order has failed.
func (a *agent) finish(id string, state agentapi.OrderState, message string) {
	if a.current != nil && a.current.ID == id {
		a.current = nil
	}
	a.recordEnd(id, orderEnd{state, message})
}

func (a *agent) recordEnd(id string, end orderEnd) {
	a.ending = true
	if end.state == agentapi.OrderFailed {
		a.setEnd(id, end) // whatever becomes of the record, others need not wait for this member
	}
	a.record(a.book.Finish(id, end.state, end.message), func(err error) {
		a.ending = false
		if err != nil {
			a.Logger.Error("the end of an order could not be recorded", "order", id, "error", err)
			a.setEnd(id, end)
			return
		}
		delete(a.ends, id)
		a.Logger.Info("order ended", "id", id, "state", end.state, "message", end.message)
	})
}

func (a *agent) setEnd(id string, end orderEnd) {
	if a.ends == nil {
		a.ends = map[string]orderEnd{}
	}
	a.ends[id] = end
}

// recordEnds tries again to record the end of an order.
func (a *agent) recordEnds() {
	if a.ending {
		return
	}
	for id, end := range a.ends {
		a.recordEnd(id, end)
		return
	}
}

// lastOrder is the last order of the book, as it ended, or the one on its way there.
func (a *agent) lastOrder(last *agentapi.OrderRecord, now time.Time) *agentapi.OrderRecord {
	if o := a.accepting; o != nil && orders.MakesPrimary(o.Kind) && now.Sub(a.acceptedAt) <= judgedLasts {
		// Others see it as Forming while it is on its way to the disk: nobody else may be made Primary meanwhile. After
		// judgedLasts it fails, whenever it gets there.
		return &agentapi.OrderRecord{Order: *o, State: agentapi.OrderAccepted, At: a.acceptedAt}
	}
	if last == nil {
		return nil
	}
	if end, ok := a.ends[last.ID]; ok && last.State == agentapi.OrderAccepted {
		last.State, last.Message = end.state, end.message
	}
	return last
}

// endStop ends a Stop once nothing runs any more and the position is known again, or is known not to be found out.
func (a *agent) endStop() {
	if a.current != nil && a.current.Kind == agentapi.OrderStop && a.proc == nil && a.job == JobNone &&
		(a.exam.Done || a.exam.Trouble != nil || a.blind() != nil && !a.config.Checking) {
		a.finish(a.current.ID, agentapi.OrderDone, "")
	}
}
