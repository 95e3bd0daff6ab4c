package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/api"
	"github.com/galera-operator/galera-operator/internal/agent/config"
	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
	"github.com/galera-operator/galera-operator/internal/agent/orders"
	"github.com/galera-operator/galera-operator/internal/agent/process"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/eventloop"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/mariadbd"
)

// answerTimeout is how long the caller waits at most for an order to be on the disk.
const answerTimeout = 10 * time.Second

// ExecutorDependencies are the components that orders use.
type ExecutorDependencies struct {
	Orders *orders.Store
	Run    *process.Supervisor
	Start  *Starter
	Exam   *process.Examiner
	Group  *api.Peers
	Image  *mariadbd.Image
	Config *config.Manager
}

// Executor is not safe for concurrent use; event loop only.
type Executor struct {
	ExecutorDependencies
	// Restart reports whether a Restart waits for mariadbd to go down.
	Restart bool

	stoppedAt time.Time // when the last Stop began
	loop      eventloop.Loop
	// rebuild makes the running server's non-Primary component Primary.
	rebuild func(context.Context) error
}

// NewExecutor returns an Executor without orders.
func NewExecutor(loop eventloop.Loop, deps ExecutorDependencies, rebuild func(context.Context) error) Executor {
	return Executor{ExecutorDependencies: deps, loop: loop, rebuild: rebuild}
}

