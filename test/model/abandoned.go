package model

import (
	"slices"
	"strconv"

	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/plan"
)

// abandoned is the status's memory of an operation that was abandoned because of a member; without attempts there is
// none. Only switches by re-bootstrap are remembered.
type abandoned struct {
	attempts, member int8
	pod              int16
	goal             mode
}

func podUID(exists bool, uid int16) string {
	if !exists {
		return ""
	}
	return strconv.Itoa(int(uid))
}

func (a abandoned) fact() *galera.Abandoned {
	if a.attempts == 0 {
		return nil
	}
	return &galera.Abandoned{Type: galera.OpSwitchTLS, Step: "Rebootstrap", Goal: encryptions[a.goal].String(),
		Member: names[a.member], PodUID: podUID(a.pod >= 0, a.pod), Attempts: int(a.attempts),
		Message: "cannot determine its position"}
}

// remember is what internal/apply keeps of the end of an operation.
func (a *abandoned) remember(end plan.Complete, of galera.OperationType) {
	switch c := end.Cause; {
	case c != nil:
		pod, err := strconv.Atoi(c.PodUID)
		if err != nil {
			pod = -1
		}
		*a = abandoned{attempts: int8(min(c.Attempts, 100)), member: int8(nameNumber(c.Member)), pod: int16(pod)}
		a.goal = mode(slices.IndexFunc(encryptions[:], func(e galera.Encryption) bool { return e.String() == c.Goal }))
	case !end.Abandoned && of == galera.OpSwitchTLS, end.Reached:
		*a = abandoned{}
	}
}

// maxRepeats is how often a switch may be abandoned because of members while no one changes anything: an operator with
// an old status counts less.
const maxRepeats = 5

// countAbandoned counts abandoned switches until something changes that may make the next one end well: it ended well,
// another mode is wanted, or the member has another pod.
func (w *truth) countAbandoned(of galera.OperationType, end plan.Complete) {
	before := w.repeats
	w.repeats.remember(end, of)
	now := &w.repeats
	if end.Cause == nil {
		return
	}
	now.attempts = 1
	if before.attempts > 0 && before.goal == now.goal && before.pod == now.pod {
		now.attempts += before.attempts
	}
	if now.attempts > maxRepeats {
		w.violate(Repeats)
	}
}

// plain is the memory without the numbers of pods, which only have to be equal or not.
func (a abandoned) plain(w *World) abandoned {
	if a.attempts > 0 {
		a.pod = same(a.pod, w.nodes[a.member].pod.uid)
	}
	return a
}
