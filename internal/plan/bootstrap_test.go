package plan

import (
	"testing"

	"github.com/galera-operator/galera-operator/internal/galera"
)

var (
	recovery = galera.Operation{ID: "recover-5", Type: galera.OpRecover, Epoch: 5, BootstrapMember: "db-1",
		Position: at(9)}
	rebuild = galera.Operation{ID: "rebuildquorum-5", Type: galera.OpRebuildQuorum, Epoch: 5, BootstrapMember: "db-1",
		Position: at(9)}
	first = galera.Operation{ID: "firststart-1", Type: galera.OpFirstStart, Epoch: 1, BootstrapMember: "db-0"}
)

// crashed is a full stop in which db-1 is ahead, in the middle of its recovery.
func crashed(changes ...change) galera.Snapshot {
	return shop(append([]change{all(down(8)), db(1, down(9)), running(recovery)}, changes...)...)
}

func send(member, op string, epoch int64, kind OrderKind, p galera.Position, suffix string) Action {
	return SendOrder{Member: member, ID: op + "/" + member + "/" + suffix, Epoch: epoch, Kind: kind, Position: p}
}

// giving is the order with the members that a user has given up.
func giving(a Action, up ...string) Action {
	o := a.(SendOrder)
	o.GivenUp = up
	return o
}

func gaveUp(t *testing.T, s galera.Snapshot, contains string) {
	t.Helper()
	d := Plan(s)
	if c, ok := d.Action.(Complete); !ok || !c.Abandoned {
		t.Errorf("got %#v (%s), want the operation given up: %s", d.Action, d.Message, contains)
	}
}

func TestContinueRecover(t *testing.T) {
	none := galera.Position{}
	check(t, []row{
		{name: "the others are ordered first", s: crashed(), action: send("db-0", "recover-5", 5, OrderStart, none, "start")},
		{name: "one after another", s: crashed(db(0, knows(5))), action: send("db-2", "recover-5", 5, OrderStart, none,
			"start")},
		{name: "then the order, always with the same ID", s: crashed(db(0, knows(5)), db(2, knows(5))),
			action: send("db-1", "recover-5", 5, OrderBootstrap, at(9), "bootstrap")},
		{name: "the agent has it", s: crashed(db(1, hasOrder("recover-5/db-1/bootstrap", 5, OrderBootstrap, "Accepted"))),
			reason: ReasonRecovering},
		{name: "a running one without quorum is stopped", s: crashed(db(0, nonPrimary(8, "db-0"))),
			action: send("db-0", "recover-5", 5, OrderStop, none, "stop")},
		{name: "one is stopping", s: crashed(db(0, phase(galera.PhaseStopping))), reason: ReasonWaitingForMembers},
		{name: "one is silent again", s: crashed(db(0, silent)), reason: ReasonWaitingForMembers, blocked: true,
			contains: `"epoch":5`},
		{name: "one is silent, approved", s: crashed(db(0, silent), db(2, knows(5)), trust("db-1", at(9), 5, "db-0")),
			action: giving(send("db-1", "recover-5", 5, OrderBootstrap, at(9), "bootstrap"), "db-0")},
		{name: "one cannot read its order book", s: crashed(db(0, damaged(7))), reason: ReasonOrderBookDamaged, blocked: true,
			contains: "db-0 cannot read its order book"},
		{name: "the same, approved: it gets no order", s: crashed(db(0, damaged(7)), db(2, knows(5)),
			trust("db-1", at(9), 5, "db-0")),
			action: giving(send("db-1", "recover-5", 5, OrderBootstrap, at(9), "bootstrap"), "db-0")},
		{name: "one lost its disk", s: crashed(db(0, empty)), reason: ReasonDataLost, blocked: true},
		{name: "it is Primary", s: crashed(db(1, synced), db(1, role(rolePrimary)), db(0, role("replica"))),
			action: Complete{Message: "db-1 is Primary"}},
		{name: "it has the encryption that a switch was abandoned for",
			s:      switching(strict, strict, running(recovery), abandonedFor(1, "one"), all(runs(strict))),
			action: Complete{Message: "db-0 is Primary", Reached: true}},
		{name: "it has not read it", s: switching(strict, strict, running(recovery), abandonedFor(1, "one"),
			all(runs(strict), notYetRead)), action: Complete{Message: "db-0 is Primary"}},
		{name: "another one is wanted by now", s: switching(plain, plain, running(recovery), abandonedFor(1, "one"),
			all(runs(plain))), action: Complete{Message: "db-0 is Primary"}},
		{name: "another member is Primary", s: crashed(db(0, synced)), action: Complete{Message: "db-0 is Primary"}},
	})
}

