package model

func init() { regressions = append(regressions, arbitratorRegressions...) }

// What was found when the arbitrator came into the model.
var arbitratorRegressions = []regression{
	{"one node is left, and its arbitrator stays", keepsArbitratorOfOne, pairOf(Event{Scale, 0, 0})},
	{"an arbitrator that is to go is of an earlier template", waitsForUpdate,
		pairOf(Event{Scale, 0, 0}, Event{Upgrade, 0, 0})},
	{"an arbitrator is not wanted any more when a hibernation ends", keepsArbitratorAsleep,
		pairOf(Event{Hibernate, 0, 0}, Event{Scale, 0, 0})},
	{"one node in the middle of a switch is to become two and an arbitrator", waitsWithOneNode, pairOf(
		Event{Scale, 0, 0}, Event{Round, 0, 0}, Event{Round, 0, 0}, Event{Round, 0, 0}, Event{Round, 0, 0},
		Event{SwitchTLS, 0, 0},
		Event{Round, 0, 0}, Event{Round, 0, 0}, Event{Round, 0, 0}, Event{Scale, 1, 0})},
	{"a node has stopped to leave, and then the arbitrator is to be replaced", waitsInLeave,
		Schedule{Members: 3, Eager: true, Arbiter: true, Events: []Event{
			{Scale, 1, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Upgrade, 0, 0},
		}}},
	{"a donor for ever before the arbitrator was ever started", waitsWithDonor,
		Schedule{Members: 4, Eager: true, Fresh: true, Arbiter: true, Events: []Event{
			{Round, 0, 0}, {LookAround, 1, 0}, {Reconcile, 1, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0},
			{Shatter, 0, 0}, {Regroup, 0, 0}, {KillPod, 3, 0},
		}}},
	{"an earlier leader starts the arbitrator of a hibernated cluster", leavesRestarted, pairOf(
		Event{Round, 0, 0}, Event{LookAround, 1, 0}, Event{Hibernate, 0, 0}, Event{Round, 0, 0}, Event{Round, 0, 0},
		Event{Round, 0, 0},
		Event{Round, 0, 0}, Event{Round, 0, 0}, Event{SeePod, 1, 2}, Event{Round, 0, 0}, Event{Round, 0, 0},
		Event{Reconcile, 1, 0})},
	{"an arbitrator's Deployment is gone, and its pod is not yet", nil, pairOf(
		Event{KillPod, 0, 0}, Event{Round, 0, 0}, Event{Drain, 2, 0}, Event{Upgrade, 0, 0}, Event{Round, 0, 0},
		Event{Round, 0, 0}, Event{Round, 0, 0}, Event{Round, 0, 0}, Event{Round, 0, 0}, Event{Elapse, 0, 0},
		Event{Round, 0, 0}, Event{Round, 0, 0}, Event{Round, 0, 0}, Event{Scale, 0, 0}, Event{ReplaceCA, 3, 0},
		Event{Round, 0, 0}, Event{Round, 0, 0}, Event{Round, 0, 0}, Event{Elapse, 0, 0}, Event{Round, 0, 0},
		Event{Round, 0, 0}, Event{Round, 0, 0}, Event{Round, 0, 0}, Event{Round, 0, 0}, Event{Round, 0, 0},
		Event{Round, 0, 0}, Event{LookAround, 0, 0}, Event{CrashBeforeStatus, 0, 0})},
	{"a CA comes back, and reports are of the time before it went", nil, pairOf(
		Event{Hibernate, 0, 0}, Event{Round, 0, 0}, Event{Round, 0, 0}, Event{Hibernate, 0, 0}, Event{ReplaceCA, 5, 0},
		Event{Round, 0, 0},
		Event{Partition, 2, 0}, Event{Round, 0, 0}, Event{Load, 1, 0}, Event{Load, 0, 0}, Event{LookAround, 1, 0},
		Event{Partition, 0, 0},
		Event{Round, 0, 0}, Event{ReplaceCA, 0, 0}, Event{Round, 0, 0}, Event{SeeSecrets, 1, 0}, Event{Reconcile, 1, 0})},
	{"an earlier leader's order comes after the one that announces a leave", announcesLeaveOnce,
		Schedule{Members: 3, Eager: true, Arbiter: true, Events: []Event{
			{SwitchTLS, 0, 1}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {LookAround, 1, 0}, {SwitchTLS, 0, 0},
			{Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Scale, 1, 0}, {Round, 0, 0}, {KillAgent, 2, 0}, {Round, 0, 0},
			{Round, 0, 0}, {Round, 0, 0},
			{Round, 0, 0}, {SeeStatus, 1, 0}, {Round, 0, 0}, {CrashBeforeStatus, 1, 0},
		}}},
	{"nodes that are behind meet the arbitrator and one that is still given the data", nil,
		Schedule{Members: 4, Arbiter: true, Events: []Event{
			{Partition, 0b01100, 0}, {Round, 0, 0}, {Write, 0, 0}, {Wipe, 1, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0},
			{Partition, 0b11110, 0}, {Round, 0, 0},
		}}},
	{"nodes that are behind meet two that are still given the data", nil,
		Schedule{Members: 5, Events: []Event{
			{Partition, 0b11000, 0}, {Round, 0, 0}, {Write, 0, 0}, {Wipe, 1, 0}, {Round, 0, 0}, {Round, 0, 0}, {Elapse, 0, 0},
			{Wipe, 2, 0},
			{Regroup, 0, 0}, {Kubelet, 2, 0}, {Agent, 2, 0}, {Agent, 2, 0}, {Agent, 2, 0}, {Partition, 0b11110, 0},
			{Round, 0, 0},
		}}},
}

// pairOf is a schedule of two members and an arbitrator.
func pairOf(events ...Event) Schedule { return Schedule{Members: 2, Arbiter: true, Events: events} }
