package model

import (
	"math"
	"time"

	"github.com/galera-operator/galera-operator/internal/galera"
)

// tickTime is how long a Tick of the clock is.
const tickTime = 10 * time.Second

// MiscountedLoss is a broken promise: planners wait for a merge, and for a silent arbitrator's end, by this count.
const MiscountedLoss = "the time without a Primary component was counted through one"

// never is no Tick.
const never = math.MinInt16

func timeOf(tick int16) time.Time {
	if tick == never {
		return time.Time{}
	}
	return time.Unix(0, 0).Add(time.Duration(tick) * tickTime)
}

func tickOf(t time.Time) int16 {
	if t.IsZero() {
		return never
	}
	return int16(t.Sub(time.Unix(0, 0)) / tickTime)
}

// waits is what a process of the operator remembers of its waits: internal/observe.Waits in this world.
type waits struct {
	// lost, since record was recorded, and silent are Ticks; that its clock is set changes nothing in what it measures
	// itself.
	lost, record int16
	silent       [maxNodes]int16
	// newPods are those that it has seen for the first time since its last pass.
	newPods set
	// since is kept for a promise: the Tick since which each agent could have answered. A pod that came when nothing had
	// served for long has no time of its own, also if another operator's clock makes that time shorter later.
	since [maxNodes]int16
}

var newWaits = func() (o waits) {
	o.lost, o.record = never, never
	for i := range o.silent {
		o.silent[i] = never
	}
	return o
}()

// seeWaits is the operator's own function, or what it replaced: a count that goes on through a Primary component
// of a minority, or one that another process with another clock began.
func (w *controllers) seeWaits(s *galera.Snapshot, o *operator) {
	now, recorded := timeOf(w.clock+o.skew), timeOf(o.status.lostAt)
	seen := galera.Loss{Since: timeOf(shifted(o.lost, o.skew)), Recorded: timeOf(o.record)}
	if w.miscounts == countsRecorded {
		seen = galera.Loss{Since: recorded, Recorded: recorded}
	}
	o.see(s.SeeLoss(recorded, seen, now), o.skew)
	if w.miscounts == countsMajority && s.NoPrimarySince.IsZero() && 2*inPrimary(s) <= len(s.Members) {
		lost := *s
		lost.Members = nil
		o.see(lost.SeeLoss(recorded, seen, now), o.skew)
		s.NoPrimarySince, s.NoPrimaryFor = lost.NoPrimarySince, lost.NoPrimaryFor
	}
	measured := timeOf(w.clock)
	if w.miscounts == countsByClock {
		measured = now
	}
	for i := range s.Members {
		o.silent[i] = tickOf(s.SeeSilence(i, timeOf(o.silent[i]), !o.newPods.has(i), measured))
		if s.Members[i].Known || s.Hibernate && s.Hibernated ||
			(o.newPods.has(i) || s.Members[i].Pod.Creating) && s.NoPrimaryFor < longLoss*tickTime {
			o.since[i] = w.clock
		}
	}
	o.newPods = 0
}

// Hasty is a broken promise: a user is asked to give up a member whose agent has had no time to answer.
const Hasty = "a person is asked to give up a member that may just be starting"

// answerTicks is how many Ticks an agent has to answer, and longLoss how many it has though its pods come and go.
const answerTicks, longLoss = 6, 60

// askedTooEarly reports whether one of the silent members that a user is asked to give up has had no time to answer.
func (o *waits) askedTooEarly(clock int16, asked set, s *galera.Snapshot) bool {
	for i := range s.Members {
		if asked.has(i) && !s.Members[i].Known && clock-o.since[i] < answerTicks && s.NoPrimaryFor < longLoss*tickTime {
			return true
		}
	}
	return false
}

// NeverRan is a broken promise: a user is asked to give up a member that has nothing to lose.
const NeverRan = "a person is asked to give up a member that never ran"

func neverRan(asked set, s *galera.Snapshot) bool {
	for i, m := range s.Members {
		if asked.has(i) && !m.Known && nothingToLose(*s, m) {
			return true
		}
	}
	return false
}

// nothingToLose reports whether a member is new to a cluster with a history, and found no host yet.
func nothingToLose(s galera.Snapshot, m galera.Member) bool {
	return m.Unplaced && !m.HeldData && s.ClusterUUID != ""
}

func (o *waits) see(l galera.Loss, skew int16) {
	o.lost, o.record = shifted(tickOf(l.Since), -skew), tickOf(l.Recorded)
}

func shifted(tick, by int16) int16 {
	if tick == never {
		return never
	}
	return tick + by
}

// noticePlaced: no cache lags for so long that a member has got a host, a volume and data meanwhile.
func (w *controllers) noticePlaced(k int) {
	for i := range w.n {
		if w.ops[k].pods[i].unplaced && w.nodes[i].vol.data != dataEmpty {
			w.seePod(k, i)
		}
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

// checkLoss judges the count by what was seen by operators that could report it in the status.
func (w *controllers) checkLoss(o *operator, s *galera.Snapshot) {
	if s.NoPrimaryFor == 0 {
		return
	}
	fresh := o.status.version == w.api.status.version
	if inPrimary(s) > 0 || fresh && s.NoPrimaryFor > time.Duration(w.clock-w.truth.servedAt)*tickTime {
		w.violate(MiscountedLoss)
	}
}

// noteServing remembers that an operator with the last status has seen and reported a Primary component.
func (w *controllers) noteServing(s *galera.Snapshot) {
	if inPrimary(s) > 0 {
		w.truth.servedAt = w.clock
	}
}
