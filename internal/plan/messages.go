package plan

import (
	"fmt"
	"slices"

	"github.com/galera-operator/galera-operator/internal/galera"
)

// memberProblem returns what is wrong with a member, and what to do, as the end of a sentence; "" when it can act.
func memberProblem(m galera.Member) string {
	what, ok := map[galera.Inability]string{
		galera.Hung:            "runs and does not answer",
		galera.Killed:          "was killed and has not ended",
		galera.SlowExamination: "is still being examined",
		galera.Frozen:          "has a volume that is frozen",
		galera.ReadOnly:        "has a volume that refuses writes",
	}[m.CannotAct]
	switch {
	case ok:
		return what + remedy(m.CannotAct)
	case m.Failure != nil:
		return "has failed: " + m.Failure.Message
	case m.Known:
		return ""
	}
	return "does not answer"
}

// absent returns why a node that does not answer may stay away for any time, as the end of a sentence; "" when it may
// be back in a moment. An operation that keeps other nodes down does not wait for it.
func absent(m galera.Member) string {
	switch {
	case m.Known:
		return ""
	case m.Pod.Waiting:
		return "has a pod that does not run"
	case m.SilentFor >= answerTimeout:
		return "does not answer"
	}
	return ""
}

// remedy returns what to do about an inability, in parentheses.
func remedy(i galera.Inability) string {
	switch i {
	case galera.Hung:
		return " (delete the pod to restart it)"
	case galera.Killed:
		return " (its storage does not answer: restart its host)"
	case galera.SlowExamination:
		return " (the examination continues; check its storage)"
	case galera.Frozen:
		return " (check its storage; its server is not killed)"
	case galera.ReadOnly:
		return " (repair the volume, then delete the pod)"
	}
	return ""
}

// problemSuffix adds to a wait the problem of the member that is waited for.
func problemSuffix(m galera.Member) string {
	if why := memberProblem(m); why != "" {
		return ": it " + why
	}
	return ""
}

// addStuck adds a member that cannot act. Whatever its position, it cannot take an order, or its server may run.
func (v *memberClasses) addStuck(m galera.Member) {
	switch m.CannotAct {
	case galera.Hung:
		v.hung = append(v.hung, m.Name)
	case galera.Killed:
		v.killed = append(v.killed, m.Name)
	case galera.SlowExamination:
		v.slow = append(v.slow, m.Name)
	case galera.Frozen:
		v.frozen = append(v.frozen, m.Name)
	default:
		v.readOnly = append(v.readOnly, m.Name)
	}
}

// setUnable takes out the best candidates as long as they cannot start: their agents would refuse.
func (v *memberClasses) setUnable(s galera.Snapshot) {
	for {
		best, ok := v.best(s)
		if !ok || best.CannotStart == "" {
			return
		}
		v.unable = append(v.unable, best.Name)
		v.candidates = slices.DeleteFunc(v.candidates, func(m galera.Member) bool { return m.Name == best.Name })
	}
}

func unableMessage(s galera.Snapshot, v memberClasses) string {
	if len(v.unable) == 0 {
		return ""
	}
	m, _ := s.Member(v.unable[0])
	return " (" + m.CannotStart + ")"
}

// describeStuck describes all members that cannot act or start, "" when there are none.
func describeStuck(s galera.Snapshot, v memberClasses) string {
	text := ""
	for _, m := range s.Members {
		switch {
		case m.CannotAct != galera.Able:
			text += m.Name + " " + memberProblem(m) + "; "
		case slices.Contains(v.unable, m.Name):
			text += m.Name + " cannot start: " + m.CannotStart + "; "
		}
	}
	return text
}

// running reports whether a missing member's server may run, and has to be ended before the cluster starts without it.
func (v memberClasses) running(s galera.Snapshot) bool {
	return slices.ContainsFunc(s.Members, func(m galera.Member) bool {
		return m.MayRun() && slices.Contains(v.missing(),
			m.Name)
	})
}

// terminateStuck ends a server that does not answer, or takes no orders, before the cluster is started without it. It
// waits until the process has ended, or was sent SIGKILL: such a process never runs another instruction, so it takes no
// write, forms no component and joins none. Anything less is not enough: the server may be alone in a Primary component
// that the others have left, and serve there.
func terminateStuck(op galera.Operation, m galera.Member) (Decision, bool) {
	switch {
	case m.Pod.Terminating:
		return wait(ReasonMemberFailed, fmt.Sprintf(
			"waiting for the pod %s to end: its server may run. If the pod stays, restart its host", m.Name))
	case !m.Records():
		return replace(m, "its server may run, and its volume cannot store an order to stop")
	case m.Order != nil && m.Order.ID == orderID(op, m.Name, OrderStop):
		return wait(ReasonMemberFailed, fmt.Sprintf(
			"waiting for the server of %s, which does not answer, to be killed. If it does not end, restart its host", m.Name))
	}
	return order(op, m.Name, OrderStop, galera.Position{}, ReasonRecovering,
		fmt.Sprintf("ending the server of %s, which does not answer", m.Name))
}