// Take is called by the control port. Orders that form a component are judged by what the
// other members report at this moment. Safe for concurrent use.
func (r *Executor) Take(ctx context.Context, o agentapi.Order) (agentapi.OrderResult, error) {
	var views map[string]agentapi.PeerView
	asked := time.Now()
	if orders.Forms(o.Kind) || o.Kind == agentapi.OrderRebuildQuorum {
		views = r.Group.AskOnce(ctx)
	}
	type answer struct {
		result agentapi.OrderResult
		err    error
	}
	done := make(chan answer, 1)
	r.loop.Post(func() {
		if views != nil {
			r.Group.Decide(asked, views)
		}
		r.Judge(o, views, asked, func(result agentapi.OrderResult, err error) { done <- answer{result, err} })
	})
	late := time.NewTimer(answerTimeout)
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

// Judge judges an order by what the others answered when they were asked, and begins to carry it out.
func (r *Executor) Judge(o agentapi.Order, views map[string]agentapi.PeerView, asked time.Time, reply orders.Reply) {
	v := orders.Judge(o, r.Orders.Content(), r.Orders.Damaged(), r.facts(views))
	r.loop.Logger.Info("order", "id", o.ID, "kind", o.Kind, "epoch", o.Epoch, "position", o.Position.String(), "judgement",
		v.Decision.String(), "message", v.Message)
	if r.Orders.Recording() != nil && (v.Decision == orders.Accept || v.Decision == orders.Refuse) {
		// What is being written to the book may change the judgement.
		reply(agentapi.OrderResult{}, fmt.Errorf("order %s is being recorded: the data volume has not answered yet",
			r.Orders.Recording().ID))
		return
	}
	switch v.Decision {
	case orders.Repeat:
		reply(agentapi.OrderResult{State: v.Record.State, Message: v.Record.Message}, nil)
	case orders.Busy:
		reply(agentapi.OrderResult{}, errors.New(v.Message))
	case orders.Accept:
		r.Accept(o, asked, reply)
	case orders.Refuse:
		r.Orders.Refuse(o, v.Message, reply)
	default:
		reply(agentapi.OrderResult{State: agentapi.OrderRefused, Message: v.Message}, nil)
	}
}

func (r *Executor) facts(views map[string]agentapi.PeerView) orders.Facts {
	found := r.Exam.Found
	f := orders.Facts{
		Examined: r.Exam.Done && r.Start.Job() == lifecycle.JobNone, Data: found.Data, Position: found.Position,
		Alive: r.Start.Starts(), Server: r.Run.Status,
		Draining: r.loop.Draining(), Current: r.Orders.Current, Cut: r.preemptible(),
		Peers: slices.Collect(maps.Values(views)), CrashedIn: r.Run.Attempts.CrashedIn(time.Now()),
	}
	if r.Run.Proc != nil {
		f.Position = r.Run.Position
	}
	if u := r.Start.StartUnavailable(); u != nil {
		f.Blocked = u.Message
	} else if found.Newer != "" {
		f.Blocked = lifecycle.DowngradeMessage(r.Image.ServerVersion, found.Newer)
	}
	return f
}

// preemptible reports whether the present order may be ended by another one: a restart that only waits for
// a component to join.
func (r *Executor) preemptible() bool {
	return r.Orders.Current != nil && r.Orders.Current.Kind == agentapi.OrderRestart && r.Run.Proc == nil &&
		r.Start.Job() != lifecycle.JobLaunch
}

// Accept writes the order into the book, and only then begins. It was judged by what the others said at a time.
func (r *Executor) Accept(o agentapi.Order, asked time.Time, reply orders.Reply) {
	r.Orders.Accept(o, asked, func() { r.begin(o) }, reply)
}

// begin carries out an order that is in the book.
func (r *Executor) begin(o agentapi.Order) {
	r.Run.Attempts.ResetForOrder(o.Kind)
	r.Exam.RetryAt = time.Time{}
	if r.Orders.OutOfDate() {
		return
	}
	if orders.Forms(o.Kind) && (r.Run.Proc != nil || r.Start.Job() != lifecycle.JobNone) {
		r.Orders.Finish(o.ID, agentapi.OrderFailed, "something else was begun while the order was being recorded")
		return
	}
	switch o.Kind {
	case agentapi.OrderStart:
		r.Orders.Finish(o.ID, agentapi.OrderDone, "")
		r.forgetPeerAnswers()
	case agentapi.OrderStop:
		r.stoppedAt = time.Now()
	case agentapi.OrderRestart:
		if r.Run.Proc != nil {
			r.Restart = true
		} else if r.Start.Job() != lifecycle.JobLaunch {
			r.Group.Now()
		}
	case agentapi.OrderRebuildQuorum:
		r.rebuildQuorum(o)
	}
}

// forgetPeerAnswers forgets what the others reported: a member that is released by an order joins none that served
// before it. The order is also how a member learns of a recovery, and it must not join a component that has just ended.
func (r *Executor) forgetPeerAnswers() {
	if r.Run.Proc == nil {
		r.Group.Forget()
	}
	r.Group.Now()
}

// rebuildQuorum makes a running non-Primary component Primary.
func (r *Executor) rebuildQuorum(o agentapi.Order) {
	proc := r.Run.Proc
	r.Orders.Record(r.Orders.BeginLine(o.Line(r.Run.Position)), func(err error) {
		why := r.Start.OtherPrimary()
		switch {
		case err != nil:
			r.Orders.Finish(o.ID, agentapi.OrderFailed, orders.Unwritten(err).Error())
		case r.Orders.Current == nil || r.Orders.Current.ID != o.ID || r.Orders.OutOfDate():
		case why != "" || r.loop.Draining():
			r.Orders.Finish(o.ID, agentapi.OrderFailed, cmp.Or(why, "the pod is terminating"))
		case r.Run.Proc != proc || r.Run.Status == nil || r.Run.Status.Component != galera.ComponentNonPrimary:
			r.Orders.Finish(o.ID, agentapi.OrderFailed, "the server does not run without quorum any more")
		default:
			r.bootstrapComponent(o)
		}
	})
}

func (r *Executor) bootstrapComponent(o agentapi.Order) {
	go func() {
		err := r.rebuild(context.Background())
		r.loop.Post(func() {
			if err != nil {
				r.Orders.Finish(o.ID, agentapi.OrderFailed, err.Error())
				return
			}
			r.Orders.Finish(o.ID, agentapi.OrderDone, "")
		})
	}()
}

// Served ends the order a member that serves for the first time in its run was given.
func (r *Executor) Served() {
	o := r.Orders.Current
	if o == nil {
		return
	}
	switch {
	case o.Kind == agentapi.OrderInitialise && o.ID == r.Run.Order:
		// Done when root's password is set, so that it is when others learn of it.
	case o.Kind == agentapi.OrderBootstrap && o.ID == r.Run.Order, o.Kind == agentapi.OrderRestart:
		r.Orders.Finish(o.ID, agentapi.OrderDone, "")
	}
}

// Exited ends the order a run was for that has ended before the member served.
func (r *Executor) Exited(order string, how fmt.Stringer) {
	r.Restart = false
	if r.Orders.Current != nil && r.Orders.Current.ID == order {
		r.Orders.Finish(order, agentapi.OrderFailed, "mariadbd ended before it served: "+how.String())
	}
}

// EndExamination cancels an examination of the data that keeps a Stop from ending.
func (r *Executor) EndExamination(now time.Time) {
	if r.stopping() {
		r.Exam.EndFor(r.stoppedAt, now)
	}
}

func (r *Executor) stopping() bool {
	return r.Orders.Current != nil && r.Orders.Current.Kind == agentapi.OrderStop
}

// EndStop ends a Stop once nothing runs any more and the position is known again, or is known not to be found out.
func (r *Executor) EndStop() {
	if r.stopping() && r.Run.Proc == nil && r.Start.Job() == lifecycle.JobNone &&
		(r.Exam.Done || r.Exam.Trouble != nil || r.Start.PositionUnavailable() != nil && !r.Config.Checking) {
		r.Orders.Finish(r.Orders.Current.ID, agentapi.OrderDone, "")
	}
}

// Busy implements handover.Part.
func (r *Executor) Busy() string {
	if r.Restart {
		return "a restart was ordered"
	}
	return ""
}
