package plan

import (
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/galera"
)

// arbitratorOption alters the arbitrator.
type arbitratorOption func(*galera.Arbitrator)

// pair is two nodes and an arbitrator that is counted.
func pair(changes ...change) galera.Snapshot {
	return shop(append([]change{func(s *galera.Snapshot) {
		s.Replicas, s.Members = 2, s.Members[:2]
		s.Published, s.Wanted = strict, strict
		s.Arbitrator = &galera.Arbitrator{
			Name: "db-arbitrator", Wanted: true, Deployed: true, Scheduled: true, Pod: galera.Pod{Exists: true, Ready: true},
			Known: true, Process: "arbitrator.a", Counted: true, ConfigLoaded: "r1", Running: strict, DynamicSockets: true,
			LinksVerified: true,
		}
	}, all(in("db-0", "db-1"), runs(strict), func(m *galera.Member) { m.DynamicSockets, m.LinksVerified = true, true })},
		changes...)...)
}

func arb(facts ...arbitratorOption) change {
	return func(s *galera.Snapshot) {
		for _, f := range facts {
			f(s.Arbitrator)
		}
	}
}

func unwanted(a *galera.Arbitrator)             { a.Wanted = false }
func undeployed(a *galera.Arbitrator)           { *a = galera.Arbitrator{Name: a.Name, Wanted: a.Wanted} }
func hibernatedArbitrator(a *galera.Arbitrator) { undeployed(a); a.Deployed = true }
func uncounted(a *galera.Arbitrator)            { a.Counted = false }
func ended(a *galera.Arbitrator)                { a.Process, a.Counted, a.Running = "", false, galera.Encryption{} }
func renewed(a *galera.Arbitrator)              { a.Outdated = true }
func stale(a *galera.Arbitrator)                { a.RestartNeeded = true }

// removed is one whose Deployment is gone, and its pod not yet.
func removed(a *galera.Arbitrator) {
	a.Wanted, a.Deployed, a.Scheduled, a.Pod.Outdated = false, false, false, true
}
func silentArbitratorAgent(a *galera.Arbitrator) {
	*a = galera.Arbitrator{Name: a.Name, Wanted: a.Wanted, Deployed: true, Scheduled: true, Pod: a.Pod}
}
func wantsEncryption(e galera.Encryption) arbitratorOption {
	return func(a *galera.Arbitrator) { a.Running = e }
}

// only leaves the first n members.
func only(n int) change {
	return func(s *galera.Snapshot) { s.Members = s.Members[:n] }
}

// leave begins to take out the last member.
func leave(member string) Begin {
	return Begin{galera.Operation{ID: "scaledown-5", Type: galera.OpScaleDown, Target: member, Epoch: 5}}
}

// end is the order that ends the running garbd.
func end(epoch int64) SendOrder {
	return SendOrder{Member: "db-arbitrator", ID: "arbitrator.a", Epoch: epoch, Kind: OrderRestart}
}

