package lifecycle

import (
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// Situation is all that decides whether mariadbd is started, stopped or left alone.
type Situation struct {
	// Job is what a worker is doing right now; nothing else begins meanwhile.
	Job Job
	// Alive reports whether a mariadbd process exists, Stopping whether it was asked to stop, Answers whether it
	// answers on its socket.
	Alive, Stopping, Answers bool
	// Silent reports whether the process answered before, and does not now.
	Silent bool
	// Draining: the pod goes. Held: stopped by order. Restart: to be stopped and started again.
	Draining, Held, Restart bool
	// DrainDelay is what an order or the termination of the pod waits for.
	DrainDelay DrainDelay
	// MustTerminate reports whether the running server must go: it is a danger to the data.
	MustTerminate bool
	// Hibernated is NodeConfig.Hibernated.
	Hibernated bool
	// PositionUnavailable explains why not even the position can be found out (no configuration, no mariadbd), nil when
	// it can. Unusable explains why nothing can be started (certificate, provider), nil when it can.
	PositionUnavailable, StartUnavailable *agentapi.Failure
	// Examined reports whether data and position have been examined since mariadbd was last up.
	Examined bool
	// Trouble is why the last examination failed, nil when it did not.
	Trouble *agentapi.Failure
	// Checking reports whether the first configuration is being checked.
	Checking bool
	// Form is the order to form a component with, "" without one.
	Form agentapi.OrderKind
	// NeedsOrder is a failure only an order lifts.
	NeedsOrder *agentapi.Failure
	// RetryIn is how long the next attempt has to wait, after a failed one.
	RetryIn time.Duration
	// CrashedIn is how long the next bootstrap has to wait after servers that crashed repeatedly, shortly after they had
	// begun to serve.
	CrashedIn time.Duration
	// ExamineIn is the same for the next examination.
	ExamineIn time.Duration
	Join      JoinDecision
}

// Job names what a worker does for the loop.
type Job string

// The jobs.
const (
	JobNone       Job = ""
	JobExamine    Job = "examine"
	JobInitialise Job = "initialise"
	JobLaunch     Job = "launch"
)

// Act is what to do next.
type Act string

// The acts.
const (
	ActNone       Act = ""
	ActStop       Act = "stop"
	ActExit       Act = "exit"
	ActExamine    Act = "examine"
	ActInitialise Act = "initialise"
	ActBootstrap  Act = "bootstrap"
	ActJoin       Act = "join"
)

// Step is an act, or what is waited for, and the phase this amounts to.
type Step struct {
	Act     Act
	Phase   galera.Phase
	Waiting string
	// Failure is why nothing can be done.
	Failure *agentapi.Failure
}

// Next returns the next step. It is level-triggered: it judges the whole situation each time, so that no event can be
// missed.
func Next(s Situation) Step {
	if s.Alive {
		return nextAlive(s)
	}
	if s.Job != JobNone {
		return Step{Phase: jobPhase[s.Job]}
	}
	switch {
	case s.Draining:
		return Step{Act: ActExit, Phase: galera.PhaseStopped}
	case s.Checking:
		return Step{Phase: galera.PhaseExamining}
	case s.Held && s.Form == "" && s.stoppedBy() != nil:
		return Step{Phase: galera.PhaseStopped, Waiting: "an order to start", Failure: s.stoppedBy()}
	case s.PositionUnavailable != nil:
		return Step{Phase: galera.PhaseFailed, Failure: s.PositionUnavailable}
	case !s.Examined && s.ExamineIn > 0:
		return Step{Phase: galera.PhaseFailed, Waiting: "the next attempt to find out the position"}
	case !s.Examined:
		return Step{Act: ActExamine, Phase: galera.PhaseExamining}
	case s.StartUnavailable != nil:
		return Step{Phase: galera.PhaseFailed, Failure: s.StartUnavailable}
	case s.Form == agentapi.OrderInitialise && s.RetryIn > 0:
		return Step{Phase: galera.PhaseWaiting, Waiting: "the next attempt to initialise a database"}
	case s.Form == agentapi.OrderInitialise:
		return Step{Act: ActInitialise, Phase: galera.PhaseInitialising}
	case s.Form == agentapi.OrderBootstrap && s.CrashedIn > 0:
		return Step{Phase: galera.PhaseWaiting,
			Waiting: "the next attempt to start: the last servers crashed shortly after they had begun to serve"}
	case s.Form == agentapi.OrderBootstrap:
		return Step{Act: ActBootstrap, Phase: galera.PhaseStarting}
	case s.Held:
		return Step{Phase: galera.PhaseStopped, Waiting: "an order to start"}
	case s.NeedsOrder != nil:
		return Step{Phase: galera.PhaseFailed, Failure: s.NeedsOrder}
	case s.Join.Failure != nil:
		return Step{Phase: galera.PhaseFailed, Failure: s.Join.Failure}
	case s.Hibernated:
		return Step{Phase: galera.PhaseWaiting, Waiting: "the cluster is hibernated"}
	case !s.Join.Join:
		return Step{Phase: galera.PhaseWaiting, Waiting: s.Join.Wait}
	case s.RetryIn > 0:
		return Step{Phase: galera.PhaseWaiting, Waiting: "the next attempt to join"}
	}
	return Step{Act: ActJoin, Phase: galera.PhaseStarting}
}

// stoppedBy is what is wrong with a member that runs nothing, by order, and could start nothing either; nil when
// nothing is, or when it is examined first. It is Stopped all the same: an operation that waits for that must not wait
// for a user.
func (s Situation) stoppedBy() *agentapi.Failure {
	switch {
	case s.PositionUnavailable != nil:
		return s.PositionUnavailable
	case !s.Examined && s.ExamineIn > 0:
		return s.Trouble
	case s.Examined:
		return s.StartUnavailable
	}
	return nil
}

var jobPhase = map[Job]galera.Phase{
	JobExamine:    galera.PhaseExamining,
	JobInitialise: galera.PhaseInitialising,
	JobLaunch:     galera.PhaseStarting,
}

func nextAlive(s Situation) Step {
	switch {
	case s.Stopping:
		return Step{Phase: galera.PhaseStopping}
	case (s.Draining || s.Held || s.Restart) && !s.MustTerminate && s.Answers && s.DrainDelay.Wait() > 0:
		return Step{Phase: galera.PhaseRunning, Waiting: "new clients to be sent to other nodes, before mariadbd is stopped"}
	case s.Draining, s.Held, s.Restart, s.MustTerminate:
		return Step{Act: ActStop, Phase: galera.PhaseStopping}
	case s.Answers:
		return Step{Phase: galera.PhaseRunning}
	}
	step := Step{Phase: galera.PhaseStarting}
	if s.Silent {
		step.Waiting = "mariadbd, which does not answer any more"
	}
	return step
}
