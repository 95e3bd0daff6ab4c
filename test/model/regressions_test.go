package model

import (
	"testing"

	"github.com/galera-operator/galera-operator/internal/plan"
)

// regression is a schedule that once broke a promise. The mutant brings the bug back, so that
// the schedule is known to be able to fail.
type regression struct {
	name   string
	mutant Planner
	Schedule
}

// TestRegressions runs the schedules of bugs that were found, with the planner as it is and with
// the bug brought back.
func TestRegressions(t *testing.T) {
	for _, r := range regressions {
		t.Run(r.name, func(t *testing.T) {
			if got := Run(r.Schedule, plan.Plan); got.Violation != "" {
				t.Errorf("%s\n%s", got.Violation, Trace(r.Schedule, plan.Plan, 20))
			}
			if r.mutant == nil {
				return
			}
			if got := Run(r.Schedule, r.mutant); got.Violation == "" {
				t.Errorf("the schedule does not show the bug any more\n%s", Trace(r.Schedule, r.mutant, 20))
			}
		})
	}
}

var regressions = []regression{
	{"the only member that has gone on from marked data hangs, and is given up", nil,
		Schedule{Members: 3, Events: []Event{
			{Shatter, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0},
			{Round, 0, 0}, {Round, 0, 0},
			{Round, 0, 0}, {Round, 0, 0}, {CutAlter, 1, 1}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0},
			{Round, 0, 0}, {Round, 0, 0},
			{Round, 0, 0}, {HangHard, 0, 0}, {Round, 0, 0}, {Minute, 0, 0}, {Reconcile, 0, 0}, {Approve, 0, 0}, {Round, 0, 0},
			{Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0},
		}}},
	{"a joiner that waits for its copy of marked data loses the component", nil,
		Schedule{Members: 3, Events: []Event{{CutAlter, 3, 2}, {Agent, 1, 0}, {Agent, 1, 0}, {KillServer, 2, 0}}}},
	{"a donor without a joiner is restarted while the others catch up", nil,
		Schedule{Members: 3, Eager: true, Hears: true, Events: []Event{
			{Wipe, 1, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Partition, 6, 0}, {Round, 0, 0}, {Heal, 0, 0},
			{Round, 0, 0}, {Round, 0, 0},
			{Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Write, 0, 0}, {LookAround, 1, 0}, {CrashBeforeStatus, 1, 0},
		}}},
	{"earlier leaders end a node's turn for two configurations, and it shows the one it does not want", nil,
		Schedule{Members: 3, Events: []Event{
			{Round, 0, 0}, {SwitchTLS, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {KillAgent, 2, 0}, {Round, 0, 0},
			{Round, 0, 0},
			{Elapse, 0, 0}, {LookAround, 1, 0}, {SwitchTLS, 0, 0}, {Round, 0, 0}, {CrashBeforeStatus, 0, 0}, {Reconcile, 1, 0},
			{LookAround, 1, 0},
			{Reconcile, 1, 0},
		}}},
	{"in its turn a node is restarted for one configuration, for another one, and for the first one again", restartsTwice,
		Schedule{Members: 5, Eager: true, Events: []Event{
			{SwitchTLS, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Configure, 0, 0}, {SwitchTLS, 0, 0},
			{SwitchTLS, 0, 0},
			{Configure, 0, 0}, {SwitchTLS, 0, 1}, {Configure, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Configure, 0, 0},
			{SwitchTLS, 0, 1},
			{Round, 0, 0}, {SwitchTLS, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {SwitchTLS, 0, 1},
		}}},
	{"a node restarts by itself in its turn, and an earlier leader's order comes in the next one's", leavesTurn,
		Schedule{Members: 4, Eager: true, Events: []Event{
			{SwitchTLS, 0, 0}, {CrashBeforeStatus, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {LookAround, 1, 0},
			{KillAgent, 2, 0}, {Round, 0, 0},
			{Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Reconcile, 1, 0}, {CrashBeforeStatus, 0, 0}, {Write, 2, 0},
			{Deliver, 2, 0},
		}}},
	{"a lost status, and a foreign volume next to data whose order book cannot be read", adoptsReadable,
		Schedule{Members: 3, Fresh: true, Events: []Event{
			{Round, 0, 0}, {LookAround, 1, 0}, {Reconcile, 1, 0}, {Round, 0, 0}, {Mute, 0, 0}, {Round, 0, 0}, {LoseStatus, 0, 0},
			{Round, 0, 0},
			{DamageBook, 0, 0}, {Wipe, 1, 0}, {Swap, 2, 0},
		}}},
	{"of two donors for ever the second is restarted, too, though the first is not back", nil,
		Schedule{Members: 4, Eager: true, Fresh: true, Events: []Event{
			{Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Blur, 2, 0}, {Round, 0, 0}, {Round, 0, 0},
			{Round, 0, 0}, {Partition, 3, 0},
			{Round, 0, 0}, {Partition, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Partition, 2, 0}, {Round, 0, 0}, {KillAgent, 3, 0},
		}}},
	{"an operator that knows of the nodes what was so before a whole switch publishes nothing", believesOldReports,
		Schedule{Members: 3, Events: []Event{
			{Reconcile, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {LookAround, 1, 0},
			{Round, 0, 0}, {Round, 0, 0},
			{Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {SwitchTLS, 0, 0},
			{Round, 0, 0}, {Round, 0, 0},
			{Elapse, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Elapse, 0, 0}, {Elapse, 0, 0}, {Round, 0, 0}, {Round, 0, 0},
			{Round, 0, 0}, {Elapse, 0, 0},
			{Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Elapse, 0, 0}, {Round, 0, 0},
			{Round, 0, 0}, {Round, 0, 0},
			{Elapse, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {ReplaceCA, 4, 0}, {Round, 0, 0}, {Round, 0, 0}, {Write, 1, 0},
			{Round, 0, 0}, {Round, 0, 0},
			{Round, 0, 0}, {Write, 2, 0}, {Round, 0, 0}, {Round, 0, 0}, {ReplaceCA, 2, 0}, {Round, 0, 0}, {Round, 0, 0},
			{SeeStatus, 1, 0}, {Round, 0, 0},
			{Round, 0, 0}, {Round, 0, 0}, {ReplaceCA, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Reconcile, 1, 0},
		}}},
	{"members that were all heard to be down at different times are not all down", omitsEpoch,
		Schedule{Members: 3, Events: []Event{
			{Elapse, 0, 0}, {KillServer, 0, 0}, {Hear, 0, 0}, {Elapse, 0, 0}, {Elapse, 0, 0}, {Elapse, 0, 0}, {KillServer, 1, 0},
			{Hear, 0, 1},
			{Elapse, 0, 0}, {Elapse, 0, 0}, {Elapse, 0, 0}, {Write, 2, 0}, {KillServer, 2, 0}, {Hear, 0, 2}, {Reconcile, 0, 0},
			{SeeStatus, 0, 0},
			{Reconcile, 0, 0}, {Regroup, 0, 0}, {Deliver, 0, 0}, {Agent, 2, 0},
		}}},
	{"the same, with the choice believed that the journal holds", believesJournal,
		Schedule{Members: 3, Eager: true, Events: []Event{
			{Drain, 1, 0}, {KillServer, 2, 0}, {Hear, 0, 2}, {Elapse, 0, 0}, {Elapse, 0, 0}, {Write, 2, 0}, {KillServer, 0, 0},
			{SeePod, 0, 1},
			{Hear, 0, 0}, {Hear, 0, 1}, {Reconcile, 0, 0}, {SeeStatus, 0, 0}, {Reconcile, 0, 0},
		}}},
	{"parts find each other while quorum is rebuilt", leavesApart,
		Schedule{Members: 3, Eager: true, Events: []Event{
			{Shatter, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0},
			{Round, 0, 0},
			{Partition, 6, 0}, {Elapse, 0, 0},
		}}},
	{"a member of an earlier line comes back with a higher seqno", ignoresLine,
		Schedule{Members: 3, Eager: true, Events: []Event{
			{KillAll, 0, 0}, {MachineAway, 1, 0}, {Mute, 0, 2}, {Round, 0, 0}, {Minute, 0, 0}, {Reconcile, 0, 0}, {Approve, 0,
				0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0},
			{Round, 0, 0}, {Write, 0, 0}, {KillAll, 0, 0},
		}}},
	{"an approval is used a second time", trustsForever,
		Schedule{Members: 3, Eager: true, Events: []Event{
			{Shatter, 0, 0}, {MachineAway, 2, 0}, {Round, 0, 0}, {Minute, 0, 0}, {Reconcile, 0, 0}, {Approve, 0, 0}, {Round, 0,
				0}, {Round, 0, 0}, {Heal, 0, 0}, {Mute, 0, 1},
			{Round, 0, 0}, {Write, 1, 0}, {KillAll, 0, 0}, {Round, 0, 0}, {Round, 0, 0},
		}}},
	{"an approval that was not needed is used later", leavesApproval,
		Schedule{Members: 2, Events: []Event{
			{KillAll, 0, 0}, {Round, 0, 0}, {Drain, 1, 0}, {Round, 0, 0}, {Minute, 0, 0}, {Reconcile, 0, 0}, {Approve, 0, 0},
			{Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0},
			{Mute, 0, 1}, {Round, 0, 0}, {Wipe, 1, 0},
		}}},
	{"an approval outlives the disk it was given for", trustsForever,
		Schedule{Members: 3, Eager: true, Fresh: true, Events: []Event{
			{Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Blur, 2, 0}, {MachineAway, 0, 0},
			{Save, 0, 0},
			{MachineBack, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {MachineAway, 1, 0}, {Round, 0, 0}, {Minute, 0, 0}, {Reconcile,
				0, 0}, {Approve, 0, 0}, {Round, 0, 0}, {Round, 0, 0},
			{Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Write, 0, 0}, {Round, 0, 0}, {KillAll, 0, 0}, {RollBack, 0, 0},
			{Round, 0, 0},
			{Round, 0, 0}, {Round, 0, 0},
		}}},
	{"an approval given for another attempt, and the missing member is Primary", leavesApproval,
		Schedule{Members: 2, Events: []Event{
			{Round, 0, 0}, {Partition, 1, 0}, {KillAgent, 0, 0}, {KillAgent, 1, 0}, {Round, 0, 0}, {Mute, 0, 0}, {Round, 0, 0},
			{Minute, 0, 0}, {Reconcile, 0, 0}, {Approve, 0, 0},
			{Unmute, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Mute, 0, 0}, {Round, 0, 0},
			{Write, 0, 0},
			{Round, 0, 0}, {Blur, 0, 0},
		}}},
	{"the approved member ties with one that came back", nil,
		Schedule{Members: 3, Events: []Event{
			{Swap, 2, 0}, {Apply, 0, 0}, {KillServer, 1, 0}, {MachineAway, 0, 0}, {Round, 0, 0}, {Minute, 0, 0}, {Reconcile, 0,
				0}, {Approve, 0, 0}, {Round, 0, 0},
		}}},
	{"the journal waits for a member that will never answer", nil,
		Schedule{Members: 3, Events: []Event{
			{KillAll, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {MachineAway, 2, 0}, {Round, 0, 0}, {Minute, 0, 0}, {Reconcile, 0,
				0}, {Approve, 0, 0}, {Round, 0, 0}, {Round, 0, 0},
			{Round, 0, 0},
		}}},
	{"the first start goes on after its history was recorded and its disk lost", startsTwice,
		Schedule{Members: 4, Fresh: true, Events: []Event{
			{Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Agent, 0, 0}, {Round, 0, 0}, {Wipe, 0, 0},
		}}},
	{"quorum is lost right after the first start", waitsForLostQuorum,
		Schedule{Members: 3, Fresh: true, Events: []Event{
			{Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Agent, 2, 0}, {Shatter, 0, 0},
			{Round, 0, 0},
		}}},
	{"two restarts at once, chosen by old caches", restartsByCache,
		Schedule{Members: 3, Eager: true, Events: []Event{
			{Upgrade, 0, 0}, {Reconcile, 0, 0}, {SeeStatus, 1, 0}, {Hear, 1, 2}, {Reconcile, 1, 0}, {SeeStatus, 1, 0},
			{Reconcile, 1, 0}, {Round, 0, 0},
			{SeePod, 1, 1}, {Reconcile, 1, 0},
		}}},
	{"a restart waits for a node that was stopped", neverLifts,
		Schedule{Members: 3, Eager: true, Events: []Event{
			{Hibernate, 0, 0}, {Upgrade, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Mute, 0, 2}, {Hibernate, 0, 0},
			{LookAround, 0, 0}, {Reconcile, 0, 0},
			{Round, 0, 0},
		}}},
	{"a stop is repeated under a known ID", repeatsStop,
		Schedule{Members: 3, Events: []Event{
			{Hibernate, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Reconcile, 0, 0}, {Hibernate, 0, 0}, {Deliver, 1, 0},
			{Round, 0, 0}, {LookAround, 0, 0},
			{CrashBeforeStatus, 0, 0}, {Round, 0, 0}, {Partition, 2, 0}, {MachineAway, 2, 0}, {Hibernate, 0, 0},
			{LoseStatus, 0, 0}, {Round, 0, 0},
		}}},
	{"hibernated, wanted, and hibernated again", nil,
		Schedule{Members: 3, Events: []Event{
			{Hibernate, 0, 0}, {Round, 0, 0}, {LookAround, 1, 0}, {Hibernate, 0, 0}, {Reconcile, 1, 0}, {Reconcile, 1, 0},
			{Duplicate, 1, 0}, {Round, 0, 0},
			{Hibernate, 0, 0},
		}}},
	{"an old leader lifts a stop", nil,
		Schedule{Members: 3, Events: []Event{
			{LookAround, 1, 0}, {Hibernate, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Hear, 1, 2},
			{Reconcile, 1, 0},
		}}},
	{"a stopped member remembers more than the journal", nil,
		Schedule{Members: 4, Eager: true, Events: []Event{
			{Hibernate, 0, 0}, {Round, 0, 0}, {Hibernate, 0, 0}, {Upgrade, 0, 0}, {Round, 0, 0}, {Hibernate, 0, 0},
			{Round, 0, 0}, {Round, 0, 0},
			{Mute, 0, 3}, {Round, 0, 0}, {LoseStatus, 0, 0}, {Round, 0, 0}, {Hibernate, 0, 0}, {Round, 0, 0},
		}}},
	{"a pod that is not in the cache counts as stopped", missingIsStopped,
		Schedule{Members: 4, Eager: true, Fresh: true, Events: []Event{
			{LookAround, 1, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Elapse, 0, 0}, {Round, 0, 0}, {Round, 0, 0},
			{Hibernate, 0, 0},
			{Round, 0, 0}, {Round, 0, 0}, {SeeStatus, 1, 0}, {Reconcile, 1, 0},
		}}},
	{"the status is lost, and with it the epoch", forgetsEpochs,
		Schedule{Members: 1, Eager: true, Events: []Event{
			{KillAll, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {LoseStatus, 0, 0}, {MachineAway, 0, 0},
		}}},
	{"the reply is lost and the member with it", choosesAgainWhenSilent,
		Schedule{Members: 3, Events: []Event{
			{KillAll, 0, 0}, {Round, 0, 0}, {MachineAway, 2, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0},
		}}},
	{"two approvals for two branches of the history", nil,
		Schedule{Members: 3, Events: []Event{
			{Mute, 0, 0}, {Swap, 2, 0}, {KillAgent, 1, 0}, {Round, 0, 0}, {KillAll, 0, 0}, {Minute, 0, 0}, {Reconcile, 0, 0},
			{Approve, 0, 0}, {Reconcile, 0, 0}, {Round, 0, 0},
			{Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Write, 1, 0}, {MachineAway, 1, 0}, {Unmute, 0, 0},
			{Round, 0, 0},
			{Minute, 0, 0}, {Reconcile, 0, 0}, {Approve, 0, 0}, {Reconcile, 0, 0}, {Round, 0, 0}, {Round, 0, 0},
		}}},
	{"hibernated, started in vain, hibernated again", nil,
		Schedule{Members: 3, Eager: true, Events: []Event{
			{Hibernate, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0},
			{Round, 0, 0},
			{Round, 0, 0}, {Hibernate, 0, 0}, {Round, 0, 0}, {Hibernate, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0},
			{Drain, 0, 0},
			{Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Agent, 1, 0}, {KillAgent, 1, 0}, {Agent, 2, 0},
		}}},
	{"an approval read by an operator that has not heard of the others yet", trustsWithoutAll,
		Schedule{Members: 5, Eager: true, Events: []Event{
			{Blur, 1, 0}, {Partition, 26, 0}, {Round, 0, 0}, {KillServer, 0, 0}, {Minute, 0, 0}, {Reconcile, 0, 0}, {Approve, 0,
				0}, {SeeStatus, 1, 0}, {Hear, 1, 0}, {Reconcile, 1, 0},
			{SeeStatus, 1, 0}, {Reconcile, 1, 0}, {Reconcile, 1, 0}, {Deliver, 1, 0},
		}}},
	{"stopped, as heard in an earlier hibernation", believesOldStops,
		Schedule{Members: 2, Events: []Event{
			{Hibernate, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Hibernate, 0, 0},
			{Round, 0, 0},
			{LookAround, 1, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Hibernate, 0, 0},
			{Round, 0, 0},
			{Round, 0, 0}, {SeeStatus, 1, 0}, {Reconcile, 1, 0},
		}}},
	{"a stop that comes after its hibernation was given up, and after the start", repeatsStart,
		Schedule{Members: 3, Eager: true, Events: []Event{
			{Round, 0, 0}, {Hibernate, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Hibernate, 0, 0}, {Round, 0, 0}, {Hibernate, 0, 0},
			{Round, 0, 0},
			{LookAround, 1, 0}, {Hibernate, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Reconcile, 1, 0},
			{Reconcile, 1, 0},
		}}},
	{"a disk that held data is empty", forgetsHeldData,
		Schedule{Members: 3, Eager: true, Events: []Event{
			{KillAll, 0, 0}, {Wipe, 2, 0},
		}}},
	{"seen without it at another time when it was away", believesOldViews,
		Schedule{Members: 3, Events: []Event{
			{Round, 0, 0}, {Scale, 1, 0}, {SeeStatus, 0, 0}, {Reconcile, 0, 0}, {SeeStatus, 0, 0},
			{KillServer, 2, 0}, {Regroup, 0, 0}, {Hear, 0, 0}, {Hear, 0, 1}, {Agent, 2, 0}, {Agent, 2, 0}, {Agent, 2, 0},
			{Write, 2, 0}, {Hear, 0, 2}, {Reconcile, 0, 0}, {Deliver, 0, 0}, {Agent, 2, 0}, {Hear, 0, 2}, {Reconcile, 0, 0},
			{SeeStatus, 0, 0}, {KillAll, 0, 0},
		}}},
}