func TestArbitrator(t *testing.T) {
	check(t, []row{
		{name: "all is well", s: pair(), reason: ReasonHealthy},
		{name: "it is made when all nodes serve", s: pair(arb(undeployed)), action: ApplyArbitrator{Running: true}},
		{name: "not before", s: pair(arb(undeployed), db(1, state(galera.NodeJoining))), reason: ReasonJoining},
		{name: "it comes back after a hibernation", s: pair(arb(hibernatedArbitrator)),
			action: ApplyArbitrator{Running: true}},
		{name: "it is missed", s: pair(arb(uncounted)), reason: ReasonArbitratorAway},
		{name: "the reason is reported", s: pair(
			arb(uncounted, func(a *galera.Arbitrator) { a.Failure = &galera.Failure{Message: "no garbd"} })),
			reason: ReasonArbitratorAway, contains: "no garbd"},

		{name: "a new certificate restarts it", s: pair(arb(stale)), action: end(4), reason: ReasonRestarting},
		{name: "a new template replaces it", s: pair(arb(func(a *galera.Arbitrator) { a.Outdated = true })),
			action: ApplyArbitrator{Running: true}, reason: ReasonRestarting},
		{name: "never while a node is down", s: pair(arb(stale), db(1, down(10))), reason: ReasonJoining},
		{name: "never while a node is not served",
			s: pair(arb(stale), db(1, func(m *galera.Member) { m.Pod.Ready = false }))},
		{name: "never while a node has an order", s: pair(arb(stale), db(1, hasOrder("x", 4, OrderRestart, orderAccepted)))},
		{name: "not before the nodes know what it will run with", s: pair(arb(stale), db(1, notYetRead)),
			reason: ReasonConfigurationStale, contains: "db-1"},

		{name: "it has its turn before the nodes", s: pair(arb(stale), all(oldConfig)), action: end(4)},
		{name: "a node waits for it", s: pair(arb(uncounted), all(oldConfig)), reason: ReasonArbitratorAway,
			contains: "before a node is stopped"},
		{name: "and for what it has to read", s: pair(arb(func(a *galera.Arbitrator) { a.ConfigLoaded = "r0" }),
			all(oldConfig)), reason: ReasonConfigurationStale, contains: "the arbitrator"},
		{name: "a broken node does not", s: pair(arb(uncounted),
			db(1, silent, outdatedPod, func(m *galera.Member) { m.Pod.Ready = false })),
			action: Begin{galera.Operation{ID: "restart-5", Type: galera.OpRestart, Target: "db-1", Epoch: 5}}},

		{name: "an odd number of nodes needs none",
			s: shop(func(s *galera.Snapshot) { s.Arbitrator = pair(arb(unwanted)).Arbitrator }), action: RemoveArbitrator{}},
		{name: "it stays until they are there",
			s: shop(func(s *galera.Snapshot) { s.Arbitrator = pair(arb(unwanted)).Arbitrator },
				db(2, state(galera.NodeJoining))), reason: ReasonJoining},
		{name: "scaling up is no matter of its", s: pair(wanted(3), arb(unwanted, uncounted)), action: Resize{3}},
		{name: "scaling down begins with it", s: shop(wanted(2),
			func(s *galera.Snapshot) { s.Arbitrator = pair(arb(undeployed)).Arbitrator }),
			action: ApplyArbitrator{Running: true}},
		{name: "and waits for it", s: shop(wanted(2),
			func(s *galera.Snapshot) { s.Arbitrator = pair(arb(uncounted)).Arbitrator }), reason: ReasonArbitratorAway},
		{name: "one node needs none", s: pair(wanted(1), arb(unwanted), only(1)), action: RemoveArbitrator{}},
		{name: "one node has nothing to arbitrate", s: pair(arb(undeployed), only(1), wanted(1)),
			reason: ReasonArbitratorAway},
		{name: "one node is restarted without", s: pair(arb(undeployed), only(1), wanted(1), db(0, oldConfig)),
			action: Begin{galera.Operation{ID: "restart-5", Type: galera.OpRestart, Target: "db-0", Epoch: 5}}},
		{name: "one that is to go is not brought up to date first", s: pair(wanted(1), arb(unwanted, renewed)),
			action: leave("db-1")},
		{name: "one that cannot run is not waited for",
			s:      pair(wanted(1), arb(unwanted, ended, func(a *galera.Arbitrator) { a.LacksGarbd = true })),
			action: RemoveArbitrator{}},
		{name: "one that has crashed is", s: pair(wanted(1),
			arb(unwanted, ended, func(a *galera.Arbitrator) { a.Failure = &galera.Failure{Message: "killed"} }))},
		{name: "nor one without a host", s: pair(wanted(1),
			arb(unwanted, silentArbitratorAgent, func(a *galera.Arbitrator) { a.Pod.Waiting = true })),
			action: RemoveArbitrator{}},
		{name: "nor one that a hibernation has sent away", s: pair(wanted(1), arb(unwanted, hibernatedArbitrator)),
			action: RemoveArbitrator{}},
		{name: "one that starts is", s: pair(wanted(1), arb(unwanted, ended))},
		{name: "one whose agent is silent is", s: pair(wanted(1), arb(unwanted, silentArbitratorAgent))},
		{name: "then a node leaves", s: shop(wanted(2), func(s *galera.Snapshot) { s.Arbitrator = pair().Arbitrator }),
			action: Begin{galera.Operation{ID: "scaledown-5", Type: galera.OpScaleDown, Target: "db-2", Epoch: 5}}},
	})
	left := []change{wanted(2), func(s *galera.Snapshot) { s.Arbitrator = pair(arb(renewed)).Arbitrator },
		all(in("db-0", "db-1")),
		db(2, stopped(10), hasOrder("scaledown-5/db-2/stop", 5, OrderStop, orderDone), phase(galera.PhaseStopped)),
		running(leave("db-2").Operation)}
	check(t, []row{
		{name: "who has stopped leaves, and it has its turn after", s: shop(left...),
			action: SendOrder{Member: "db-0", ID: "scaledown-5/db-0/start", Epoch: 5, Kind: OrderStart}},
	})
	stuck := []change{running(restartOf("db-1")), db(1, stuckAsDonor)}
	check(t, []row{
		{name: "a donor for ever keeps it from being started, and is not kept waiting",
			s:      pair(append(stuck, arb(undeployed))...),
			action: SendOrder{Member: "db-1", ID: "restart-5/db-1/restart/r1", Epoch: 5, Kind: OrderRestart}},
		{name: "nor by a new template of it", s: pair(append(stuck, arb(renewed))...),
			action: SendOrder{Member: "db-1", ID: "restart-5/db-1/restart/r1", Epoch: 5, Kind: OrderRestart}},
		{name: "one that runs with a failure of its last start may still be counted",
			s: pair(append(stuck, arb(uncounted, func(a *galera.Arbitrator) {
				a.Failure = &galera.Failure{Message: "as it was"}
			}))...), reason: ReasonArbitratorAway},
		{name: "one that is to go, and of an earlier template of its pod, is waited for",
			s: pair(wanted(1), arb(unwanted, func(a *galera.Arbitrator) { a.Pod.Outdated = true }))},
		{name: "only by one that is about to be counted", s: pair(append(stuck, arb(uncounted))...),
			reason: ReasonArbitratorAway},
	})
	restarting := running(galera.Operation{ID: "restart-5", Type: galera.OpRestart, Target: "db-1", Epoch: 5})
	gaveUp(t, pair(restarting, all(oldConfig), arb(uncounted)), "the arbitrator has its turn first")
	gaveUp(t, pair(restarting, all(oldConfig), arb(renewed)), "the arbitrator has its turn first")
	gaveUp(t, shop(wanted(2), func(s *galera.Snapshot) { s.Arbitrator = pair(arb(uncounted)).Arbitrator },
		running(galera.Operation{ID: "scaledown-5", Type: galera.OpScaleDown, Target: "db-2", Epoch: 5})),
		"the arbitrator has its turn first")
}

