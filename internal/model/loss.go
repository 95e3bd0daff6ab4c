package model

import (
	"time"

	"github.com/galera-operator/galera-operator/internal/galera"
)

// tickTime is how long a Tick of the clock is.
const tickTime = 10 * time.Second

// MiscountedLoss is a broken promise: planners wait for a merge, and for a silent arbitrator's end, by this count.
const MiscountedLoss = "the time without a Primary component was counted through one"

func timeOf(tick int16) time.Time { return time.Unix(0, 0).Add(time.Duration(tick) * tickTime) }

func tickOf(t time.Time) int16 { return int16(t.Sub(time.Unix(0, 0)) / tickTime) }

// seeLoss is the operator's own function, or what it replaced: a count that goes on through a Primary component
// of a minority.
func (w *controllers) seeLoss(s *galera.Snapshot, st *status) {
	var recorded time.Time
	if st.lostAt >= 0 {
		recorded = timeOf(st.lostAt)
	}
	s.SeeLoss(recorded, timeOf(w.clock))
	if w.miscounts && s.NoPrimarySince.IsZero() && 2*inPrimary(s) <= len(s.Members) {
		lost := *s
		lost.Members = nil
		lost.SeeLoss(recorded, timeOf(w.clock))
		s.NoPrimarySince, s.NoPrimaryFor = lost.NoPrimarySince, lost.NoPrimaryFor
	}
}

func inPrimary(s *galera.Snapshot) (n int) {
	for i := range s.Members {
		if s.Members[i].InPrimary() {
			n++
		}
	}
	return n
}

// checkLoss judges the count by what operators have seen that could tell it in the status.
func (w *controllers) checkLoss(o *operator, s *galera.Snapshot) {
	if s.NoPrimaryFor == 0 {
		return
	}
	fresh := o.status.version == w.api.status.version
	if inPrimary(s) > 0 || fresh && s.NoPrimaryFor > time.Duration(w.clock-w.truth.servedAt)*tickTime {
		w.violate(MiscountedLoss)
	}
}

// noteServing remembers that an operator with the last status has seen a Primary component, and has told so.
func (w *controllers) noteServing(s *galera.Snapshot) {
	if inPrimary(s) > 0 {
		w.truth.servedAt = w.clock
	}
}
