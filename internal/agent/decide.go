package agent

import (
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// Situation is all that decides whether mariadbd is started, stopped or left alone.
type Situation struct {
	// Job is what a worker is doing right now; nothing else begins meanwhile.
	Job Job
	// Alive says that a mariadbd process exists, Stopping that it was told to stop, Answers that it
	// answers on its socket.
	Alive, Stopping, Answers bool
	// Draining: the pod goes. Held: stopped by order. Restart: to be stopped and started again.
	Draining, Held, Restart bool
	// Condemned says that the running server must go: it is a danger to the data.
	Condemned bool
	// Hibernated is NodeConfig.Hibernated.
	Hibernated bool
	// Blind says why not even the position can be found out (no configuration, no mariadbd), nil when
	// it can. Unusable says why nothing can be started (certificate, provider), nil when it can.
	Blind, Unusable *agentapi.Failure
	// Examined says that data and position have been looked at since mariadbd was last up.
	Examined bool
	// Trouble is why the last examination failed, nil when it did not.
	Trouble *agentapi.Failure
	// Checking says that the first configuration is being looked at.
	Checking bool
	// Form is the order to form a component with, "" without one.
	Form agentapi.OrderKind
	// Sticky is a failure only an order lifts.
	Sticky *agentapi.Failure
	// RetryIn is how long the next attempt has to wait, after a failed one.
	RetryIn time.Duration
	// ExamineIn is the same for the next examination.
	ExamineIn time.Duration
	Join      JoinVerdict
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

// Next decides. It looks at everything anew each time, so that no event can be missed.
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
	case s.Blind != nil:
		return Step{Phase: galera.PhaseFailed, Failure: s.Blind}
	case !s.Examined && s.ExamineIn > 0:
		return Step{Phase: galera.PhaseFailed, Waiting: "the next attempt to find out the position"}
	case !s.Examined:
		return Step{Act: ActExamine, Phase: galera.PhaseExamining}
	case s.Unusable != nil:
		return Step{Phase: galera.PhaseFailed, Failure: s.Unusable}
	case s.Form == agentapi.OrderInitialise:
		return Step{Act: ActInitialise, Phase: galera.PhaseInitialising}
	case s.Form == agentapi.OrderBootstrap:
		return Step{Act: ActBootstrap, Phase: galera.PhaseStarting}
	case s.Held:
		return Step{Phase: galera.PhaseStopped, Waiting: "an order to start"}
	case s.Sticky != nil:
		return Step{Phase: galera.PhaseFailed, Failure: s.Sticky}
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

// stoppedBy is what is wrong with a member that runs nothing, by order, and could start nothing either; nil when nothing is, or when it
// is looked at first. It is Stopped all the same: whoever waits for that must not wait for a person.
func (s Situation) stoppedBy() *agentapi.Failure {
	switch {
	case s.Blind != nil:
		return s.Blind
	case !s.Examined && s.ExamineIn > 0:
		return s.Trouble
	case s.Examined:
		return s.Unusable
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
	case s.Draining, s.Held, s.Restart, s.Condemned:
		return Step{Act: ActStop, Phase: galera.PhaseStopping}
	case s.Answers:
		return Step{Phase: galera.PhaseRunning}
	}
	return Step{Phase: galera.PhaseStarting}
}

const (
	backoffMost = 10 * time.Second
	// RetryAfterTransfer is waited after a join that failed in a full transfer: its donor may go on
	// trying to reach us for the ten seconds sockopt allows, and must not find the next attempt.
	RetryAfterTransfer = 15 * time.Second
)

// Backoff is how long to wait after the n-th failed attempt in a row, n from 1.
func Backoff(n int) time.Duration {
	if n < 1 {
		return 0
	}
	return min(backoffMost, 500*time.Millisecond<<min(n-1, 10))
}

// transferBackoffMost bounds the wait after failed transfers. It never grows beyond that, nor ends: what
// keeps a transfer from ending well goes away without a word, and the data are safe elsewhere.
const transferBackoffMost = 5 * time.Minute

// TransferBackoff is how long to wait after an attempt that failed in a full transfer, the n-th failed
// one in a row, n from 1.
func TransferBackoff(n int) time.Duration {
	return min(transferBackoffMost, RetryAfterTransfer<<min(max(n, 1)-1, 8))
}

// Serves says that a server is a full member of a Primary component with a real history.
func Serves(s *agentapi.Server) bool {
	return s != nil && s.Component == galera.ComponentPrimary && s.State == galera.NodeSynced && s.Ready &&
		s.ClusterUUID != "" && s.ClusterUUID != galera.ZeroUUID
}

// HasState says that a server's state transfer is over and all of it is there.
func HasState(s *agentapi.Server) bool {
	return s != nil && s.Component == galera.ComponentPrimary && s.ClusterUUID != galera.ZeroUUID &&
		(s.State == galera.NodeJoined || s.State == galera.NodeSynced || s.State == galera.NodeDonor)
}

// Condemn says why a running server must be stopped at once, nil when it may run. formed is the
// UUID it was bootstrapped with, "" when it joined or was initialised.
func Condemn(s *agentapi.Server, formed string) *agentapi.Failure {
	if s == nil || s.Component != galera.ComponentPrimary || !s.Ready && s.State != galera.NodeSynced {
		return nil
	}
	switch {
	case s.ClusterUUID == galera.ZeroUUID:
		return &agentapi.Failure{Reason: agentapi.FailureZeroUUID,
			Message: "mariadbd became Primary without a history (zero UUID): what it would accept could never be transferred to anybody; it was stopped"}
	case formed != "" && s.ClusterUUID != "" && s.ClusterUUID != formed:
		return &agentapi.Failure{Reason: agentapi.FailureForeignUUID,
			Message: "mariadbd was to go on with the history " + formed + " and began " + s.ClusterUUID + "; it was stopped"}
	}
	return nil
}
