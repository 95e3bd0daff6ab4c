package plan

import (
	"testing"

	"github.com/galera-operator/galera-operator/internal/galera"
)

func unrecorded(s *galera.Snapshot) { s.ClusterUUID = "" }

func started(s *galera.Snapshot) {
	s.Operation = &galera.Operation{Type: galera.OpFirstStart, Epoch: 4}
}

func role(r string) memberOption { return func(m *galera.Member) { m.Pod.Role = r } }

func inHistory(uuid string) memberOption {
	return func(m *galera.Member) { m.Server.ClusterUUID, m.Position.UUID = uuid, uuid }
}

func TestTwoPrimaries(t *testing.T) {
	check(t, []row{
		{name: "all in one component", s: shop(), reason: ReasonHealthy},
		{name: "two components that do not know each other",
			s:      shop(db(0, in("db-0")), db(1, in("db-1", "db-2")), db(2, in("db-1", "db-2"))),
			reason: ReasonTwoPrimaryComponents, blocked: true, contains: "db-0 and db-1"},
		{name: "nothing is done about an outdated pod meanwhile",
			s:      shop(db(0, in("db-0")), db(1, in("db-1", "db-2"), outdatedPod), db(2, in("db-1", "db-2"))),
			reason: ReasonTwoPrimaryComponents, blocked: true},
		{name: "one that has not heard of its loss yet is no second component",
			s: shop(db(1, in("db-1", "db-2")), db(2, in("db-1", "db-2"))), reason: ReasonHealthy},
		{name: "old lists that overlap are no second component",
			s:      shop(db(0, down(9), role("replica")), db(1, in("db-0", "db-1"), role("primary")), db(2, in("db-0", "db-2"))),
			reason: ReasonJoining},
		{name: "a Primary of another history",
			s: shop(db(0, down(9)), db(1, down(9)), db(2, inHistory(other))), reason: ReasonForeignData, blocked: true,
			contains: other},
		{name: "two histories before one was recorded",
			s: shop(unrecorded, db(2, inHistory(other))), reason: ReasonTwoPrimaryComponents, blocked: true},
	})
}

func TestRecordUUID(t *testing.T) {
	check(t, []row{
		{name: "as soon as there is a component", s: shop(unrecorded, started), action: RecordUUID{history, 4, false}},
		{name: "with the highest epoch that any member remembers", s: shop(unrecorded, db(1, knows(7))),
			action: RecordUUID{history, 7, true}},
		{name: "also in a hibernation that was begun before",
			s: shop(unrecorded, func(s *galera.Snapshot) {
				s.Operation = &galera.Operation{Type: galera.OpHibernate,
					Epoch: 4}
			}),
			action: RecordUUID{history, 4, true}},
		{name: "an epoch that the status has lost", s: shop(db(1, knows(7))), action: RecordUUID{history, 7, true}},
		{name: "an epoch known from a bootstrap", s: shop(db(1, line(6))), action: RecordUUID{history, 6, true}},
		{name: "not a zero UUID", s: shop(unrecorded, all(inHistory(galera.ZeroUUID))), reason: ReasonWaitingForMembers},
		{name: "an approval that was not needed is used up", s: shop(trust("db-1", at(9), 5)),
			action: RecordUUID{history, 5, false}},
		{name: "an approval of long ago is left alone", s: shop(trust("db-1", at(9), 3)), reason: ReasonHealthy},
	})
}

