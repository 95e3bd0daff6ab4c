package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/orders"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/cluster"
)

// quorumTime is how long a rebuilt quorum may take to show.
const quorumTime = 15 * time.Second

// takeOrder is called by the control port. Orders that form a component are judged by what the
// other members say at this moment.
func (a *agent) takeOrder(ctx context.Context, o agentapi.Order) (agentapi.OrderResult, error) {
	var views map[string]agentapi.PeerView
	asked := time.Now()
	if orders.Forms(o.Kind) || o.Kind == agentapi.OrderRebuildQuorum {
		views = a.asker.Ask(ctx, a.subject.Load().Peers, a.Name)
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
		result, err := a.onOrder(o, views)
		done <- answer{result, err}
	})
	select {
	case got := <-done:
		return got.result, got.err
	case <-ctx.Done():
		return agentapi.OrderResult{}, ctx.Err()
	}
}

// onOrder judges an order and begins to carry it out.
func (a *agent) onOrder(o agentapi.Order, views map[string]agentapi.PeerView) (agentapi.OrderResult, error) {
	v := orders.Judge(o, a.book.Content(), a.book.Damaged(), a.orderFacts(views))
	a.Logger.Info("order", "id", o.ID, "kind", o.Kind, "epoch", o.Epoch, "position", o.Position.String(), "verdict", v.Decision.String(), "message", v.Message)
	switch v.Decision {
	case orders.Repeat:
		return agentapi.OrderResult{State: v.Record.State, Message: v.Record.Message}, nil
	case orders.Busy:
		return agentapi.OrderResult{}, errors.New(v.Message)
	case orders.Accept:
		return a.accept(o)
	case orders.Refuse:
		if err := a.book.Refuse(o, v.Message); err != nil {
			return agentapi.OrderResult{}, fmt.Errorf("the order book cannot be written: %w", err)
		}
	}
	return agentapi.OrderResult{State: agentapi.OrderRefused, Message: v.Message}, nil
}

func (a *agent) orderFacts(views map[string]agentapi.PeerView) orders.Facts {
	f := orders.Facts{
		Examined: a.examined && a.job == JobNone, Data: a.found.data, Position: a.found.position,
		Alive: a.proc != nil || a.job == JobLaunch || a.job == JobInitialise, Server: a.status,
		Draining: a.draining, Current: a.current, Cut: a.cuttable(),
		Peers: slices.Collect(maps.Values(views)),
	}
	if a.proc != nil {
		f.Position = a.position
	}
	if u := a.unusable(); u != nil {
		f.Blocked = u.Message
	} else if a.found.newer != "" {
		f.Blocked = downgrade(a.image.ServerVersion, a.found.newer)
	}
	return f
}

// cuttable says that the present order may be ended by another one: a restart that only waits for
// somebody to join.
func (a *agent) cuttable() bool {
	return a.current != nil && a.current.Kind == agentapi.OrderRestart && a.proc == nil && a.job != JobLaunch
}

// accept writes the order into the book, and only then begins.
func (a *agent) accept(o agentapi.Order) (agentapi.OrderResult, error) {
	if a.current != nil {
		a.finish(a.current.ID, agentapi.OrderFailed, "superseded by order "+o.ID)
	}
	if err := a.book.Accept(o); err != nil {
		return agentapi.OrderResult{}, fmt.Errorf("the order book cannot be written: %w", err)
	}
	a.current = &o
	a.sticky, a.failures, a.examineAt = nil, 0, time.Time{}
	switch o.Kind {
	case agentapi.OrderStart:
		a.finish(o.ID, agentapi.OrderDone, "")
		a.askAnew()
	case agentapi.OrderRestart:
		if a.proc != nil {
			a.restart = true
		} else if a.job != JobLaunch {
			a.askNow()
		}
	case agentapi.OrderRebuildQuorum:
		a.rebuildQuorum(o)
	}
	record := a.book.Content().Find(o.ID)
	return agentapi.OrderResult{State: record.State, Message: record.Message}, nil
}

// rebuildQuorum makes a running non-Primary component Primary.
func (a *agent) rebuildQuorum(o agentapi.Order) {
	if err := a.book.BeginLine(cluster.Line{Epoch: o.Epoch, Start: a.position}); err != nil {
		a.finish(o.ID, agentapi.OrderFailed, "the order book cannot be written: "+err.Error())
		return
	}
	go func() {
		err := a.conn.Bootstrap(context.Background())
		deadline := time.Now().Add(quorumTime)
		for err == nil {
			s, statusErr := a.conn.Status(context.Background())
			if statusErr == nil && s.Server.Component == cluster.ComponentPrimary {
				break
			}
			if time.Now().After(deadline) {
				err = fmt.Errorf("the component did not become Primary within %s", quorumTime)
				break
			}
			time.Sleep(pollFast)
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

// finish records how an order ended.
func (a *agent) finish(id string, state agentapi.OrderState, message string) {
	if err := a.book.Finish(id, state, message); err != nil {
		// The book still says Accepted; after a restart it will say Failed. Nothing is repeated.
		a.Logger.Error("the end of an order could not be recorded", "order", id, "error", err)
	} else {
		a.Logger.Info("order ended", "id", id, "state", state, "message", message)
	}
	if a.current != nil && a.current.ID == id {
		a.current = nil
	}
}

// endStop ends a Stop once nothing runs any more and the position is known again.
func (a *agent) endStop() {
	if a.current != nil && a.current.Kind == agentapi.OrderStop && a.proc == nil && a.job == JobNone && a.examined {
		a.finish(a.current.ID, agentapi.OrderDone, "")
	}
}
