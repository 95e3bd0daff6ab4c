package model

import (
	"slices"
	"time"

	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/plan"
)

// Deliberate bugs about members that answer and cannot act, and about approvals.
var stuckMutants = []mutant{
	{"a member that hangs counts as busy", hungIsBusy, stuck, []string{HeldUp}},
	{"a volume that refuses writes is not noticed", cannotWriteIsFine, stuck, []string{HeldUp}},
	{"a member that cannot write an order is ordered all the same", ordersReadOnlyMember, stuck, []string{HeldUp}},
	{"the order does not name who was given up", omitsMemberNames, stuck, []string{HeldUp, Stuck}},
	{"a server that hangs is not ended before another one starts", leavesHung, stuckAlone, []string{TwoPrimaries}},
	{"an approval to end a server counts when its agent is silent", endsUnseen, stuckAlone, []string{TwoPrimaries}},
	{"an agent that may just be starting is given up", asksAtOnce, disks, []string{Hasty}},
	{"a wait for agents is not reported", waitsUnreported, places, []string{Unreported}},
	{"a member that never had a host is waited for", waitsForUnplaced, places, []string{NeverRan}},
	{"a member without a host counts as empty, whatever it held", forgetsUnplaced, places,
		[]string{LostWrite, Unapproved, BehindAnother}},
}

func init() { mutants = append(mutants, stuckMutants...) }

// stuckAlone: nodes that leave in good order, and the last one hangs, goes unheard, and goes on.
var stuckAlone = only(map[Kind]int{
	Round: 40, Drain: 12, Hang: 10, Thaw: 4, Elapse: 10, Approve: 20, Write: 6, LookAround: 10, Reconcile: 10, Deliver: 10,
	Mute: 4, Unmute: 2, KillServer: 4, KillPod: 2, Minute: 8})

func asksAtOnce(s galera.Snapshot) plan.Decision {
	return plan.Plan(members(s, func(m *galera.Member) {
		if !m.Known {
			m.SilentFor = time.Hour
		}
	}))
}

func waitsUnreported(s galera.Snapshot) plan.Decision {
	d := plan.Plan(s)
	d.Blocked = d.Blocked && d.Reason != plan.ReasonWaitingForMembers
	return d
}

func waitsForUnplaced(s galera.Snapshot) plan.Decision {
	return plan.Plan(members(s, func(m *galera.Member) { m.Unplaced = false }))
}

func forgetsUnplaced(s galera.Snapshot) plan.Decision {
	return plan.Plan(members(s, func(m *galera.Member) {
		if m.Pod.Waiting {
			m.Unplaced, m.HeldData = true, false
		}
	}))
}

func hungIsBusy(s galera.Snapshot) plan.Decision {
	return plan.Plan(members(s, func(m *galera.Member) {
		if m.CannotAct == galera.Hung {
			m.CannotAct = galera.Able
		}
	}))
}

func cannotWriteIsFine(s galera.Snapshot) plan.Decision {
	return plan.Plan(members(s, func(m *galera.Member) {
		if m.CannotAct == galera.ReadOnly || m.CannotAct == galera.Frozen {
			m.CannotAct = galera.Able
		}
	}))
}

func ordersReadOnlyMember(s galera.Snapshot) plan.Decision {
	d := plan.Plan(s)
	o, ok := d.Action.(plan.SendOrder)
	if !ok || o.Kind != plan.OrderBootstrap && o.Kind != plan.OrderRebuildQuorum {
		return d
	}
	for _, m := range s.Members {
		if m.Known && !m.BookDamaged && !m.Records() && (m.Order == nil || m.Order.Epoch < o.Epoch) {
			return plan.Decision{Action: plan.SendOrder{Member: m.Name, ID: s.Operation.ID + "/" + m.Name + "/start",
				Epoch: o.Epoch, Kind: plan.OrderStart}}
		}
	}
	return d
}

func omitsMemberNames(s galera.Snapshot) plan.Decision {
	d := plan.Plan(s)
	if o, ok := d.Action.(plan.SendOrder); ok {
		o.GivenUp = nil
		d.Action = o
	}
	return d
}

func leavesHung(s galera.Snapshot) plan.Decision {
	return plan.Plan(members(s, func(m *galera.Member) {
		if m.CannotAct == galera.Hung {
			m.CannotAct = galera.Killed
		}
	}))
}

func endsUnseen(s galera.Snapshot) plan.Decision {
	if s.Approval != nil {
		t := *s.Approval
		t.Without = slices.Concat(t.Without, t.Running)
		s.Approval = &t
	}
	return plan.Plan(s)
}
