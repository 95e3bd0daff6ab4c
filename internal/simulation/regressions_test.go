package simulation

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
				t.Errorf("%s\n%s", got.Violation, Tell(r.Schedule, plan.Plan, 20))
			}
			if r.mutant == nil {
				return
			}
			if got := Run(r.Schedule, r.mutant); got.Violation == "" {
				t.Errorf("the schedule does not show the bug any more\n%s", Tell(r.Schedule, r.mutant, 20))
			}
		})
	}
}

var regressions = []regression{
	{"reports from different times together show nobody running", tellsNobody,
		Schedule{Members: 3, Events: []Event{
			{Elapse, 0, 0}, {KillServer, 0, 0}, {Hear, 0, 0}, {Elapse, 0, 0}, {Elapse, 0, 0}, {Elapse, 0, 0},
			{KillServer, 1, 0}, {Hear, 0, 1}, {Elapse, 0, 0}, {Elapse, 0, 0}, {Elapse, 0, 0},
			{Write, 2, 0}, {KillServer, 2, 0}, {Hear, 0, 2}, {Reconcile, 0, 0}, {SeeStatus, 0, 0}, {Reconcile, 0, 0},
			{Regroup, 0, 0}, {Deliver, 0, 0}, {Agent, 2, 0},
		}}},
	{"parts find each other while quorum is rebuilt", leavesApart,
		Schedule{Members: 3, Eager: true, Events: []Event{
			{Shatter, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0},
			{Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Round, 0, 0}, {Partition, 1, 0}, {Elapse, 0, 0},
		}}},
}
