package model

import (
	"slices"

	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/plan"
)

// Schedules of bugs that a search by chance finds late, one of them after 85,000 schedules. They are tried first.
var rareRegressions = []regression{
	{"a restart is cut off by a crash in the middle of a statement, and its order comes twice", awaitsCutRestarts,
		Schedule{Members: 3, Eager: true, Hears: true, Events: []Event{
			{KillAgent, 2, 0}, {AskRestart, 5, 0}, {Round, 0, 0}, {Elapse, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0},
			{Duplicate, 0, 0},
			{CutAlter, 1, 1}, {AskRestart, 1, 0},
		}}},
	{"an approval that is still there, and an old volume in the place of the only one that has gone on", trustsForever,
		Schedule{Members: 4, Hears: true, Stays: true, Events: []Event{
			{MachineAway, 0, 0}, {Round, 0, 0}, {DamageBook, 2, 0}, {KillAll, 0, 0}, {Drain, 3, 0}, {Round, 0, 0}, {Minute, 0,
				0}, {Reconcile, 0, 0}, {Approve, 0, 0}, {Round, 0, 0},
			{Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Write, 3, 0}, {Swap, 3, 0},
			{MachineAway, 1, 0},
		}}},
	{"the status goes back, and the same epoch is approved again on another member", forgetsLines,
		Schedule{Members: 3, Events: []Event{
			{SaveStatus, 0, 0}, {MachineAway, 1, 0}, {MachineAway, 2, 0}, {KillAll, 0, 0}, {Round, 0, 0}, {Round, 0, 0},
			{Round, 0, 0}, {Round, 0, 0}, {Minute, 0, 0}, {Reconcile, 0, 0}, {Approve, 0, 0}, {Round, 0, 0}, {Round, 0, 0},
			{Round, 0, 0}, {Round, 0, 0},
			{Round, 0, 0}, {Round, 0, 0}, {Write, 0, 0}, {Write, 0, 0}, {Write, 0, 0},
			{MachineAway, 0, 0}, {RollBackStatus, 0, 0}, {MachineBack, 1, 0}, {MachineBack, 2, 0}, {Round, 0, 0},
			{Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Minute, 0, 0}, {Reconcile, 0, 0}, {Approve, 0, 0}, {Round, 0, 0},
			{Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0},
			{Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Write, 1, 0},
			{KillAll, 0, 0}, {MachineBack, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0},
			{Round, 0, 0},
		}}},
	{"an approval of a volume that was swapped since, and a lost status", trustsAnyPosition,
		Schedule{Members: 2, Eager: true, Hears: true, Stays: true, Events: []Event{
			{Blur, 1, 0}, {Round, 0, 0}, {Minute, 0, 0}, {Reconcile, 0, 0}, {Approve, 0, 0}, {LoseStatus, 0, 0}, {Swap, 0, 0},
			{Round, 0, 0},
		}}},
	{"a node whose stop is awaited by a switch is drained, and finds no host", awaitsUnplaced,
		Schedule{Members: 4, Stays: true, Events: []Event{
			{CrashBeforeStatus, 0, 0}, {SwitchTLS, 0, 1}, {NoHost, 1, 0}, {Round, 0, 0}, {Drain, 1, 0}, {Round, 0, 0},
			{Round, 0, 0}, {Round, 0, 0},
		}}},
	{"the first node ends as its history is recorded, and finds no host", awaitsFirstStart,
		Schedule{Members: 3, Eager: true, Fresh: true, Stays: true, Events: []Event{
			{Round, 0, 0}, {SeeStatus, 0, 0}, {Reconcile, 0, 0}, {NoHost, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0},
			{Agent, 1, 0},
			{Mute, 0, 1}, {Elapse, 0, 0}, {KillPod, 0, 0}, {Round, 0, 0},
		}}},
	{"one node is stopped to leave, and another finds no host", removesWhileAway,
		Schedule{Members: 5, Stays: true, Events: []Event{
			{Scale, 1, 0}, {Round, 0, 0}, {Round, 0, 0}, {MachineAway, 1, 0}, {NoHost, 1, 0}, {MachineBack, 1, 0}, {Round, 0, 0},
			{MachineAway, 4, 0},
		}}},
	{"a hibernated cluster is to wake, and one that was stopped last cannot start", ordersTheUnable,
		Schedule{Members: 2, Eager: true, Arbiter: true, Stays: true, Events: []Event{
			{Hibernate, 0, 0}, {Round, 0, 0}, {Blur, 1, 0}, {KillAgent, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0},
			{Hibernate, 0, 0}, {RareState, 0, 1},
		}}},
	{"the pod of the first node is replaced by one whose image lacks tools", ignoresTools,
		Schedule{Members: 2, Fresh: true, Arbiter: true, Hears: true, Stays: true, Events: []Event{
			{Round, 0, 0}, {KillPod, 0, 0}, {RareState, 0, 4}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0},
		}}},
	{"data that were voted out were given up once, and a second recovery begins behind them", forgetsDiffering,
		Schedule{Members: 3, Hears: true, Events: []Event{
			{MachineAway, 2, 0}, {Round, 0, 0}, {RareState, 0, 0}, {Minute, 0, 0}, {RareState, 1, 11}, {Round, 0, 0},
			{Approve, 0, 0},
			{Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {KillAll, 0, 0},
		}}},
	{"two members are away, and the one that is there was not among the last", rebuildsBlind,
		Schedule{Members: 3, Stays: true, Events: []Event{
			{KillServer, 2, 0}, {Round, 0, 0}, {Write, 0, 0}, {MachineAway, 1, 0}, {Agent, 2, 0}, {MachineAway, 0, 0},
			{Round, 0, 0}, {Round, 0, 0},
		}}},
	{"a member loses its position whenever it is stopped, and a switch by re-bootstrap is wanted", forgetsAbandoned,
		Schedule{Members: 3, Hears: true, Stays: true, Events: []Event{
			{RareState, 1, uint8(forgetful)}, {SwitchTLS, 0, 1}, {Round, 0, 0},
		}}},
	{"data that were voted out are ahead of all but a member that cannot start", overlooksDiffering,
		Schedule{Members: 3, Hears: true, Stays: true, Events: []Event{
			{Partition, 2, 0}, {RareState, 1, uint8(forgetful)}, {Round, 0, 0}, {RareState, 2, uint8(voted)},
			{RareState, 1, uint8(noCertificate)}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0},
			{RareState, 0, uint8(flushedLate)},
		}}},
	{"an image is pulled throughout two losses of the Primary component", nil,
		Schedule{Members: 3, Eager: true, Stays: true, Events: []Event{
			{RareState, 1, uint8(noCertificate)}, {Blur, 2, 0}, {Round, 0, 0}, {RareState, 1, uint8(laterData)},
			{RareState, 1, uint8(voted)}, {Round, 0, 0}, {Approve, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0},
			{RareState, 2, uint8(slowImage)}, {Round, 0, 0}, {Round, 0, 0}, {KillPod, 2, 0}, {Round, 0, 0}, {Agent, 1, 0},
			{Shatter, 0, 0}, {Round, 0, 0}, {CrashOperator, 0, 0},
		}}},
}