func TestFollowWriter(t *testing.T) {
	terminating := func(m *galera.Member) { m.Pod.Terminating = true }
	draining := func(m *galera.Member) { m.Draining = true }
	unready := func(m *galera.Member) { m.Pod.Ready = false }
	cordoned := func(m *galera.Member) { m.Pod.Cordoned = true }
	check(t, []row{
		{name: "leaves a host that may be drained", s: shop(db(0, cordoned)), action: AssignRoles{Primary: "db-1"}},
		{name: "not to another such host", s: shop(db(0, cordoned), db(1, cordoned)), action: AssignRoles{Primary: "db-2"}},
		{name: "stays when all hosts are like that", s: shop(all(cordoned)), reason: ReasonHealthy},
		{name: "stays where it went, once the host takes pods again",
			s:      shop(db(0, role("replica")), db(1, role(rolePrimary)), func(s *galera.Snapshot) { s.Primary = "db-1" }),
			reason: ReasonHealthy},
		{name: "stays on such a host while no other node is Synced", s: shop(db(0, cordoned), db(1, state(galera.NodeDonor)),
			db(2, state(galera.NodeJoining))), reason: ReasonJoining},
		{name: "does not go to such a host for its sake alone", s: shop(db(0, draining), db(1, cordoned)),
			action: AssignRoles{Primary: "db-2"}},
		{name: "a donor on such a host stays, as any", s: shop(db(0, cordoned, state(galera.NodeDonor)), db(1, cordoned),
			db(2, state(galera.NodeJoining))), reason: ReasonJoining},
		{name: "stays on such a host while the only other one is restarted", s: shop(db(0, cordoned), db(2, cordoned),
			db(1, oldConfig), running(restartOf("db-1"))),
			action: send("db-1", "restart-5", 5, OrderRestart, galera.Position{}, "restart/r1")},
		{name: "not if it cannot write meanwhile", s: shop(db(0, state(galera.NodeDonor), unready), db(1, oldConfig),
			db(2, state(galera.NodeJoining)), running(restartOf("db-1"))),
			action: AssignRoles{Primary: "db-1"}},
		{name: "stays where it is", s: shop(), reason: ReasonHealthy},
		{name: "leaves a node that stops", s: shop(db(0, draining)), action: AssignRoles{Primary: "db-1"}},
		{name: "leaves a pod that is deleted", s: shop(db(0, terminating)), action: AssignRoles{Primary: "db-1"}},
		{name: "leaves a node that lost quorum", s: shop(db(0, nonPrimary(10, "db-0"))),
			action: AssignRoles{Primary: "db-1"}},
		{name: "leaves a server that has ended", s: shop(db(0, down(10))), action: AssignRoles{Primary: "db-1"}},
		{name: "stays on a donor", s: shop(db(0, state(galera.NodeDonor)), db(2, state(galera.NodeJoining))),
			reason: ReasonJoining},
		{name: "leaves a donor that is blocked", s: shop(db(0, state(galera.NodeDonor), unready),
			db(2, state(galera.NodeJoining))), action: AssignRoles{Primary: "db-1"}},
		{name: "stays on a blocked donor when no other node can write", s: shop(db(0, state(galera.NodeDonor), unready),
			db(1, state(galera.NodeJoining)), db(2, state(galera.NodeJoining))), reason: ReasonJoining},
		{name: "stays on one of two blocked donors", s: shop(db(0, state(galera.NodeDonor), unready, role("replica")),
			db(1, state(galera.NodeDonor), unready, role(rolePrimary)), db(2, state(galera.NodeJoining))),
			reason: ReasonJoining},
		{name: "a pod that came back is no reason to move", s: shop(db(2, role("replica"), state(galera.NodeJoining))),
			reason: ReasonJoining},
		{name: "of two roles one goes", s: shop(db(2, role(rolePrimary))), action: AssignRoles{Primary: "db-0"}},
		{name: "comes back to the recorded primary",
			s:      shop(all(role("replica")), func(s *galera.Snapshot) { s.Primary = "db-2" }),
			action: AssignRoles{Primary: "db-2"}},
		{name: "not to a copy that is not on the disk", s: shop(all(role("replica")), db(0, halfKept)),
			action: AssignRoles{Primary: "db-1"}},
		{name: "no node can write", s: shop(all(state(galera.NodeJoining))), reason: ReasonJoining},
	})
}
