package plan

import (
	"testing"

	"github.com/galera-operator/galera-operator/internal/galera"
)

func stuckAsDonor(m *galera.Member) {
	state(galera.NodeDonor)(m)
	m.StuckDonor, m.Pod.Ready = true, true
}

func TestReleaseDonor(t *testing.T) {
	waiting := func(m *galera.Member) {
		down(0)(m)
		m.Phase, m.Data = galera.PhaseWaiting, galera.DataIncomplete
	}
	holds := func(m *galera.Member) { m.HeldData = true }
	order := func(member string) SendOrder {
		return SendOrder{Member: member, ID: "restart-5/" + member + "/restart/r1", Epoch: 5, Kind: OrderRestart}
	}
	check(t, []row{
		{name: "the only one with data is restarted, though no node is Synced", s: shop(db(0, stuckAsDonor), db(1, waiting),
			db(2, waiting)),
			action: Begin{restartOf("db-0")}},
		{name: "and keeps its role, as there is no node to take it", s: shop(db(0, stuckAsDonor), db(1, waiting),
			db(2, waiting), running(restartOf("db-0"))),
			action: order("db-0")},
		{name: "also when another never had a host", s: shop(db(0, stuckAsDonor), db(1, waiting), db(2, unplaced)),
			action: Begin{restartOf("db-0")}},
		{name: "but not when that one held data", s: shop(db(0, stuckAsDonor), db(1, waiting), db(2, unplaced, holds)),
			reason: ReasonRestarting, contains: "could not start by itself without db-2"},
		{name: "while another gives, the others come first", s: shop(db(2, stuckAsDonor), db(1, waiting),
			running(restartOf("db-2"))),
			reason: ReasonRestarting, contains: "db-1"},
		{name: "with all others Synced", s: shop(db(2, stuckAsDonor), running(restartOf("db-2"))), action: order("db-2")},
		{name: "the writer's is the last of two", s: shop(db(0, stuckAsDonor), db(2, stuckAsDonor)),
			action: Begin{restartOf("db-2")}},
		{name: "it is not begun where it had to wait: a member that is gone for good can leave",
			s:      shop(wanted(1), db(0, stuckAsDonor), db(2, silent)),
			action: Begin{galera.Operation{ID: "scaledown-5", Type: galera.OpScaleDown, Target: "db-2", Epoch: 5}},
			reason: ReasonScaling},
		{name: "nor while another comes back", s: shop(db(0, stuckAsDonor), db(1, waiting)), reason: ReasonRestarting,
			contains: "waiting for"},
		{name: "alone with one that is silent, it serves on", s: shop(db(0, stuckAsDonor), db(1, waiting), db(2, silent)),
			reason: ReasonRestarting, contains: "could not start by itself without db-2"},
		{name: "alone with one whose volume was lost, it serves on", s: shop(db(0, stuckAsDonor), db(1, waiting),
			db(2, empty)), reason: ReasonRestarting, contains: "delete the pod db-0"},
		{name: "also while that one tries again", s: shop(db(0, stuckAsDonor), db(1, waiting),
			db(2, empty, phase(galera.PhaseStarting))), reason: ReasonRestarting, contains: "without db-2"},
		{name: "a donor that gives is left alone", s: shop(db(2, state(galera.NodeDonor))), reason: ReasonJoining,
			contains: "db-2"},
		{name: "a re-bootstrap restarts it anyway", s: switching(plain, strict, db(0, stuckAsDonor),
			journal("Rebootstrap", "db-0")),
			action: SendOrder{Member: "db-1", ID: "switchtls-5/db-1/stop", Epoch: 5, Kind: OrderStop}, reason: ReasonSwitching},
	})
	gaveUp(t, shop(db(0, stuckAsDonor, outdatedPod), db(1, waiting), db(2, silent), running(restartOf("db-0"))),
		"could not start by itself")
	for _, op := range []galera.Operation{
		restartOf("db-1"),
		{ID: "scaledown-5", Type: galera.OpScaleDown, Epoch: 5, Target: "db-2"},
		{ID: "switchtls-5", Type: galera.OpSwitchTLS, Epoch: 5, Step: stepRolling},
	} {
		gaveUp(t, shop(db(0, stuckAsDonor), running(op)), "without a joiner")
	}
}
