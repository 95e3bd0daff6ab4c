package galera

// GivenUpAs is the state in which an approval gives a member up.
type GivenUpAs string

// The states in which a member may be given up.
const (
	// Gone is a member that certainly does not run: the user has made sure, or its agent reports it.
	Gone GivenUpAs = "Gone"
	// StillRunning is a member whose server may run and does not answer: it is ended before the cluster starts without it.
	StillRunning GivenUpAs = "Running"
	// Unable is a member whose position is known and the latest, but whose server cannot start: its writes are given up
	// knowingly. An approval that gives it up as Gone does not cover this.
	Unable GivenUpAs = "Unable"
)

// Inability explains why a member whose agent answers cannot carry out orders.
type Inability string

const (
	// Able means that no inability is known.
	Able Inability = ""
	// Hung means that mariadbd runs and has not answered for too long.
	Hung Inability = "Hung"
	// Killed means that mariadbd was sent SIGKILL and has not ended. It never runs another instruction; only what the
	// kernel was doing for it, a write to its own volume, may still come to its end.
	Killed Inability = "Killed"
	// SlowExamination means that the examination of the data directory takes too long. It continues.
	SlowExamination Inability = "SlowExamination"
	// Frozen means that the data volume does not answer writes.
	Frozen Inability = "Frozen"
	// ReadOnly means that the data volume refuses writes.
	ReadOnly Inability = "ReadOnly"
)

// Records reports whether the member can write an order into its order book; otherwise it carries none out. If a killed
// process does not end, its storage does not answer or its pod is ending: its agent can hardly write either.
func (m Member) Records() bool {
	return !m.BookDamaged && m.CannotAct != Frozen && m.CannotAct != ReadOnly && m.CannotAct != Killed
}

// MayRun reports whether the member has a mariadbd that may be part of a group, or become so.
func (m Member) MayRun() bool {
	if !m.Known || m.CannotAct == Killed {
		return false
	}
	switch m.Phase {
	case PhaseInitialising, PhaseStarting, PhaseRunning, PhaseStopping:
		return true
	}
	return m.Server != nil
}

// AtRest reports whether the member was ordered to stop, in this epoch or later, and whether nothing of it runs which
// could be part of a group. It keeps the order on its volume.
func (m Member) AtRest(epoch int64) bool {
	if !m.Known || m.Order == nil || m.Order.Epoch < epoch {
		return false
	}
	switch {
	case m.Phase == PhaseStopped:
		return true
	case m.CannotAct == Killed, m.CannotAct == SlowExamination && m.Phase == PhaseExamining:
		return m.Order.Kind == "Stop"
	}
	return false
}
