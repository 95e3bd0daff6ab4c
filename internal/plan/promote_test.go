package plan

import (
	"testing"

	"github.com/galera-operator/galera-operator/internal/galera"
)

func promoteTo(name string) change { return func(s *galera.Snapshot) { s.Promote = name } }

func asked(m *galera.Member) { m.RestartAsked = true }

// TestPromote: the primary moves once to a node that can take the role, and no other work waits for it.
func TestPromote(t *testing.T) {
	moves := AssignRoles{Primary: "db-2"}
	unready := func(m *galera.Member) { m.Pod.Ready = false }
	check(t, []row{
		{name: "moves", s: shop(promoteTo("db-2")), action: moves},
		{name: "is there", s: shop(promoteTo("db-0")), reason: ReasonHealthy},
		{name: "a stranger", s: shop(promoteTo("db-7")), reason: ReasonHealthy},
		{name: "on a cordoned host, which it would leave at once",
			s: shop(promoteTo("db-2"), db(2, func(m *galera.Member) { m.Pod.Cordoned = true })), reason: ReasonHealthy},
		{name: "not Synced", s: shop(promoteTo("db-2"), db(2, state(galera.NodeJoined))), reason: ReasonJoining},
		{name: "a donor", s: shop(promoteTo("db-2"), db(2, state(galera.NodeDonor))), reason: ReasonJoining},
		{name: "not ready", s: shop(promoteTo("db-2"), db(2, unready)), reason: ReasonHealthy},
		{name: "down", s: shop(promoteTo("db-2"), db(2, down(9))), reason: ReasonJoining},
		{name: "silent", s: shop(promoteTo("db-2"), db(2, silent)), reason: ReasonJoining},
		{name: "another one is away", s: shop(promoteTo("db-2"), db(1, down(9))), action: moves},
		{name: "not while an operation may move it, too", s: shop(promoteTo("db-2"), db(0, oldConfig),
			running(restartOf("db-0"))), action: AssignRoles{Primary: "db-1"}},
		{name: "not before its own restart", s: shop(promoteTo("db-2"), db(2, oldConfig)), action: Begin{restartOf("db-2")}},
		{name: "a restart that waits for maintenance waits longer", s: shop(promoteTo("db-2"), db(2, oldConfig),
			func(s *galera.Snapshot) { s.RestartsWait = "later" }), action: moves},
		{name: "not one that is to be removed", s: shop(promoteTo("db-2"), func(s *galera.Snapshot) { s.Replicas = 2 }),
			action: Begin{galera.Operation{ID: "scaledown-5", Type: galera.OpScaleDown, Target: "db-2", Epoch: 5}}},
		{name: "not while the cluster is to hibernate", s: shop(promoteTo("db-2"), hibernated),
			action: Begin{galera.Operation{ID: "hibernate-5", Type: galera.OpHibernate, Epoch: 5}}},
		{name: "not next to a second component", s: shop(promoteTo("db-2"), db(0, in("db-0")), db(1, in("db-1", "db-2")),
			db(2, in("db-1", "db-2"))),
			reason: ReasonTwoPrimaryComponents, blocked: true},
	})
}

func TestPromotionWaits(t *testing.T) {
	for want, s := range map[string]galera.Snapshot{
		"": shop(promoteTo("db-2")),
		"db-7 is not a node of this cluster: db-0, db-1 and db-2": shop(promoteTo("db-7")),
		"db-2 is not Synced: Donor":                               shop(promoteTo("db-2"), db(2, state(galera.NodeDonor))),
		"db-2 does not answer":                                    shop(promoteTo("db-2"), db(2, silent)),
		"db-2 gives the backup b1": shop(promoteTo("db-2"),
			db(2, func(m *galera.Member) { m.Backup = "b1" })),
		"db-2 is stopped":                        shop(promoteTo("db-2"), db(2, stopped(9))),
		"db-2 is not in the Primary component":   shop(promoteTo("db-2"), db(2, nonPrimary(9, "db-2"))),
		"there is no Primary component":          shop(promoteTo("db-2"), all(down(9))),
		"the operation restart-5 is in progress": shop(promoteTo("db-2"), running(restartOf("db-1"))),
		"db-2 is to be restarted first":          shop(promoteTo("db-2"), db(2, asked)),
	} {
		if got := PromotionWaits(s); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestRestartAsked: as for a new configuration, one at a time and the primary last, and without waiting for
// maintenance.
func TestRestartAsked(t *testing.T) {
	check(t, []row{
		{name: "the highest first", s: shop(all(asked)), action: Begin{restartOf("db-2")}},
		{name: "the primary last", s: shop(db(0, asked), db(1, asked)), action: Begin{restartOf("db-1")}},
		{name: "one", s: shop(db(1, asked)), action: Begin{restartOf("db-1")}},
		{name: "it does not wait for maintenance",
			s: shop(db(1, asked), func(s *galera.Snapshot) { s.RestartsWait = "later" }), action: Begin{restartOf("db-1")}},
		{name: "the order", s: shop(db(1, asked), running(restartOf("db-1"))),
			action: SendOrder{Member: "db-1", ID: "restart-5/db-1/restart/r1", Epoch: 5, Kind: OrderRestart}},
		{name: "after a switchover", s: shop(db(0, asked), running(restartOf("db-0"))), action: AssignRoles{Primary: "db-1"}},
		{name: "not while another is away", s: shop(db(1, asked), db(2, down(9))), reason: ReasonRestarting,
			contains: "db-2"},
		{name: "while it is down", s: shop(db(1, down(9)), running(restartOf("db-1"))), reason: ReasonRestarting,
			contains: "db-1"},
		{name: "it is back", s: shop(db(1, hasOrder("restart-5/db-1/restart/r1", 5, OrderRestart, orderDone)),
			running(restartOf("db-1"))),
			action: Complete{Message: "db-1 runs with the current configuration"}},
	})
	for _, state := range []string{orderDone, orderFailed} { // it knows the order, and would not carry it out again
		gaveUp(t, shop(db(1, asked, hasOrder("restart-5/db-1/restart/r1", 5, OrderRestart, state)),
			running(restartOf("db-1"))), "another epoch is needed")
	}
}
