package plan

import (
	"fmt"
	"slices"

	"github.com/galera-operator/galera-operator/internal/galera"
)

// plight says what is wrong with a member whose agent answers and which cannot act, and what helps.
func plight(m galera.Member) string {
	what, ok := map[galera.Inability]string{
		galera.Hung:     "runs and does not answer",
		galera.Killed:   "was killed and has not ended",
		galera.SlowLook: "is still being examined",
		galera.Frozen:   "has a volume that is frozen",
		galera.ReadOnly: "has a volume that refuses writes",
	}[m.CannotAct]
	switch {
	case ok:
		return what + mend(m.CannotAct)
	case m.Failure != nil:
		return "has failed: " + m.Failure.Message
	case m.Known:
		return ""
	}
	return "does not answer"
}

// mend says what a person can do.
func mend(i galera.Inability) string {
	switch i {
	case galera.Hung:
		return " (delete the pod to restart it)"
	case galera.Killed:
		return " (its storage does not answer: restart its host)"
	case galera.SlowLook:
		return " (this goes on; look at its storage)"
	case galera.Frozen:
		return " (look at its storage; nothing is killed for it)"
	case galera.ReadOnly:
		return " (repair the volume, then delete the pod)"
	}
	return ""
}

// but adds to a wait why the member it names may keep everybody waiting.
func but(m galera.Member) string {
	if why := plight(m); why != "" {
		return ": it " + why
	}
	return ""
}

// addStuck sorts in a member that cannot act. Whatever its position says, it cannot be told of a start, or may run.
func (v *verdict) addStuck(m galera.Member) {
	switch m.CannotAct {
	case galera.Hung:
		v.hung = append(v.hung, m.Name)
	case galera.Killed:
		v.killed = append(v.killed, m.Name)
	case galera.SlowLook:
		v.slow = append(v.slow, m.Name)
	case galera.Frozen:
		v.frozen = append(v.frozen, m.Name)
	default:
		v.readOnly = append(v.readOnly, m.Name)
	}
}

// setUnable takes out the candidates that would be chosen and cannot be started: their agents would refuse.
func (v *verdict) setUnable(s galera.Snapshot) {
	for {
		best, ok := v.best(s)
		if !ok || best.CannotStart == "" {
			return
		}
		v.unable = append(v.unable, best.Name)
		v.candidates = slices.DeleteFunc(v.candidates, func(m galera.Member) bool { return m.Name == best.Name })
	}
}

func whyUnable(s galera.Snapshot, v verdict) string {
	if len(v.unable) == 0 {
		return ""
	}
	m, _ := s.Member(v.unable[0])
	return " (" + m.CannotStart + ")"
}

// stuckOf tells of all members that cannot act, "" when there are none.
func stuckOf(s galera.Snapshot, v verdict) string {
	text := ""
	for _, m := range s.Members {
		switch {
		case m.CannotAct != galera.Able:
			text += m.Name + " " + plight(m) + "; "
		case slices.Contains(v.unable, m.Name):
			text += m.Name + " cannot start: " + m.CannotStart + "; "
		}
	}
	return text
}

// running says that servers have to be ended before the cluster can start without their members.
func (v verdict) running(s galera.Snapshot) bool {
	return slices.ContainsFunc(s.Members, func(m galera.Member) bool { return m.MayRun() && slices.Contains(v.missing(), m.Name) })
}

// givenUp are the missing members as an approval names them.
func givenUp(s galera.Snapshot, v verdict) []givenUpMember {
	names := v.missing()
	out := make([]givenUpMember, 0, len(names))
	for _, name := range names {
		as := galera.Gone
		switch m, _ := s.Member(name); {
		case slices.Contains(v.unable, name):
			as = galera.Unable
		case m.MayRun():
			as = galera.StillRunning
		}
		out = append(out, givenUpMember{name, as})
	}
	return out
}

// endStuck ends a server that does not answer, or that cannot be told anything, before the cluster is started without
// it. It waits until the process has ended, or was sent SIGKILL: such a process never runs another instruction, so it takes
// no write, forms no component and joins none. Anything less is not enough: the server may be alone in a
// Primary component that the others have left, and go on serving there.
func endStuck(op galera.Operation, m galera.Member) (Decision, bool) {
	switch {
	case m.Pod.Terminating:
		return wait(ReasonMemberFailed, fmt.Sprintf("waiting for the pod %s to go: the server there may run. Should it stay, restart its host", m.Name))
	case !m.Records():
		return replace(m, "its server may run, and its volume takes no order to stop")
	case m.Order != nil && m.Order.ID == orderID(op, m.Name, OrderStop):
		return wait(ReasonMemberFailed, fmt.Sprintf("waiting for the server of %s, which does not answer, to be killed. Should it stay, restart its host", m.Name))
	}
	return order(op, m.Name, OrderStop, galera.Position{}, ReasonRecovering, fmt.Sprintf("ending the server of %s, which does not answer", m.Name))
}
