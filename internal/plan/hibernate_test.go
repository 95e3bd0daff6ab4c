package plan

import (
	"testing"

	"github.com/galera-operator/galera-operator/internal/galera"
)

var hibernation = galera.Operation{ID: "hibernate-5", Type: galera.OpHibernate, Epoch: 5}

func TestHibernate(t *testing.T) {
	none := galera.Position{}
	noPod := func(m *galera.Member) { silent(m); m.Pod = galera.Pod{} }
	ended := func(m *galera.Member) {
		stopped(10)(m)
		hasOrder("hibernate-5/"+m.Name+"/stop", 5, OrderStop, orderDone)(m)
	}
	stopping := func(changes ...change) galera.Snapshot {
		return shop(append([]change{hibernated, running(hibernation)}, changes...)...)
	}
	created := func(m *galera.Member) { m.Pod.Creating = true }
	forLong := func(m *galera.Member) { m.SilentFor = firstStartTimeout }
	check(t, []row{
		{name: "begins", s: shop(hibernated), action: Begin{hibernation}},
		{name: "the highest ordinal first", s: stopping(), action: send("db-2", "hibernate-5", 5, OrderStop, none, "stop")},
		{name: "one at a time", s: stopping(db(2, phase(galera.PhaseStopping))), reason: ReasonHibernating,
			contains: "db-2 to stop"},
		{name: "then the next", s: stopping(db(2, ended)), action: send("db-1", "hibernate-5", 5, OrderStop, none, "stop")},
		{name: "the writer last", s: stopping(db(2, ended), db(1, ended)), action: send("db-0", "hibernate-5", 5, OrderStop,
			none, "stop")},
		{name: "the label decides who is the writer, not the record",
			s:      stopping(func(s *galera.Snapshot) { s.Primary = "db-1" }, db(2, ended)),
			action: send("db-1", "hibernate-5", 5, OrderStop, none, "stop")},
		{name: "one is silent", s: stopping(db(2, starting)), reason: ReasonHibernating, contains: "db-2 to stop"},
		{name: "for longer than it may be", s: stopping(db(2, silent)), reason: ReasonHibernating, blocked: true,
			contains: "db-2 does not answer, so it cannot be ordered to stop"},
		{name: "the container of one was never started", s: stopping(all(ended), db(2, silent, created)),
			action: Complete{Message: "all nodes are stopped but db-2, which ends with its pod: it does not answer"}},
		{name: "of two: they may answer in a moment", s: stopping(all(ended), db(1, silent, created), db(2, silent, created)),
			reason: ReasonHibernating, contains: "the agents of db-1 and db-2, as containers are still being created"},
		{name: "but not for ever", s: stopping(all(ended), db(1, silent, created, forLong), db(2, silent, created, forLong)),
			reason: ReasonHibernating, blocked: true, contains: "at most one such node may be left"},
		{name: "a pod is missing: the others go on", s: stopping(db(2, noPod)),
			action: send("db-1", "hibernate-5", 5, OrderStop, none, "stop")},
		{name: "a pod is missing: not complete", s: stopping(all(ended), db(2, noPod)), reason: ReasonHibernating,
			contains: "waiting for the pods db-2"},
		{name: "stopped by an earlier hibernation", s: stopping(all(stopped(10)), db(2, ended)),
			action: send("db-1", "hibernate-5", 5, OrderStop, none, "stop")},
		{name: "complete", s: stopping(all(ended)), action: Complete{Message: "all nodes are stopped"}},
		{name: "two were killed, and their processes stay: nothing of them can serve",
			s: stopping(db(0, ended), db(1, killedButRunning),
				db(2, killedButRunning)),
			action: Complete{Message: "all nodes are stopped but db-1 and db-2, which end with their pods"}},
		{name: "rests", s: shop(hibernated, all(noPod), func(s *galera.Snapshot) { s.Hibernated = true }),
			reason: ReasonHibernated},
		{name: "wakes up", s: shop(all(stopped(10)), db(0, safe), func(s *galera.Snapshot) { s.Hibernated = true }),
			action: recoverBy("db-0", 10, 5)},
	})
	gaveUp(t, shop(running(hibernation), db(2, stopped(10))), "spec.hibernate is false again")
	gaveUp(t, stopping(db(2, hasOrder("start-5/db-2/start", 5, OrderStart, orderDone))), "its stop was lifted")
}

func TestClearStopOrders(t *testing.T) {
	none := galera.Position{}
	check(t, []row{
		{name: "when there is a Primary", s: shop(db(2, stopped(9))), action: send("db-2", "start-4", 4, OrderStart, none,
			"start")},
		{name: "each stop by another order", s: shop(
			db(2, stopped(9), hasOrder("hibernate-4/db-2/stop", 4, OrderStop, orderDone))),
			action: send("db-2", "start-4", 4, OrderStart, none, "start/hibernate-4/db-2/stop")},
		{name: "before a restart goes on", s: shop(db(2, stopped(9)),
			running(galera.Operation{ID: "restart-5", Type: galera.OpRestart, Epoch: 5, Target: "db-1"})),
			action: send("db-2", "start-5", 5, OrderStart, none, "start")},
		{name: "not while hibernated", s: shop(hibernated, running(hibernation), db(2, stopped(9))),
			action: send("db-2", "hibernate-5", 5, OrderStop, none, "stop")},
		{name: "not from an old status", s: shop(db(2, stopped(9), knows(6))), action: RecordUUID{history, 6, true}},
	})
}
