package plan

import (
	"testing"

	"github.com/galera-operator/galera-operator/internal/galera"
)

var suspension = galera.Operation{ID: "suspend-5", Type: galera.OpSuspend, Epoch: 5}

func TestSuspend(t *testing.T) {
	none := galera.Position{}
	noPod := func(m *galera.Member) { silent(m); m.Pod = galera.Pod{} }
	ended := func(m *galera.Member) {
		stopped(10)(m)
		told("suspend-5/"+m.Name+"/stop", 5, OrderStop, orderDone)(m)
	}
	stopping := func(changes ...change) galera.Snapshot {
		return shop(append([]change{suspended, running(suspension)}, changes...)...)
	}
	check(t, []row{
		{name: "begins", s: shop(suspended), action: Begin{suspension}},
		{name: "the highest ordinal first", s: stopping(), action: send("db-2", "suspend-5", 5, OrderStop, none, "stop")},
		{name: "one at a time", s: stopping(db(2, phase(galera.PhaseStopping))), reason: ReasonSuspended, says: "db-2 to stop"},
		{name: "then the next", s: stopping(db(2, ended)), action: send("db-1", "suspend-5", 5, OrderStop, none, "stop")},
		{name: "the writer last", s: stopping(db(2, ended), db(1, ended)), action: send("db-0", "suspend-5", 5, OrderStop, none, "stop")},
		{name: "the label says who is the writer, not the record", s: stopping(func(s *galera.Snapshot) { s.Primary = "db-1" }, db(2, ended)),
			action: send("db-1", "suspend-5", 5, OrderStop, none, "stop")},
		{name: "one is silent", s: stopping(db(2, silent)), reason: ReasonSuspended, says: "db-2 to stop"},
		{name: "a pod is missing: the others go on", s: stopping(db(2, noPod)), action: send("db-1", "suspend-5", 5, OrderStop, none, "stop")},
		{name: "a pod is missing: not complete", s: stopping(all(ended), db(2, noPod)), reason: ReasonSuspended, says: "waiting for the pods db-2"},
		{name: "stopped by an earlier suspension", s: stopping(all(stopped(10)), db(2, ended)), action: send("db-1", "suspend-5", 5, OrderStop, none, "stop")},
		{name: "complete", s: stopping(all(ended)), action: Complete{Message: "all nodes are stopped"}},
		{name: "rests", s: shop(suspended, all(noPod), func(s *galera.Snapshot) { s.Suspended = true }), reason: ReasonSuspended},
		{name: "wakes up", s: shop(all(stopped(10)), db(0, safe), func(s *galera.Snapshot) { s.Suspended = true }), action: recoverBy("db-0", 10, 5)},
	})
	gaveUp(t, shop(running(suspension), db(2, stopped(10))), "the cluster is wanted again")
	gaveUp(t, stopping(db(2, told("start-5/db-2/start", 5, OrderStart, orderDone))), "its stop was lifted")
}

func TestLiftStops(t *testing.T) {
	none := galera.Position{}
	check(t, []row{
		{name: "when there is a Primary", s: shop(db(2, stopped(9))), action: send("db-2", "start-4", 4, OrderStart, none, "start")},
		{name: "each stop by another order", s: shop(db(2, stopped(9), told("suspend-4/db-2/stop", 4, OrderStop, orderDone))),
			action: send("db-2", "start-4", 4, OrderStart, none, "start/suspend-4/db-2/stop")},
		{name: "before a restart goes on", s: shop(db(2, stopped(9)), running(galera.Operation{ID: "restart-5", Type: galera.OpRestart, Epoch: 5, Target: "db-1"})),
			action: send("db-2", "start-5", 5, OrderStart, none, "start")},
		{name: "not while suspended", s: shop(suspended, running(suspension), db(2, stopped(9))), action: send("db-2", "suspend-5", 5, OrderStop, none, "stop")},
		{name: "not from an old status", s: shop(db(2, stopped(9), knows(6))), action: RecordUUID{history, 6, false}},
	})
}
