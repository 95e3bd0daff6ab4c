package model

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/galera-operator/galera-operator/internal/plan"
)

// Schedule is a whole story: the world it begins in and what happens there.
type Schedule struct {
	// Members is the size of the cluster.
	Members int
	// Eager: a majority of the last view comes back by itself, not only all of it.
	Eager bool
	// Fresh begins before the first start; otherwise all members are Synced.
	Fresh bool
	// Arbiter: with an even number of members there is an arbitrator. For fewer than five.
	Arbiter bool
	// Careless: operators and members take no notice of views when a server is evicted.
	Careless bool
	// Gullible: a member believes what answers at the address of another one, whatever cluster it is of.
	Gullible bool
	// Unmarked: a member that goes on from marked data does not record it for the others.
	Unmarked bool
	// Patient: a donor never ends a transfer to a joiner whose volume is frozen.
	Patient bool
	// Noted: an agent believes the position it knew before a power cut, instead of examining the disk.
	Noted bool
	// Miscounts is how operators measure how long something has lasted.
	Miscounts counting
	// Hears: an agent that is to make its member Primary hears of the others. Otherwise it gets no answer.
	Hears bool
	// Stays: before all is calm, one member that cannot act stays as it is, and the rest has to go on.
	Stays bool
	// Publisher is the one of publishers that chooses certificates.
	Publisher int8
	Events    []Event
}

// String returns the schedule as Go source.
func (s Schedule) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Schedule{Members: %d, Eager: %t, Fresh: %t, Arbiter: %t, Hears: %t, Stays: %t, Events: []Event{\n",
		s.Members, s.Eager, s.Fresh, s.Arbiter, s.Hears, s.Stays)
	for _, e := range s.Events {
		fmt.Fprintf(&b, "\t%s,\n", e)
	}
	return b.String() + "}}"
}

// Result is how a schedule ended.
type Result struct {
	// Violation is the broken promise, "" for none.
	Violation string
	// Steps counts the single things that happened, the convergence included; the promises were
	// checked after each.
	Steps int
	// Effective are the events that happened.
	Effective []Event
	// Rounds it took to converge.
	Rounds  int
	Reached Reached
}

// Run runs a schedule, and then lets the world converge.
func Run(s Schedule, p Planner) Result {
	w := s.world()
	before := w.truth.steps
	var r Result
	r.Effective = make([]Event, 0, len(s.Events))
	for _, e := range s.Events {
		if !w.Step(e, p) {
			continue
		}
		r.Effective = append(r.Effective, e)
		if w.truth.violation != "" {
			break
		}
	}
	if s.Stays && w.truth.violation == "" && !w.truth.split {
		w.continueWithout(p)
	}
	if w.truth.violation == "" && !w.truth.split {
		r.Rounds, _ = w.Converge(p)
		r.wake(&w, p)
	}
	r.Steps = int(w.truth.steps - before)
	r.Violation, r.Reached = w.truth.violation, w.truth.reached
	return r
}

// wake ends a hibernation, and with it the story: all must be Synced again.
func (r *Result) wake(w *World, p Planner) {
	if w.truth.violation != "" || !w.api.hibernate || w.truth.reached&ReachedBlocked != 0 {
		return
	}
	w.api.hibernate = false
	rounds, _ := w.Converge(p)
	r.Rounds += rounds
}

// plain writes an event with the smallest numbers that mean the same, 0 for what it does not use.
func (e Event) plain(members, places int) Event {
	n, all := uint8(members), uint8(places)
	switch e.Kind {
	case Round, Elapse, Tick, Minute, KillAll, Shatter, Heal, LoseStatus, SaveStatus, RollBackStatus, Hibernate, Configure,
		Upgrade, Approve, Renew:
		return Event{Kind: e.Kind}
	case Deliver, Duplicate, DropMessage:
		return Event{e.Kind, e.A % maxMessages, 0}
	case ReplaceCA:
		return Event{e.Kind, e.A % authorities, 0}
	case SeeStatus, SeeSecrets, LookAround, Reconcile, Unmute, CrashBeforeActing, CrashBeforeStatus, CrashOperator:
		return Event{e.Kind, e.A % operators, 0}
	case SetClock:
		return Event{e.Kind, e.A % operators, e.B % 3}
	case SeePod, Hear, Mute, NotHear:
		return Event{e.Kind, e.A % operators, e.B % all}
	case RareState:
		return Event{e.Kind, e.A % n, e.B % uint8(rareStates)}
	case SwitchTLS:
		return Event{e.Kind, 0, e.B % 2}
	case Partition:
		return Event{e.Kind, e.A & (1<<all - 1), 0}
	case AskRestart:
		return Event{e.Kind, e.A & (1<<n - 1), 0}
	case CutAlter:
		return Event{e.Kind, e.A & (1<<n - 1), e.B & (1<<n - 1)}
	case Agent, Kubelet, Regroup, Load, KillServer, KillAgent, KillPod, Drain, MachineAway, MachineBack:
		return Event{e.Kind, e.A % all, 0}
	default:
		return Event{e.Kind, e.A % n, 0}
	}
}

