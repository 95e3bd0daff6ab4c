package model

import (
	"testing"

	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/plan"
)

// Schedules about members that answer and cannot act, and about approvals.
var stuckRegressions = []regression{
	{"the only donor but the primary gives to a joiner whose volume is frozen, and another one waits for it", nil,
		frozenJoiner},
	{"an approved bootstrap is held up by a frozen volume, and another member is approved meanwhile", nil,
		Schedule{Members: 3, Eager: true, Hears: true, Stays: true, Events: []Event{
			{KillAll, 0, 0}, {Round, 0, 0}, {Protect, 2, 0}, {Round, 0, 0}, {Approve, 0, 0}, {Round, 0, 0}, {Round, 0, 0},
			{Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Freeze, 1, 0}, {Round, 0, 0}, {Round, 0, 0}, {Thaw, 1, 0},
			{Approve, 0, 0},
		}}},
	{"a pod is deleted whose image is still pulled", nil,
		Schedule{Members: 3, Hears: true, Events: []Event{
			{Tick, 0, 0}, {RareState, 2, 1}, {RareState, 2, 13}, {Write, 2, 0}, {Upgrade, 0, 0}, {Write, 1, 0}, {Round, 0, 0},
			{ReplaceCA, 4, 0}, {Round, 0, 0}, {Round, 0, 0}, {SaveStatus, 0, 0}, {Round, 0, 0}, {Write, 1, 0}, {Round, 0, 0},
			{Minute, 0, 0}, {Write, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Elapse, 0, 0}, {Unmute, 1, 0}, {Round, 0, 0},
			{Round, 0, 0}, {Tick, 0, 0}, {RareState, 1, 0}, {KillAgent, 1, 0}, {Round, 0, 0}, {Drain, 2, 0}, {LookAround, 0, 0},
			{Round, 0, 0},
		}}},
	{"a switch waits for a member whose image is pulled", nil,
		Schedule{Members: 4, Eager: true, Stays: true, Events: []Event{
			{Hibernate, 0, 0}, {RareState, 0, 13}, {Hibernate, 0, 0}, {Wipe, 0, 0}, {RareState, 0, 12}, {SwitchTLS, 0, 1},
			{Round, 0, 0},
		}}},
	{"the only node with data stays a donor, and another one never had a host", nil,
		Schedule{Members: 4, Eager: true, Fresh: true, Arbiter: true, Hears: true, Stays: true, Events: []Event{
			{Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Elapse, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Shatter, 0, 0},
			{NoHost, 2, 0}, {Swap, 2, 0}, {Round, 0, 0},
		}}},
	{"two operators of one wrong clock record the same time, one of them in vain", nil,
		Schedule{Members: 4, Eager: true, Fresh: true, Arbiter: true, Events: []Event{
			{Round, 0, 0}, {LookAround, 1, 0}, {Round, 0, 0}, {Round, 0, 0}, {Agent, 0, 0}, {Reconcile, 1, 0},
			{SetClock, 1, 2}, {Round, 0, 0}, {Round, 0, 0}, {SetClock, 0, 2}, {Reconcile, 1, 0}, {Partition, 3, 0},
			{Round, 0, 0}, {LookAround, 1, 0}, {Reconcile, 1, 0},
		}}},
	{"a member cannot start, and the one that is to be removed has been stopped", nil,
		Schedule{Members: 4, Eager: true, Hears: true, Stays: true, Events: []Event{
			{Scale, 0, 0}, {RareState, 0, 1}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {RareState, 0, 0},
		}}},
	{"an operator an hour behind records a loss, and the status goes back to that", nil,
		Schedule{Members: 4, Hears: true, Stays: true, Events: []Event{
			{Upgrade, 0, 0}, {Blur, 3, 0}, {KillAgent, 2, 0}, {LookAround, 1, 0}, {SetClock, 0, 2}, {Round, 0, 0},
			{SaveStatus, 0, 0}, {SeeStatus, 1, 0}, {Reconcile, 1, 0}, {RollBackStatus, 0, 0},
		}}},
	{"the status goes back to that of a hibernated cluster, while its members run", nil,
		Schedule{Members: 2, Eager: true, Arbiter: true, Hears: true, Events: []Event{
			{Hibernate, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0},
			{Round, 0, 0}, {Round, 0, 0}, {SaveStatus, 0, 0}, {Hibernate, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0},
			{Round, 0, 0}, {Hibernate, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {RollBackStatus, 0, 0},
		}}},
	{"the member of the latest line loses its last write, and cannot start", nil,
		Schedule{Members: 2, Eager: true, Arbiter: true, Hears: true, Stays: true, Events: []Event{
			{Shatter, 0, 0}, {KillServer, 1, 0}, {Round, 0, 0}, {Round, 0, 0}, {Minute, 0, 0}, {Round, 0, 0}, {Round, 0, 0},
			{RareState, 0, 11}, {Round, 0, 0}, {RareState, 0, 1},
		}}},
	{"a member that answers, is ahead and was given up: the agent that was ordered refuses", omitsMemberNames,
		Schedule{Members: 3, Hears: true, Events: []Event{
			{Drain, 0, 0}, {Agent, 0, 0}, {MachineAway, 0, 0}, {Drain, 1, 0}, {Agent, 1, 0}, {MachineAway, 1, 0}, {Write, 2, 0},
			{DamageBook, 2, 0},
			{MachineBack, 0, 0}, {MachineBack, 1, 0},
		}}},
	{"a server hangs, and the others crash", hungIsBusy,
		Schedule{Members: 3, Stays: true, Events: []Event{{Hang, 2, 0}, {Round, 0, 0}, {Round, 0, 0}, {KillServer, 0, 0},
			{KillServer, 1, 0}}}},
	{"one alone in a Primary component hangs, and goes on next to another one", leavesHung,
		Schedule{Members: 3, Events: []Event{
			{Drain, 0, 0}, {Round, 0, 0}, {Hang, 1, 0}, {Drain, 1, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0},
			{Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0},
			{Hang, 2, 0}, {Round, 0, 0}, {Round, 0, 0}, {Minute, 0, 0}, {Reconcile, 0, 0}, {Approve, 0, 0}, {Reconcile, 0, 0},
			{Round, 0, 0}, {Round, 0, 0},
		}}},
	{"a server that is to be ended first, and its agent goes silent", endsUnseen,
		Schedule{Members: 3, Events: []Event{
			{Drain, 2, 0}, {Round, 0, 0}, {Drain, 1, 0}, {Drain, 0, 0}, {Elapse, 0, 0}, {Round, 0, 0}, {Round, 0, 0},
			{Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0},
			{Round, 0, 0}, {Hang, 1, 0}, {Round, 0, 0}, {Round, 0, 0}, {Minute, 0, 0}, {Reconcile, 0, 0}, {Approve, 0, 0},
			{Round, 0, 0}, {Mute, 0, 1}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0},
		}}},
	{"a killed server that does not end is sent the operation in vain", ordersReadOnlyMember,
		Schedule{Members: 2, Hears: true, Stays: true, Events: []Event{{Freeze, 0, 0}, {Drain, 0, 0}, {Round, 0, 0}}}},
	{"an order book that cannot be read, and an examination that does not end", nil,
		Schedule{Members: 3, Eager: true, Stays: true, Events: []Event{{DamageBook, 0, 0}, {LookHangs, 0, 0},
			{KillAgent, 1, 0}, {Round, 0, 0}}}},
	{"who was to start the cluster is frozen in the middle of it", nil,
		Schedule{Members: 4, Fresh: true, Hears: true, Stays: true, Events: []Event{
			{Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0},
			{KillAll, 0, 0}, {Mute, 0, 2}, {Round, 0, 0},
			{Minute, 0, 0}, {Reconcile, 0, 0}, {Approve, 0, 0}, {Round, 0, 0}, {Mute, 0, 1}, {Freeze, 0, 0}, {Round, 0, 0},
			{Thaw, 0, 0}, {Minute, 0, 0}, {Reconcile, 0, 0}, {Approve, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0},
			{Round, 0, 0}, {Round, 0, 0}, {Freeze, 3, 0},
		}}},
	{"a leaver is down already, and another member is examined for ever", leaverStaysAway,
		Schedule{Members: 3, Eager: true, Stays: true, Events: []Event{
			{Scale, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Drain, 1, 0}, {LookHangs, 1, 0}, {Round, 0, 0}, {Round, 0, 0},
		}}},
	{"a hibernation with a frozen member, and with one that was killed and does not end", nil,
		Schedule{Members: 3, Eager: true, Stays: true, Events: []Event{
			{Freeze, 0, 0}, {Reconcile, 0, 0}, {Hibernate, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Deliver, 0, 0}, {Round, 0, 0},
			{HangHard, 2, 0}, {Round, 0, 0},
			{Round, 0, 0}, {Round, 0, 0},
		}}},
	{"an order that is over and whose end cannot be recorded makes the others refuse for ever", nil,
		Schedule{Members: 3, Hears: true, Stays: true, Events: []Event{
			{Blur, 1, 0}, {MachineAway, 0, 0}, {Round, 0, 0}, {Minute, 0, 0}, {Reconcile, 0, 0}, {Approve, 0, 0}, {Round, 0, 0},
			{Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0},
			{Protect, 2, 0}, {Freeze, 2, 0},
		}}},
	{"a killed server that does not end presents no certificate", nil,
		Schedule{Members: 2, Arbiter: true, Stays: true, Events: []Event{
			{Scale, 0, 0}, {HangHard, 1, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0},
			{KillAll, 0, 0}, {Round, 0, 0}, {Round, 0, 0},
			{ReplaceCA, 4, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0},
		}}},
	{"a killed server that does not end is in the middle of making the cluster Primary, and is given up", nil,
		Schedule{Members: 4, Eager: true, Arbiter: true, Hears: true, Stays: true, Events: []Event{
			{DamageBook, 3, 0}, {Hang, 0, 0}, {Protect, 2, 0}, {Partition, 3, 0}, {Round, 0, 0}, {Minute, 0, 0}, {Reconcile, 0,
				0}, {Approve, 0, 0}, {Round, 0, 0}, {Round, 0, 0},
			{Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {HangHard, 1, 0}, {KillServer, 1, 0},
		}}},
	{"a running node that is beyond the latest line is given up", nil,
		Schedule{Members: 3, Hears: true, Stays: true, Events: []Event{
			{Round, 0, 0}, {KillServer, 0, 0}, {LookAround, 1, 0}, {Reconcile, 1, 0}, {Round, 0, 0}, {KillPod, 2, 0},
			{Agent, 0, 0}, {Round, 0, 0}, {Round, 0, 0},
			{Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Write, 0, 0}, {KillServer, 1, 0},
		}}},
	{"a Stop of a hung node whose data are then checked without an end", nil,
		Schedule{Members: 5, Eager: true, Hears: true, Stays: true, Events: []Event{
			{KillPod, 1, 0}, {HangHard, 2, 0}, {KillServer, 3, 0}, {Hang, 0, 0}, {Protect, 4, 0}, {Round, 0, 0}, {LookHangs, 0,
				0}, {Minute, 0, 0}, {Reconcile, 0, 0}, {Approve, 0, 0},
			{Round, 0, 0}, {Round, 0, 0},
		}}},
}

func init() { regressions = append(regressions, stuckRegressions...) }

var frozenJoiner = Schedule{Members: 4, Arbiter: true, Hears: true, Stays: true, Events: []Event{
	{Partition, 3, 0}, {Round, 0, 0}, {Wipe, 3, 0}, {Round, 0, 0}, {Round, 0, 0}, {Freeze, 0, 0}, {Round, 0, 0},
	{Write, 2, 0}, {Round, 0, 0}, {Write, 3, 0}, {DamageBook, 1, 0},
}}

// TestPatientDonors: a donor that gives to a frozen joiner for ever holds up the next joiner.
func TestPatientDonors(t *testing.T) {
	s := frozenJoiner
	s.Patient = true
	if got := Run(s, plan.Plan).Violation; got != HeldUp {
		t.Errorf("violation %q, want %q", got, HeldUp)
	}
}

// leaverStaysAway waits for a member that cannot act, though the leaver is down.
func leaverStaysAway(s galera.Snapshot) plan.Decision {
	if _, ok := leaver(s); !ok {
		return plan.Plan(s)
	}
	return plan.Plan(members(s, func(m *galera.Member) { m.CannotAct = galera.Able }))
}
