package plan

import (
	"testing"

	"github.com/galera-operator/galera-operator/internal/galera"
)

func failing(reason, message string) memberOption {
	return func(m *galera.Member) { m.Failure = &galera.Failure{Reason: reason, Message: message} }
}

func upgrading(m *galera.Member) { m.Upgrading = true }

// crashing is down in the pod of a bad image, between two attempts.
func crashing(m *galera.Member) {
	down(9)(m)
	failing("ServerExited", "exit code 1")(m)
}

// unpulled has no container at all: its image does not exist.
func unpulled(m *galera.Member) {
	*m = galera.Member{Name: m.Name, Ordinal: m.Ordinal, HeldData: true, Pod: galera.Pod{Exists: true, Waiting: true,
		Role: "replica"}}
}

func TestImageRollout(t *testing.T) {
	turn := running(restartOf("db-2"))
	rest := db(1, outdatedPod)
	first := db(0, outdatedPod)
	check(t, []row{
		{name: "not before mariadb-upgrade has ended", s: shop(first, rest, db(2, upgrading), turn), reason: ReasonUpgrading,
			contains: "mariadb-upgrade on db-2"},
		{name: "nor is the next one begun", s: shop(first, rest, db(2, upgrading)), reason: ReasonUpgrading,
			contains: "mariadb-upgrade on db-2"},
		{name: "halted when it fails", s: shop(first, rest, db(2, upgrading, failing("UpgradeFailed", "no space")), turn),
			reason: ReasonMemberFailed, contains: "halted: db-2: no space"},
		{name: "halted when the new server ends", s: shop(first, rest, db(2, crashing), turn), reason: ReasonMemberFailed,
			contains: "halted: db-2: exit code 1"},
		{name: "halted when there is no image", s: shop(first, rest, db(2, unpulled), turn), reason: ReasonRestarting,
			contains: "db-2"},

		// Another template: the one of before, or a better one. The pods that still run are of the first.
		{name: "on from a server that ends", s: shop(db(2, crashing, outdatedPod), turn), action: DeletePod{"db-2"}},
		{name: "on from a server that ends, with a new journal", s: shop(db(2, crashing, outdatedPod)),
			action: Begin{restartOf("db-2")}},
		{name: "on from an image that is not there", s: shop(db(2, unpulled, outdatedPod), turn), action: DeletePod{"db-2"}},
		{name: "on from a failed mariadb-upgrade",
			s: shop(all(outdatedPod), db(2, upgrading, failing("UpgradeFailed", "no space")), turn), action: DeletePod{"db-2"}},
		{name: "on from a failed mariadb-upgrade, with a new journal",
			s:      shop(all(outdatedPod), db(2, upgrading, failing("UpgradeFailed", "no space"))),
			action: Begin{restartOf("db-2")}},
		{name: "not while it starts", s: shop(db(2, crashing, outdatedPod,
			func(m *galera.Member) { m.Phase = galera.PhaseStarting }), turn),
			reason: ReasonMemberFailed, contains: "halted"},
		{name: "no other node is touched meanwhile",
			s:      shop(first, rest, db(2, crashing, outdatedPod, func(m *galera.Member) { m.Pod.Terminating = true }), turn),
			reason: ReasonMemberFailed, contains: "halted"},
	})
}

func TestLaterData(t *testing.T) {
	later := func(m *galera.Member) {
		down(12)(m)
		m.Phase, m.LaterData = galera.PhaseFailed, true
	}
	check(t, []row{
		{name: "nothing starts without it", s: shop(all(down(10)), db(2, later)), reason: ReasonDowngradeRefused,
			contains: "set spec.image back to the later image", blocked: true},
		{name: "its pod is replaced by one of another image", s: shop(all(down(10)), db(2, later, outdatedPod)),
			action: DeletePod{"db-2"}},
	})
	gaveUp(t, shop(all(down(10)), db(2, later),
		running(galera.Operation{ID: "recover-5", Type: galera.OpRecover, Epoch: 5, BootstrapMember: "db-0",
			Position: at(10)})),
		"cannot be started with this image")
}
