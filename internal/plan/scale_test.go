package plan

import (
	"testing"

	"github.com/galera-operator/galera-operator/internal/galera"
)

func wanted(n int) change { return func(s *galera.Snapshot) { s.Replicas = n } }

func TestScale(t *testing.T) {
	none := galera.Position{}
	leave := galera.Operation{ID: "scaledown-5", Type: galera.OpScaleDown, Target: "db-2", Epoch: 5}
	leaving := func(changes ...change) galera.Snapshot {
		return shop(append([]change{wanted(1), running(leave)}, changes...)...)
	}
	ended := func(m *galera.Member) {
		stopped(10)(m)
		hasOrder("scaledown-5/"+m.Name+"/stop", 5, OrderStop, orderDone)(m)
	}
	knowsOf := func(m *galera.Member) { hasOrder("scaledown-5/"+m.Name+"/start", 5, OrderStart, orderDone)(m) }
	without := in("db-0", "db-1")
	gone := func(changes ...change) galera.Snapshot {
		return leaving(append([]change{db(2, ended), db(0, knowsOf, without), db(1, knowsOf, without)}, changes...)...)
	}
	failed := func(m *galera.Member) {
		m.Phase, m.Failure = galera.PhaseFailed, &galera.Failure{Message: "foreign data"}
	}
	waiting := func(m *galera.Member) { silent(m); m.Pod.Waiting = true }
	check(t, []row{
		{name: "up, one at a time", s: shop(wanted(5)), action: Resize{4}, reason: ReasonScaling},
		{name: "up waits for all to be Synced", s: shop(wanted(5), db(1, state(galera.NodeDonor))), reason: ReasonScaling,
			contains: "from 3 to 5"},
		{name: "up waits for Kubernetes to send them traffic",
			s: shop(wanted(5), db(1, func(m *galera.Member) { m.Pod.Ready = false }))},
		{name: "not without a Primary component", s: shop(wanted(5), all(nonPrimary(10, "db-0", "db-1", "db-2"))),
			action: Begin{galera.Operation{
				ID: "rebuildquorum-5", Type: galera.OpRebuildQuorum, Epoch: 5, BootstrapMember: "db-0", Position: at(10)}}},
		{name: "down waits for one that stays and cannot act",
			s:      shop(wanted(1), db(2, silent), db(1, func(m *galera.Member) { m.CannotAct = galera.Frozen })),
			reason: ReasonMemberFailed, contains: "frozen"},
		{name: "down begins with the highest ordinal", s: shop(wanted(1)), action: Begin{leave}, reason: ReasonScaling},
		{name: "down waits for the others", s: shop(wanted(1), db(1, silent)), reason: ReasonScaling, contains: "db-1"},
		{name: "a broken last member may go", s: shop(wanted(1), db(2, unreadable)), action: Begin{leave}},
		{name: "before old pods are restarted", s: shop(wanted(1), all(outdatedPod)), action: Begin{leave}},
		{name: "no node is removed while the cluster is down", s: shop(wanted(1), db(0, down(10)), db(1, down(10)),
			db(2, down(12))), action: recoverBy("db-2", 12, 5)},

		{name: "the writer moves first", s: leaving(db(0, func(m *galera.Member) { m.Pod.Role = "replica" }),
			db(2, func(m *galera.Member) { m.Pod.Role = rolePrimary })),
			action: AssignRoles{Primary: "db-0"}},
		{name: "then it is ordered to stop", s: leaving(), action: send("db-2", "scaledown-5", 5, OrderStop, none, "stop")},
		{name: "not while another is away", s: leaving(db(1, starting)), reason: ReasonScaling, contains: "waiting for db-1"},
		{name: "and not for long", s: leaving(db(1, silent)),
			action: Complete{Abandoned: true, Message: "db-2 stays for now: db-1 does not answer"}},
		{name: "one that has failed for good comes back no sooner", s: leaving(db(1, down(9), cannotStart)),
			action: Complete{Abandoned: true, Message: "db-2 stays for now: db-1 cannot start: no certificate"}},
		{name: "nor one whose data are another cluster's", s: leaving(db(1, down(9), failed)),
			action: Complete{Abandoned: true, Message: "db-2 stays for now: db-1 has failed: foreign data"}},
		{name: "nor one that waits for its next attempt", s: leaving(db(2, ended), db(1, down(9), failed,
			phase(galera.PhaseWaiting))),
			action: Complete{Abandoned: true, Message: "db-2 stays for now: db-1 has failed: foreign data"}},
		{name: "one that starts may be Synced in a moment", s: leaving(db(1, starting, func(m *galera.Member) {
			m.Failure = &galera.Failure{Message: "the last attempt"}
		})), reason: ReasonScaling, contains: "waiting for db-1"},
		{name: "not while another gives its state", s: leaving(db(1, state(galera.NodeDonor))), reason: ReasonScaling,
			contains: "waiting for db-1"},
		{name: "not while another's copy is not on the disk", s: leaving(db(1, halfKept)), reason: ReasonScaling,
			contains: "waiting for db-1"},
		{name: "a joiner may be stopped while it copies", s: leaving(db(1, state(galera.NodeDonor)),
			db(2, state(galera.NodeJoining))),
			action: send("db-2", "scaledown-5", 5, OrderStop, none, "stop")},
		{name: "it does not answer yet", s: leaving(db(2, starting)), reason: ReasonScaling, contains: "the agent of db-2"},
		{name: "it is still being created", s: leaving(db(2, silent, func(m *galera.Member) { m.Pod.Creating = true })),
			reason: ReasonScaling, contains: "to be removed: the container of db-2 is being created"},
		{name: "it does not answer", s: leaving(db(2, silent)), reason: ReasonScaling, blocked: true,
			contains: "does not answer"},
		{name: "it is stopping", s: leaving(db(2, phase(galera.PhaseStopping))), reason: ReasonScaling,
			contains: "db-2 to stop"},
		{name: "its stop is not lifted", s: leaving(db(2, ended)), action: send("db-0", "scaledown-5", 5, OrderStart, none,
			"start")},
		{name: "each of the others is informed", s: leaving(db(2, ended), db(0, knowsOf)),
			action: send("db-1", "scaledown-5", 5, OrderStart, none, "start")},
		{name: "also after an earlier leader's order",
			s: gone(db(1, hasOrder("start-5/db-1/start", 5, OrderStart, orderDone))), action: SendOrder{
				Member: "db-1", ID: "scaledown-5/db-1/start/start-5/db-1/start", Epoch: 5, Kind: OrderStart}},
		{name: "and is informed then", s: gone(db(1, hasOrder("scaledown-5/db-1/start/start-5/db-1/start", 5, OrderStart,
			orderDone))),
			action: Complete{Message: "db-2 was removed", Size: 2}},
		{name: "the others still count it", s: gone(db(1, in("db-0", "db-1", "db-2"))), reason: ReasonScaling,
			contains: "db-1 to be Synced in a view without it"},
		{name: "the others' number still counts it",
			s: gone(db(1, func(m *galera.Member) { m.Server.Members, m.Server.Size = nil, 3 })), reason: ReasonScaling,
			contains: "db-1 to be Synced in a view without it"},
		{name: "it has left", s: gone(), action: Complete{Message: "db-2 was removed", Size: 2}},
		{name: "its data are needed until the others' are on the disk", s: gone(db(1, halfKept)), reason: ReasonScaling,
			contains: "waiting for db-1"},
		{name: "a donor for ever would never be Synced", s: gone(db(0, stuckAsDonor)),
			action: Complete{Message: "db-2 was removed", Size: 2}},
		{name: "but has to have applied all", s: gone(db(0, stuckAsDonor, queue(3))), reason: ReasonScaling,
			contains: "db-0 to be Synced in a view without it"},
		{name: "it never had a host", s: gone(db(2, waiting)), action: Complete{Message: "db-2 was removed", Size: 2}},
		{name: "stopped by an earlier operation is not enough", s: gone(db(2, knows(4), phase(galera.PhaseStopped))),
			action: send("db-2", "scaledown-5", 5, OrderStop, none, "stop")},
	})
	gaveUp(t, leaving(wanted(3)), "spec.replicas asks for it again")
	gaveUp(t, leaving(hibernated), "the cluster is to hibernate")
	gaveUp(t, leaving(all(down(10))), "the Primary component is lost")
	gaveUp(t, leaving(db(2, hasOrder("start-5/db-2/start", 5, OrderStart, orderDone))), "its stop was lifted")
	gaveUp(t, leaving(running(galera.Operation{ID: "scaledown-5", Type: galera.OpScaleDown, Target: "db-3", Epoch: 5})),
		"it is no longer the last member")
}