// awaitsUnplaced waits in a switch by re-bootstrap for nodes that have no host, as earlier planners did.
func awaitsUnplaced(s galera.Snapshot) plan.Decision {
	if s.Operation == nil || s.Operation.Type != galera.OpSwitchTLS {
		return plan.Plan(s)
	}
	return plan.Plan(members(s, func(m *galera.Member) { m.Pod.Waiting, m.SilentFor = false, 0 }))
}

// removesWhileAway continues with a removal while another node is away, as earlier planners did.
func removesWhileAway(s galera.Snapshot) plan.Decision {
	if s.Operation == nil || s.Operation.Type != galera.OpScaleDown {
		return plan.Plan(s)
	}
	return plan.Plan(members(s, func(m *galera.Member) { m.Pod.Waiting, m.SilentFor = false, 0 }))
}

// awaitsFirstStart continues with a first start after the history was recorded, as earlier planners did.
func awaitsFirstStart(s galera.Snapshot) plan.Decision {
	if s.Operation != nil && s.Operation.Type == galera.OpFirstStart {
		s.ClusterUUID = ""
	}
	return plan.Plan(s)
}

// forgetsDiffering asks for no approval of what was voted out, if that is of an earlier line.
func forgetsDiffering(s galera.Snapshot) plan.Decision {
	last := int64(0)
	for _, m := range s.Members {
		last = max(last, m.Line)
	}
	return plan.Plan(members(s, func(m *galera.Member) {
		if m.VotedOut && m.Line < last {
			m.Position.Seqno = 1
		}
	}))
}

// overlooksDiffering does not give voted-out data up that only a member that cannot start has reached, too, as earlier
// planners did.
func overlooksDiffering(s galera.Snapshot) plan.Decision {
	d := plan.Plan(s)
	send, ok := d.Action.(plan.SendOrder)
	if !ok || send.Kind != plan.OrderBootstrap {
		return d
	}
	send.GivenUp = slices.DeleteFunc(slices.Clone(send.GivenUp), func(name string) bool {
		m, _ := s.Member(name)
		return m.VotedOut
	})
	d.Action = send
	return d
}

func init() { regressions = append(regressions, rareRegressions...) }