// running are the worlds in which all members are Synced, by size, eagerness, and whether there may be an arbitrator.
var running = func() (out [maxNodes + 1][2][2]World) {
	for n := 1; n <= maxNodes; n++ {
		for eager := range 2 {
			out[n][eager][0] = settle(New(n, eager == 1, false))
			if n < maxNodes {
				out[n][eager][1] = settle(New(n, eager == 1, true))
			}
		}
	}
	return out
}()

// settle lets a new world start, and writes a little on each member.
func settle(w World) World {
	if _, ok := w.Converge(plan.Plan); !ok || !w.arrived() {
		panic("model: the world does not start: " + w.truth.violation)
	}
	for i := range w.n {
		w.replicate(i, true)
	}
	w.refreshAll(0)
	return w
}

// world returns the world a schedule begins in, with the behaviour it sets for its participants.
func (s Schedule) world() World {
	w := start(s)
	w.publisher, w.careless, w.miscounts, w.hears, w.unmarked = s.Publisher, s.Careless, s.Miscounts, s.Hears, s.Unmarked
	w.gullible, w.noted, w.patient = s.Gullible, s.Noted, s.Patient
	return w
}

func start(s Schedule) World {
	if s.Fresh {
		return New(s.Members, s.Eager, s.Arbiter)
	}
	eager, arbiter := 0, 0
	if s.Eager {
		eager = 1
	}
	if s.Arbiter {
		arbiter = 1
	}
	return running[s.Members][eager][arbiter]
}

// places is how many members and arbitrators there may be.
func (s Schedule) places() int {
	if s.Arbiter {
		return s.Members + 1
	}
	return s.Members
}

// arbiters: one in so many schedules may have an arbitrator, with all weights.
const arbiters = 4

// Draw makes a schedule from a seed.
func Draw(seed uint64, length int) Schedule {
	in := allWeights[seed%uint64(len(allWeights))]
	if round := seed / uint64(len(allWeights)*arbiters); arbitrated(seed) && round%3 == 0 {
		in = arbitratorWeights[round/3%uint64(len(arbitratorWeights))]
	}
	return drawIn(in, seed, length, arbitrated(seed))
}

// arbitrated reports whether there may be an arbitrator in the schedule of the seed.
func arbitrated(seed uint64) bool { return seed/uint64(len(allWeights))%arbiters == 1 }

func drawIn(m scheduleWeights, seed uint64, length int, arbiter bool) Schedule {
	r := rand.New(rand.NewPCG(seed, 1))
	sizes := [...]int{3, 3, 3, 3, 3, 3, 2, 5, 4, 1}
	s := Schedule{Members: sizes[r.IntN(len(sizes))], Eager: r.IntN(2) == 0, Fresh: r.IntN(4) == 0}
	if arbiter {
		s.Members, s.Arbiter = [...]int{2, 2, 2, 4, 3}[r.IntN(5)], true
	}
	for range length {
		bits := r.Uint32()
		s.Events = append(s.Events, Event{m[r.IntN(len(m))], uint8(bits), uint8(bits >> 8)}.plain(s.Members, s.places()))
	}
	s.Hears, s.Stays = r.IntN(2) == 0, r.IntN(2) == 0
	return s
}

// Shrink makes a failing schedule shorter for as long as it breaks the same promise.
func Shrink(s Schedule, p Planner) Schedule {
	want := Run(s, p)
	s.Events = want.Effective
	for size := len(s.Events) / 2; size > 0; {
		removed := false
		for from := 0; from+size <= len(s.Events); {
			t := s
			t.Events = append(append([]Event(nil), s.Events[:from]...), s.Events[from+size:]...)
			if r := Run(t, p); r.Violation == want.Violation {
				s.Events, removed = r.Effective, true
				continue
			}
			from += size
		}
		if !removed {
			size /= 2
		}
	}
	return s
}