func TestArbitratorAndLoss(t *testing.T) {
	recovering := running(galera.Operation{ID: "recover-5", Type: galera.OpRecover, BootstrapMember: "db-0", Epoch: 5,
		Position: at(10)})
	crashed := func(changes ...change) galera.Snapshot {
		return pair(append([]change{db(0, down(10), knows(5)), db(1, down(10), knows(5)), recovering, arb(uncounted)},
			changes...)...)
	}
	hibernating := running(galera.Operation{ID: "hibernate-5", Type: galera.OpHibernate, Epoch: 5})
	check(t, []row{
		{name: "a node is lost", s: pair(db(1, silent)), reason: ReasonJoining, contains: "db-1"},
		{name: "both are down: it knows nothing", s: pair(db(0, down(10)), db(1, down(12)), arb(uncounted)),
			action: recoverBy("db-1", 12, 5)},
		{name: "both are down, one silent: it vouches for no member", s: pair(db(0, down(10)), db(1, silent), arb(uncounted)),
			reason: ReasonWaitingForMembers, blocked: true, contains: "db-1 does not answer"},
		{name: "it is ended before the start", s: crashed(), action: end(5), reason: ReasonRecovering},
		{name: "then the cluster starts", s: crashed(arb(ended)), action: send("db-0", "recover-5", 5, OrderBootstrap, at(10),
			"bootstrap")},
		{name: "a silent one is given time to end",
			s:      crashed(arb(silentArbitratorAgent), func(s *galera.Snapshot) { s.NoPrimaryFor = 20 * time.Second }),
			reason: ReasonRecovering, contains: "does not answer"},
		{name: "and no more", s: crashed(arb(silentArbitratorAgent),
			func(s *galera.Snapshot) { s.NoPrimaryFor = time.Minute }), action: send("db-0", "recover-5", 5, OrderBootstrap,
			at(10), "bootstrap")},
		{name: "one without a pod is gone", s: crashed(arb(undeployed)), action: send("db-0", "recover-5", 5, OrderBootstrap,
			at(10), "bootstrap")},
		{name: "one that an earlier leader has started again goes",
			s:      pair(hibernated, func(s *galera.Snapshot) { s.Hibernated = true }, all(stopped(10)), arb(ended)),
			action: ApplyArbitrator{Running: false}, reason: ReasonHibernated},
		{name: "a hibernated cluster stays so", s: pair(hibernated, func(s *galera.Snapshot) { s.Hibernated = true },
			all(stopped(10)), arb(hibernatedArbitrator)), reason: ReasonHibernated},
		{name: "a hibernation begins with it", s: pair(hibernated, hibernating), action: ApplyArbitrator{Running: false},
			reason: ReasonHibernating},
		{name: "the nodes wait for it", s: pair(hibernated, hibernating,
			arb(func(a *galera.Arbitrator) { a.Scheduled = false })), reason: ReasonHibernating,
			contains: "the arbitrator to stop"},
		{name: "also for one whose Deployment is gone", s: pair(hibernated, hibernating, arb(removed)),
			reason: ReasonHibernating, contains: "the arbitrator to stop"},
		{name: "which is ended before a start, too", s: crashed(arb(removed)), action: end(5), reason: ReasonRecovering},
		{name: "and has no turn", s: pair(only(1), wanted(1), arb(removed, stale)), reason: ReasonHealthy},
		{name: "nor is it waited for", s: pair(all(oldConfig), arb(removed, uncounted)), action: Begin{restartOf("db-1")}},
		{name: "then they stop", s: pair(hibernated, hibernating, arb(hibernatedArbitrator)),
			action: send("db-1", "hibernate-5", 5, OrderStop, galera.Position{}, "stop")},
	})
}