func TestGiveUpRecover(t *testing.T) {
	const order = "recover-5/db-1/bootstrap"
	gaveUp(t, crashed(db(1, hasOrder(order, 5, OrderBootstrap, orderRefused))), "refused")
	gaveUp(t, crashed(db(1, hasOrder(order, 5, OrderBootstrap, orderFailed))), "failed")
	gaveUp(t, crashed(db(1, hasOrder(order, 5, OrderBootstrap, orderDone))), "stopped again")
	gaveUp(t, crashed(db(1, nonPrimary(9, "db-1"), hasOrder(order, 5, OrderBootstrap, orderDone))), "quorum lost again")
	gaveUp(t, crashed(db(1, down(7))), "its position is another one")
	gaveUp(t, crashed(db(0, down(12))), "another one is ahead")
	gaveUp(t, crashed(db(0, knows(6))), "a later epoch is known")
	gaveUp(t, crashed(db(1, silent), trust("db-0", at(8), 6, "db-1")), "the approval names another one")
	gaveUp(t, shop(all(down(8)), running(galera.Operation{ID: "recover-5", Type: galera.OpRecover, Epoch: 5,
		BootstrapMember: "db-9"})), "no longer a member")
	gaveUp(t, shop(running(galera.Operation{ID: "x-5", Type: "Unheard", Epoch: 5})), "unknown to this version")
}

func TestContinueRebuildQuorum(t *testing.T) {
	pair := []string{"db-1", "db-2"}
	lost := func(changes ...change) galera.Snapshot {
		return shop(append([]change{db(0, down(8)), db(1, nonPrimary(9, pair...)), db(2, nonPrimary(9, pair...)),
			running(rebuild)}, changes...)...)
	}
	none := galera.Position{}
	check(t, []row{
		{name: "the others are ordered", s: lost(db(2, knows(5))), action: send("db-0", "rebuildquorum-5", 5, OrderStart,
			none, "start")},
		{name: "the order", s: lost(db(0, knows(5)), db(2, knows(5))), action: send("db-1", "rebuildquorum-5", 5,
			OrderRebuildQuorum, at(9), "rebuildquorum")},
		{name: "one that is apart is stopped", s: lost(db(2, nonPrimary(9, "db-2")), db(1, nonPrimary(9, "db-1"))),
			action: send("db-2", "rebuildquorum-5", 5, OrderStop, none, "stop")},
		{name: "one is silent", s: lost(db(0, silent)), reason: ReasonWaitingForMembers, blocked: true},
	})
	gaveUp(t, lost(db(1, down(9)), db(2, down(8))), "it went down")
	gaveUp(t, lost(db(0, down(11))), "the stopped one turned out to be ahead")
}

func TestContinueFirstStart(t *testing.T) {
	check(t, []row{
		{name: "the order at once", s: fresh(running(first)), action: send("db-0", "firststart-1", 1, OrderInitialise,
			galera.Position{}, "initialise")},
		{name: "one is silent", s: fresh(running(first), db(2, silent)), reason: ReasonWaitingForMembers},
		{name: "done", s: shop(running(first)), action: Complete{Message: "db-0 is Primary"}},
	})
	gaveUp(t, fresh(running(first), func(s *galera.Snapshot) { s.ClusterUUID = history }), "there is a history")
	gaveUp(t, fresh(running(first), all(func(m *galera.Member) { m.LacksTools = true })), "a new image lacks tools")
	gaveUp(t, fresh(running(first), db(1, down(3))), "a member holds, or held, data")
}
