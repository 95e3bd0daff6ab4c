package plan

import (
	"testing"

	"github.com/galera-operator/galera-operator/internal/galera"
)

func restartOf(member string) galera.Operation {
	return galera.Operation{ID: "restart-5", Type: galera.OpRestart, Epoch: 5, Target: member}
}

func TestRestart(t *testing.T) {
	unready := func(m *galera.Member) { m.Pod.Ready = false }
	failed := func(m *galera.Member) {
		down(9)(m)
		m.Phase, m.Failure = galera.PhaseFailed, &galera.Failure{Reason: "ServerExited", Message: "bad setting"}
	}
	restart := SendOrder{Member: "db-2", ID: "restart-5/db-2/restart/r1", Epoch: 5, Kind: OrderRestart}
	check(t, []row{
		{name: "nothing to do", s: shop(), reason: ReasonHealthy},
		{name: "the highest ordinal first", s: shop(all(oldConfig)), action: Begin{restartOf("db-2")}},
		{name: "the writer last", s: shop(db(0, oldConfig), db(1, oldConfig)), action: Begin{restartOf("db-1")}},
		{name: "the writer when it is alone", s: shop(db(0, oldConfig)), action: Begin{restartOf("db-0")}},
		{name: "not while another is not Synced", s: shop(db(2, oldConfig), db(1, state(galera.NodeJoined))),
			reason: ReasonRestarting, contains: "db-1"},
		{name: "not while another is not served", s: shop(db(2, oldConfig), db(1, unready)), reason: ReasonRestarting,
			contains: "db-1"},
		{name: "the order", s: shop(db(2, oldConfig), running(restartOf("db-2"))), action: restart},
		{name: "not before it has read the configuration",
			s:      shop(db(2, oldConfig, func(m *galera.Member) { m.ConfigLoaded = "r0" }), running(restartOf("db-2"))),
			reason: ReasonConfigurationStale},
		{name: "an old pod is replaced", s: shop(db(2, outdatedPod), running(restartOf("db-2"))), action: DeletePod{"db-2"}},
		{name: "the node that was ordered to restart is away", s: shop(db(2, down(9)), running(restartOf("db-2"))),
			reason:   ReasonRestarting,
			contains: "db-2"},
		{name: "it is back, and was not ordered to go: the order that may be in progress is used up",
			s:      shop(running(restartOf("db-2"))),
			action: SendOrder{Member: "db-2", ID: "restart-5/db-2/restart/r1", Epoch: 5, Kind: OrderStart}},
		{name: "it is back", s: shop(db(2, knows(5)), running(restartOf("db-2"))),
			action: Complete{Message: "db-2 runs with the current configuration"}},
		{name: "the journal determines whose turn it is", s: shop(all(oldConfig), running(restartOf("db-1"))),
			action: SendOrder{Member: "db-1", ID: "restart-5/db-1/restart/r1", Epoch: 5, Kind: OrderRestart}},
		{name: "the role moves first, to a host that stays", s: shop(db(0, oldConfig), db(1, cordonedHost),
			running(restartOf("db-0"))),
			action: AssignRoles{Primary: "db-2"}},
		{name: "or to the only other node", s: shop(db(0, oldConfig), db(1, cordonedHost), db(2, cordonedHost),
			running(restartOf("db-0"))),
			action: AssignRoles{Primary: "db-1"}},
		{name: "from which it does not come back meanwhile", s: shop(db(0, oldConfig, role("replica")),
			db(1, cordonedHost, role(rolePrimary)), db(2, cordonedHost),
			running(restartOf("db-0"))), action: send("db-0", "restart-5", 5, OrderRestart, galera.Position{}, "restart/r1")},
		{name: "the role moves first", s: shop(db(0, oldConfig), running(restartOf("db-0"))),
			action: AssignRoles{Primary: "db-1"}},
		{name: "an old CA is forgotten by a restart", s: shop(published, db(1, trustsOld), running(restartOf("db-1"))),
			action: SendOrder{Member: "db-1", ID: "restart-5/db-1/restart/r1/now", Epoch: 5, Kind: OrderRestart}},
		{name: "and not before the new ones are there",
			s:      shop(published, db(2, trustsOld, func(m *galera.Member) { m.Publication = "before" })),
			reason: ReasonConfigurationStale, contains: "db-2 to read the new certificates"},
		{name: "halted by a failure", s: shop(db(1, oldConfig), db(2, failed), running(restartOf("db-1"))),
			reason: ReasonMemberFailed, contains: "bad setting"},
		{name: "no other node is touched while it is down", s: shop(db(1, down(9)), db(2, failed, outdatedPod),
			running(restartOf("db-1"))), reason: ReasonRestarting, contains: "waiting for db-1"},
		{name: "one that cannot run in its old pod is replaced at once",
			s: shop(db(1, oldConfig), db(2, failed, outdatedPod)), action: Begin{restartOf("db-2")}},
		{name: "and its pod deleted", s: shop(db(2, failed, outdatedPod), running(restartOf("db-2"))),
			action: DeletePod{"db-2"}},
	})
	check(t, []row{
		{name: "its turn is used up before one that cannot run has its own",
			s:      shop(db(2, failed, outdatedPod), running(restartOf("db-1"))),
			action: SendOrder{Member: "db-1", ID: "restart-5/db-1/restart/r1", Epoch: 5, Kind: OrderStart}},
	})
	gaveUp(t, shop(db(1, knows(5)), db(2, failed, outdatedPod), running(restartOf("db-1"))), "is replaced first")
	gaveUp(t, shop(all(outdatedPod), db(2, failed, outdatedPod), running(restartOf("db-1"))), "is replaced first")
	gaveUp(t, shop(all(down(9)), running(restartOf("db-2"))), "no Primary")
	gaveUp(t, shop(hibernated, running(restartOf("db-2"))), "to hibernate")
	gaveUp(t, shop(running(restartOf("db-9"))), "no longer a member")
}