func TestArbitratorAndSwitch(t *testing.T) {
	to := func(published, wanted galera.Encryption, changes ...change) galera.Snapshot {
		return pair(append([]change{func(s *galera.Snapshot) { s.Published, s.Wanted = published, wanted },
			all(runs(published)), arb(wantsEncryption(published))}, changes...)...)
	}
	rolling := journal("Rolling", "")
	keeping := journal("Rebootstrap", "db-0")
	halted := db(1, stopped(10), hasOrder("switchtls-5/db-1/stop", 5, OrderStop, orderDone), phase(galera.PhaseStopped))
	check(t, []row{
		{name: "it begins", s: to(plain, strict), action: begun(5, "switchtls-5", "Rolling", "")},
		{name: "not while it is silent", s: to(plain, strict, arb(silentArbitratorAgent)), reason: ReasonSwitching,
			contains: "agent of the arbitrator"},
		{name: "not while it is away", s: to(plain, strict, arb(uncounted)), reason: ReasonArbitratorAway},
		{name: "not with a bad pair", s: to(plain, strict, arb(func(a *galera.Arbitrator) { a.TLSProblem = "no key" })),
			reason: ReasonSwitchRefused, blocked: true, contains: "the arbitrator: no key"},
		{name: "not with an old library", s: to(plain, strict, arb(func(a *galera.Arbitrator) { a.DynamicSockets = false })),
			reason: ReasonRebootstrapRequired, blocked: true},
		{name: "dynamic: it first", s: to(dynamic, strict, rolling, all(runs(plain), oldConfig),
			arb(wantsEncryption(plain), stale)), action: end(5)},
		{name: "then the nodes", s: to(dynamic, strict, rolling, all(runs(plain), oldConfig)),
			action: begun(6, "switchtls-6", "Rolling", "db-1")},
		{name: "strict when it is dynamic, too", s: to(dynamic, strict, rolling, arb(wantsEncryption(plain))),
			reason: ReasonSwitching, contains: "the arbitrator to run with Dynamic"},
		{name: "and has seen all certificates",
			s:      to(dynamic, strict, rolling, arb(func(a *galera.Arbitrator) { a.LinksVerified = false })),
			reason: ReasonSwitching, contains: "verify every node"},
		{name: "and is there", s: to(dynamic, strict, rolling, arb(ended)), reason: ReasonSwitching,
			contains: "to join the Primary component"},
		{name: "strict", s: to(dynamic, strict, rolling), action: PublishEncryption{dynamic, strict}},
		{name: "plain waits for it, too", s: to(dynamic, plain, rolling, arb(wantsEncryption(strict))),
			reason: ReasonSwitching, contains: "the arbitrator to run"},
		{name: "re-bootstrap: it goes before the last node", s: to(plain, strict, keeping, halted),
			action: ApplyArbitrator{Running: false}, reason: ReasonSwitching},
		{name: "before anything is published", s: to(plain, strict, keeping, halted,
			arb(func(a *galera.Arbitrator) { a.Scheduled = false })), reason: ReasonSwitching,
			contains: "the arbitrator to stop"},
		{name: "then it is published", s: to(plain, strict, keeping, halted, arb(hibernatedArbitrator)),
			action: PublishEncryption{plain, strict}},
		{name: "it is a member that runs", s: to(plain, strict, all(down(10), runs(galera.Encryption{})), arb(uncounted)),
			action: recoverBy("db-0", 10, 5)},
	})
}
