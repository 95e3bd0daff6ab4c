package plan

import (
	"testing"

	"github.com/galera-operator/galera-operator/internal/galera"
)

func lacksTools(m *galera.Member) { m.LacksTools = true }

// waits is a new member that has got no copy yet.
func waits(d galera.DataState) memberOption {
	return func(m *galera.Member) {
		down(0)(m)
		m.Data, m.Position, m.HeldData = d, galera.Position{}, false
		m.Failure = &galera.Failure{Reason: "TransferFailed", Message: "no socat"}
		m.ServerVersion = "11.8.6-MariaDB"
	}
}

func version(v string) memberOption { return func(m *galera.Member) { m.ServerVersion = v } }

// alone is a cluster that was scaled up from one node, whose image cannot give, before another image was wanted.
func alone(changes ...change) galera.Snapshot {
	return shop(append([]change{db(0, lacksTools, outdatedPod, version("11.8.2-MariaDB")),
		func(s *galera.Snapshot) { s.Members = s.Members[:2] },
		db(1, waits(galera.DataEmpty))}, changes...)...)
}

func TestReleaseOnlyDonor(t *testing.T) {
	restart := Begin{restartOf("db-0")}
	turn := running(restartOf("db-0"))
	check(t, []row{
		{name: "it is restarted, though no other node serves", s: alone(), action: restart,
			contains: "db-0 is the only node with data"},
		{name: "with half a copy on another node", s: alone(db(1, waits(galera.DataIncomplete))), action: restart},
		{name: "its pod is replaced, and the reason reported", s: alone(turn), action: DeletePod{"db-0"},
			contains: "no node serves meanwhile"},
		{name: "its pod is terminating already", s: alone(turn, db(0, func(m *galera.Member) { m.Pod.Terminating = true })),
			reason: ReasonRestarting, contains: "waiting for db-0"},
		{name: "then the cluster starts anew from it",
			s:      alone(db(0, down(10), func(m *galera.Member) { m.LacksTools, m.Pod.Outdated = false, false })),
			action: recoverBy("db-0", 10, 5)},

		{name: "not with an image that can give", s: alone(db(0, func(m *galera.Member) { m.LacksTools = false })),
			reason: ReasonMemberFailed, contains: "halted"},
		{name: "not in a pod of the present template", s: alone(db(0, func(m *galera.Member) { m.Pod.Outdated = false })),
			reason: ReasonMemberFailed},
		{name: "not while it gives", s: alone(db(0, state(galera.NodeDonor))), reason: ReasonRestarting},
		{name: "not unready", s: alone(db(0, func(m *galera.Member) { m.Pod.Ready = false })), reason: ReasonRestarting},
		{name: "not when it could not be started again", s: alone(db(0, func(m *galera.Member) { m.BookDamaged = true })),
			reason: ReasonMemberFailed},
		{name: "not before the image is known to have the programs", s: alone(db(1, lacksTools)), reason: ReasonMemberFailed},
		{name: "nor by a configuration it has not read yet",
			s: alone(db(1, func(m *galera.Member) { m.ConfigLoaded = "r0" })), reason: ReasonMemberFailed},
		{name: "not with an image that could not use the data", s: alone(db(1, version("10.11.14-MariaDB"))),
			reason: ReasonMemberFailed},
		{name: "nor with one whose version is unknown", s: alone(db(1, version(""))), reason: ReasonMemberFailed},
		{name: "with a later one", s: alone(db(1, version("12.3.1-MariaDB"))), action: restart},
		{name: "not before it is known to run", s: alone(db(1, outdatedPod, func(m *galera.Member) { m.Failure = nil })),
			reason: ReasonRestarting, contains: "waiting for db-1"},
		{name: "who cannot come up in its old pod comes first", s: alone(db(1, outdatedPod, phase(galera.PhaseFailed))),
			action: Begin{restartOf("db-1")}},
		{name: "in its turn it waits for one that is silent", s: alone(turn, db(1, silent)), reason: ReasonRestarting,
			contains: "waiting for db-1"},
		{name: "not while another starts", s: alone(db(1, phase(galera.PhaseStarting))), reason: ReasonMemberFailed},
		{name: "not next to one that is silent", s: alone(db(1, silent)), reason: ReasonRestarting,
			contains: "waiting for db-1"},
		{name: "not next to one that has data", s: alone(db(1, down(8))), reason: ReasonMemberFailed},
		{name: "not next to one whose data are not examined",
			s: alone(db(1, func(m *galera.Member) { m.Data = galera.DataUnknown })), reason: ReasonMemberFailed},
		{name: "not next to one that has lost its data", s: alone(db(1, func(m *galera.Member) { m.HeldData = true })),
			reason: ReasonMemberFailed},
		{name: "not next to one whose pod goes", s: alone(db(1, func(m *galera.Member) { m.Pod.Terminating = true })),
			reason: ReasonMemberFailed},
		{name: "not while another serves", s: shop(all(lacksTools, outdatedPod),
			db(2, waits(galera.DataEmpty), func(m *galera.Member) {
				m.LacksTools, m.Pod.Outdated = false, false
			})), reason: ReasonMemberFailed},
		{name: "a single node as ever", s: alone(func(s *galera.Snapshot) { s.Members, s.Replicas = s.Members[:1], 1 }),
			action:   restart,
			contains: "rolling restart of db-0"},
		{name: "who is to leave leaves", s: alone(wanted(1)),
			action: Begin{galera.Operation{ID: "scaledown-5", Type: galera.OpScaleDown, Target: "db-1", Epoch: 5}}},
		{name: "hibernated instead", s: alone(hibernated),
			action: Begin{galera.Operation{ID: "hibernate-5", Type: galera.OpHibernate, Epoch: 5}}},
	})
	for _, op := range []galera.Operation{restartOf("db-1"), {ID: "switchtls-5", Type: galera.OpSwitchTLS, Epoch: 5,
		Step: stepRolling}} {
		gaveUp(t, alone(running(op)), "is restarted first")
	}
}
