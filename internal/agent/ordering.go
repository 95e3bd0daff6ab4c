package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
	"github.com/galera-operator/galera-operator/internal/agent/ordering"
	"github.com/galera-operator/galera-operator/internal/agent/orders"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

const (
	// answerTime is how long the caller waits at most for an order to be on the disk.
	answerTime = 10 * time.Second
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

// onOrder judges an order and begins to carry it out.
func (a *agent) onOrder(o agentapi.Order, views map[string]agentapi.PeerView, asked time.Time, reply ordering.Reply) {
	v := orders.Judge(o, a.orders.Content(), a.orders.Damaged(), a.orderFacts(views))
	a.Logger.Info("order", "id", o.ID, "kind", o.Kind, "epoch", o.Epoch, "position", o.Position.String(), "verdict", v.Decision.String(), "message", v.Message)
	if a.orders.Recording() != nil && (v.Decision == orders.Accept || v.Decision == orders.Refuse) {
		// What is on its way into the book may change the verdict.
		reply(agentapi.OrderResult{}, fmt.Errorf("order %s is being recorded: the data volume has not answered yet", a.orders.Recording().ID))
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
		a.orders.Refuse(o, v.Message, reply)
	default:
		reply(agentapi.OrderResult{State: agentapi.OrderRefused, Message: v.Message}, nil)
	}
}

func (a *agent) orderFacts(views map[string]agentapi.PeerView) orders.Facts {
	f := orders.Facts{
		Examined: a.exam.Done && a.job == lifecycle.JobNone, Data: a.exam.Found.Data, Position: a.exam.Found.Position,
		Alive: a.proc != nil || a.job == lifecycle.JobLaunch || a.job == lifecycle.JobInitialise, Server: a.status,
		Draining: a.draining, Current: a.orders.Current, Cut: a.cuttable(),
		Peers: slices.Collect(maps.Values(views)),
	}
	if a.proc != nil {
		f.Position = a.position
	}
	if u := a.unusable(); u != nil {
		f.Blocked = u.Message
	} else if a.exam.Found.Newer != "" {
		f.Blocked = lifecycle.DowngradeMessage(a.image.ServerVersion, a.exam.Found.Newer)
	}
	return f
}

// cuttable says that the present order may be ended by another one: a restart that only waits for
// somebody to join.
func (a *agent) cuttable() bool {
	return a.orders.Current != nil && a.orders.Current.Kind == agentapi.OrderRestart && a.proc == nil && a.job != lifecycle.JobLaunch
}

// accept writes the order into the book, and only then begins. It was judged by what the others said at a time.
func (a *agent) accept(o agentapi.Order, asked time.Time, reply ordering.Reply) {
	a.orders.Accept(o, asked, func() { a.begin(o) }, reply)
}

// begin carries out an order that is in the book.
func (a *agent) begin(o agentapi.Order) {
	a.sticky, a.failures, a.exam.RetryAt = nil, 0, time.Time{}
	if a.orders.OutOfDate() {
		return
	}
	if orders.Forms(o.Kind) && (a.proc != nil || a.job != lifecycle.JobNone) {
		a.orders.Finish(o.ID, agentapi.OrderFailed, "something else was begun while the order was being recorded")
		return
	}
	switch o.Kind {
	case agentapi.OrderStart:
		a.orders.Finish(o.ID, agentapi.OrderDone, "")
		a.askAnew()
	case agentapi.OrderStop:
		a.heldSince = time.Now()
	case agentapi.OrderRestart:
		if a.proc != nil {
			a.restart = true
		} else if a.job != lifecycle.JobLaunch {
			a.asking.Now()
		}
	case agentapi.OrderRebuildQuorum:
		a.rebuildQuorum(o)
	}
}

// rebuildQuorum makes a running non-Primary component Primary.
func (a *agent) rebuildQuorum(o agentapi.Order) {
	proc := a.proc
	a.orders.Record(a.orders.BeginLine(galera.Line{Epoch: o.Epoch, Start: a.position}), func(err error) {
		why := a.notAlone()
		switch {
		case err != nil:
			a.orders.Finish(o.ID, agentapi.OrderFailed, ordering.Unwritten(err).Error())
		case a.orders.Current == nil || a.orders.Current.ID != o.ID || a.orders.OutOfDate():
		case why != "" || a.draining:
			a.orders.Finish(o.ID, agentapi.OrderFailed, cmp.Or(why, "the pod is on its way out"))
		case a.proc != proc || a.status == nil || a.status.Component != galera.ComponentNonPrimary:
			a.orders.Finish(o.ID, agentapi.OrderFailed, "the server does not run without quorum any more")
		default:
			a.bootstrapComponent(o)
		}
	})
}

func (a *agent) bootstrapComponent(o agentapi.Order) {
	go func() {
		err := a.conn.RebuildQuorum(context.Background())
		a.post(func() {
			if err != nil {
				a.orders.Finish(o.ID, agentapi.OrderFailed, err.Error())
				return
			}
			a.orders.Finish(o.ID, agentapi.OrderDone, "")
		})
	}()
}

// endStop ends a Stop once nothing runs any more and the position is known again, or is known not to be found out.
func (a *agent) endStop() {
	if a.orders.Current != nil && a.orders.Current.Kind == agentapi.OrderStop && a.proc == nil && a.job == lifecycle.JobNone &&
		(a.exam.Done || a.exam.Trouble != nil || a.blind() != nil && !a.config.Checking) {
		a.orders.Finish(a.orders.Current.ID, agentapi.OrderDone, "")
	}
}