// TestRestartAndSidecars: a sidecar does not hold up what restarts the server alone, keeps a template from being
// brought to the next pod, and never keeps its own correction from the pod.
func TestRestartAndSidecars(t *testing.T) {
	crashes := func(m *galera.Member) { m.Pod.Unsettled = "the container log does not run" }
	check(t, []row{
		{name: "no other pod is replaced before the new one is settled", s: shop(db(0, outdatedPod), db(1, outdatedPod),
			db(2, crashes)),
			reason: ReasonRestarting, contains: "db-2 serves, but no other pod is replaced yet: the container log does not run"},
		{name: "settings are brought to the servers", s: shop(all(oldConfig), db(1, crashes)),
			action: Begin{restartOf("db-2")}},
		{name: "an old CA is forgotten", s: shop(published, db(1, trustsOld), db(2, crashes)),
			action: Begin{restartOf("db-1")}},
		{name: "the pod that fails is the first to be corrected", s: shop(all(outdatedPod), db(1, crashes)),
			action: Begin{restartOf("db-1")}},
		{name: "and is replaced", s: shop(all(outdatedPod), db(1, crashes), running(restartOf("db-1"))),
			action: DeletePod{"db-1"}},
		{name: "though all fail", s: shop(all(outdatedPod, crashes)), action: Begin{restartOf("db-2")}},
		{name: "the writer is the last one, whatever fails there", s: shop(all(outdatedPod), db(0, crashes)),
			action: Begin{restartOf("db-2")}},
		{name: "the cluster grows", s: shop(db(1, crashes), func(s *galera.Snapshot) { s.Replicas = 4 }), action: Resize{4}},
		{name: "a server that does not run in its pod is not kept waiting", s: shop(all(outdatedPod), db(1,
			func(m *galera.Member) { m.Pod.Outdated = false; crashes(m) }),
			db(2, down(9), func(m *galera.Member) { m.Phase = galera.PhaseFailed })), action: Begin{restartOf("db-2")}},
	})
	check(t, []row{
		{name: "the node restarted in place of one that gives a backup waits for settled pods, too",
			s:      shop(db(1, outdatedPod), db(2, oldConfig, crashes, func(m *galera.Member) { m.Backup = "b1" })),
			reason: ReasonRestarting, contains: "db-2 serves, but no other pod is replaced yet"},
	})
	gaveUp(t, shop(db(1, outdatedPod), db(2, crashes), running(restartOf("db-1"))),
		"a container failed after the restart had begun: other work does not wait for it")
}

// TestRestartsWaitForMaintenance: what the operator wants for its own sake waits, and nothing else does.
func TestRestartsWaitForMaintenance(t *testing.T) {
	waits := func(s *galera.Snapshot) { s.RestartsWait = "waits for the window" }
	check(t, []row{
		{name: "settings", s: shop(waits, all(oldConfig)), reason: ReasonHealthy},
		{name: "a template", s: shop(waits, all(outdatedPod)), reason: ReasonHealthy},
		{name: "a restart that has begun", s: shop(waits, db(2, outdatedPod), running(restartOf("db-2"))),
			action: DeletePod{"db-2"}},
		{name: "a replaced key", s: shop(waits, all(oldConfig), db(1, func(m *galera.Member) { m.KeepsOldKey = true })),
			action: Begin{restartOf("db-1")}},
		{name: "an old CA", s: shop(waits, published, all(oldConfig), db(1, trustsOld)), action: Begin{restartOf("db-1")}},
		{name: "a pod that cannot run", s: shop(waits, all(outdatedPod), db(2, down(9), func(m *galera.Member) {
			m.Pod.Ready, m.Phase, m.Failure = false, galera.PhaseFailed, &galera.Failure{Reason: "ServerExited"}
		})), action: Begin{restartOf("db-2")}},
	})
}

func TestReportMembers(t *testing.T) {
	check(t, []row{
		{name: "one joins", s: shop(db(2, state(galera.NodeJoining))), reason: ReasonJoining, contains: "db-2"},
		{name: "one has failed", s: shop(db(2, down(9),
			func(m *galera.Member) { m.Failure = &galera.Failure{Message: "disk full"} })), reason: ReasonMemberFailed,
			contains: "disk full"},
	})
}

func published(s *galera.Snapshot) {
	s.Publication = "now"
	all(func(m *galera.Member) { m.Publication = "now" })(s)
}

func trustsOld(m *galera.Member) { m.StaleTrust = true }
