package model

import (
	"slices"
	"testing"

	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/plan"
)

// Deliberate bugs about the arbitrator.
var arbitratorMutants = []mutant{
	{"an arbitrator that runs alone is not ended before a start", leavesArbitrator, leftAlone, []string{TwoPrimaries}},
	{"a silent arbitrator counts as gone at once", forgetsSilentArbitrator, leftAlone, []string{TwoPrimaries}},
	{"the arbitrator is restarted while a node is down", restartsArbitratorAtOnce, arbitratorWeights[0],
		[]string{ArbitratorTaken}},
	{"a node is restarted while the arbitrator is away", ignoresArbitrator, arbitratorWeights[0], []string{WithoutVote}},
	{"an arbitrator that runs with old settings is left alone", leavesStaleArbitrator, arbitratorWeights[0],
		[]string{Stuck}},
	{"a hibernation leaves the arbitrator", hibernatesWithoutArbitrator, arbitratorWeights[0], []string{Stuck}},
	{"strict sockets are published before the arbitrator is dynamic", strictForArbitrator, switches,
		[]string{Stuck, MixedMembership}},
	{"an arbitrator that is to go is waited for until it is brought up to date", waitsForUpdate, sizes, []string{Stuck}},
}

// arbitrator returns a copy of the snapshot whose arbitrator may be changed.
func arbitrator(s galera.Snapshot, change func(a *galera.Arbitrator)) galera.Snapshot {
	if s.Arbitrator != nil {
		a := *s.Arbitrator
		change(&a)
		s.Arbitrator = &a
	}
	return s
}

func leavesArbitrator(s galera.Snapshot) plan.Decision {
	if forming(s) {
		s.Arbitrator = nil
	}
	return plan.Plan(s)
}

func forgetsSilentArbitrator(s galera.Snapshot) plan.Decision {
	if forming(s) && s.Arbitrator != nil && !s.Arbitrator.Known {
		s.Arbitrator = nil
	}
	return plan.Plan(s)
}

func restartsArbitratorAtOnce(s galera.Snapshot) plan.Decision {
	if a := s.Arbitrator; a != nil && a.Wanted && a.RestartNeeded && !noPrimary(s) && !s.Hibernate {
		return plan.Decision{Action: plan.SendOrder{Member: a.Name, ID: a.Process, Epoch: s.Epoch, Kind: plan.OrderRestart}}
	}
	return plan.Plan(s)
}

func ignoresArbitrator(s galera.Snapshot) plan.Decision {
	return plan.Plan(arbitrator(s, func(a *galera.Arbitrator) { a.Counted = a.Known }))
}

func leavesStaleArbitrator(s galera.Snapshot) plan.Decision {
	return plan.Plan(arbitrator(s, func(a *galera.Arbitrator) { a.RestartNeeded = false }))
}

func hibernatesWithoutArbitrator(s galera.Snapshot) plan.Decision {
	if s.Hibernate {
		s.Arbitrator = nil
	}
	return plan.Plan(s)
}

func strictForArbitrator(s galera.Snapshot) plan.Decision {
	if s.Operation == nil || s.Operation.Type != galera.OpSwitchTLS {
		return plan.Plan(s)
	}
	return plan.Plan(arbitrator(s, func(a *galera.Arbitrator) {
		a.RestartNeeded, a.LinksVerified = false, true
		if a.Process != "" {
			a.Running = s.Published
		}
	}))
}

// waitsForUpdate takes one that is to go for one of an earlier template as long as the nodes are.
func waitsForUpdate(s galera.Snapshot) plan.Decision {
	return plan.Plan(arbitrator(s, func(a *galera.Arbitrator) { a.Counted = a.Counted && (a.Wanted || !a.Outdated) }))
}

// waitsFor decides nothing where the arbitrator used to be waited for that could not come.
func waitsFor(when func(s galera.Snapshot, a plan.Action) bool) Planner {
	return func(s galera.Snapshot) plan.Decision {
		d := plan.Plan(s)
		if s.Arbitrator != nil && d.Action != nil && when(s, d.Action) {
			return plan.Decision{}
		}
		return d
	}
}

func removes(a plan.Action) bool { _, ok := a.(plan.RemoveArbitrator); return ok }

var (
	keepsArbitratorOfOne = waitsFor(func(s galera.Snapshot, a plan.Action) bool {
		return removes(a) &&
			len(s.Members) == 1
	})
	keepsArbitratorAsleep = waitsFor(func(s galera.Snapshot, a plan.Action) bool {
		return removes(a) &&
			len(s.Members) > s.Replicas
	})
	waitsWithOneNode = waitsFor(func(s galera.Snapshot, _ plan.Action) bool {
		return len(s.Members) == 1 && s.Arbitrator.Wanted && !s.Arbitrator.Counted && s.Operation != nil &&
			s.Operation.Type == galera.OpSwitchTLS && len(outdatedOnes(s)) > 0
	})
	waitsInLeave = waitsFor(func(s galera.Snapshot, _ plan.Action) bool {
		m, ok := leaver(s)
		return ok && m.Phase == galera.PhaseStopped && s.Arbitrator.Outdated
	})
	waitsWithDonor = waitsFor(func(s galera.Snapshot, _ plan.Action) bool {
		return !s.Arbitrator.Counted && slices.ContainsFunc(s.Members, func(m galera.Member) bool { return m.StuckDonor })
	})
	leavesRestarted = waitsFor(func(s galera.Snapshot, _ plan.Action) bool { return s.Hibernate && s.Hibernated })
)

func outdatedOnes(s galera.Snapshot) []galera.Member {
	return keep(s, func(m galera.Member) bool { return m.RestartNeeded || m.Pod.Outdated }).Members
}

// TestArbitratorsVote: two nodes and an arbitrator go on without one of the three, and a write is acknowledged by who
// is left; no two of them are missed. Without data nothing is begun.
func TestArbitratorsVote(t *testing.T) {
	for _, loss := range []Kind{KillServer, KillAgent, KillPod, MachineAway, Drain} {
		for lost := range uint8(3) {
			w := start(Schedule{Members: 2, Arbiter: true})
			w.Step(Event{loss, lost, 0}, plan.Plan)
			w.Step(Event{Agent, lost, 0}, plan.Plan)
			for i := range uint8(3) {
				w.Step(Event{Regroup, i, 0}, plan.Plan)
			}
			for i := range 2 {
				if int(lost) != i && !w.replicate(i, true) {
					t.Errorf("%s of %d: member %d cannot write\n%s", kindNames[loss], lost, i, w.String())
				}
			}
		}
	}
	for side := range uint8(3) {
		w := start(Schedule{Members: 2, Arbiter: true})
		w.Step(Event{Partition, 1 << side, 0}, plan.Plan)
		w.elapse()
		for i := range 2 {
			if got, want := w.serves(i), int(side) != i; got != want {
				t.Errorf("%d cut off: member %d serves: %t\n%s", side, i, got, w.String())
			}
		}
		if v := w.nodes[2].srv.view; v.primary && side == 2 {
			t.Errorf("the arbitrator alone went on: %+v", v)
		}
		if w.Violation() != "" {
			t.Error(w.Violation())
		}
	}
}
