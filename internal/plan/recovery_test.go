package plan

import (
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/galera"
)

func recoverBy(member string, seqno, epoch int64) Action {
	return Begin{galera.Operation{ID: "recover-" + string(rune('0'+epoch)), Type: galera.OpRecover, Epoch: epoch,
		BootstrapMember: member, Position: at(seqno)}}
}

func rebuildBy(member string, seqno, epoch int64) Action {
	return Begin{galera.Operation{ID: "rebuildquorum-" + string(rune('0'+epoch)), Type: galera.OpRebuildQuorum,
		Epoch: epoch, BootstrapMember: member, Position: at(seqno)}}
}

func TestFirstStart(t *testing.T) {
	check(t, []row{
		{name: "all empty", s: fresh(), reason: ReasonFirstStart,
			action: Begin{galera.Operation{ID: "firststart-1", Type: galera.OpFirstStart, Epoch: 1, BootstrapMember: "db-0"}}},
		{name: "a pod of an earlier template first", s: fresh(db(1, func(m *galera.Member) { m.Pod.Outdated = true })),
			action: DeletePod{"db-1"}},
		{name: "it is terminating", s: fresh(db(1, func(m *galera.Member) {
			m.Pod.Outdated, m.Pod.Terminating = true,
				true
		})), reason: ReasonFirstStart,
			action: Begin{galera.Operation{ID: "firststart-1", Type: galera.OpFirstStart, Epoch: 1, BootstrapMember: "db-0"}}},
		{name: "an image that cannot give", s: fresh(all(func(m *galera.Member) { m.LacksTools = true })),
			reason: ReasonTransferToolsMissing, blocked: true},
		{name: "one that needs not give", s: fresh(db(0, func(m *galera.Member) { m.LacksTools = true }),
			func(s *galera.Snapshot) { s.Members, s.Replicas = s.Members[:1], 1 }),
			reason: ReasonFirstStart, action: Begin{galera.Operation{ID: "firststart-1", Type: galera.OpFirstStart, Epoch: 1,
				BootstrapMember: "db-0"}}},
		{name: "one is silent", s: fresh(db(2, silent)), reason: ReasonWaitingForMembers, contains: "db-2"},
		{name: "one is not examined yet", s: fresh(db(2, phase(galera.PhaseExamining))), reason: ReasonWaitingForMembers},
		{name: "one was seen with data once", s: fresh(db(2, func(m *galera.Member) { m.HeldData = true })),
			reason: ReasonPositionUnknown, blocked: true},
		{name: "one is half filled", s: fresh(db(2, incomplete)), reason: ReasonPositionUnknown, blocked: true},
		{name: "there is a history: never again", s: fresh(func(s *galera.Snapshot) { s.ClusterUUID = history }),
			reason: ReasonDataLost, blocked: true},
	})
}

func TestAdoptHistory(t *testing.T) {
	check(t, []row{
		{name: "volumes of one history", s: fresh(all(down(8))), action: RecordUUID{history, 0, true}},
		{name: "some are empty", s: fresh(db(1, down(8))), action: RecordUUID{history, 0, true}},
		{name: "two histories", s: fresh(db(0, down(8)), db(1, foreign(9))), reason: ReasonForeignData, blocked: true},
		{name: "one is silent", s: fresh(db(0, down(8)), db(1, silent)), reason: ReasonWaitingForMembers, contains: "db-1"},
		{name: "an order book that cannot be read, the others are empty", s: fresh(db(0, damaged(8))),
			reason: ReasonOrderBookDamaged, blocked: true, contains: "db-0"},
		{name: "the same next to data", s: fresh(db(0, damaged(8)), db(1, down(7))), action: RecordUUID{history, 0, true}},
		{name: "a copy of another cluster's volumes", s: fresh(all(down(8)), db(1, copied)),
			reason: ReasonForeignData, blocked: true, contains: "copied"},
		{name: "an order book that cannot be read, on data of another history",
			s: fresh(db(0, damaged(8)), db(1, foreign(9))), reason: ReasonForeignData, blocked: true},
		{name: "a member that got orders remembers the epoch, one that cannot be asked may know a higher one",
			s:      fresh(db(0, damaged(8)), db(1, down(7), knows(3))),
			action: RecordUUID{history, 3, true}},
		{name: "a later MariaDB has used them all",
			s: fresh(all(down(8)), all(func(m *galera.Member) { m.LaterData = true })), reason: ReasonDowngradeRefused,
			blocked:  true,
			contains: "set spec.image back to the later image"},
		{name: "only data that the group voted out", s: fresh(db(0, down(8), func(m *galera.Member) { m.VotedOut = true })),
			reason: ReasonPositionUnknown, blocked: true, contains: "found to differ"},
		{name: "no position anywhere", s: fresh(db(0, unreadable)), reason: ReasonPositionUnknown, blocked: true},
	})
}

func TestRecover(t *testing.T) {
	check(t, []row{
		{name: "the highest seqno", s: shop(db(0, down(8)), db(1, down(12)), db(2, down(11))),
			action: recoverBy("db-1", 12, 5)},
		{name: "of equals the one safe to bootstrap", s: shop(all(down(8)), db(2, safe)), action: recoverBy("db-2", 8, 5)},
		{name: "of equals the last primary", s: shop(all(down(8)), func(s *galera.Snapshot) { s.Primary = "db-1" }),
			action: recoverBy("db-1", 8, 5)},
		{name: "of equals the lowest ordinal", s: shop(all(down(8)), func(s *galera.Snapshot) { s.Primary = "" }),
			action: recoverBy("db-0", 8, 5)},
		{name: "the epoch is above all that is remembered", s: shop(all(down(8)), db(2, knows(7))),
			action: RecordUUID{history, 7, true}, reason: ReasonJoining},
		{name: "an unfinished transfer is not data", s: shop(db(0, down(8)), db(1, incomplete), db(2, incomplete)),
			action: recoverBy("db-0", 8, 5)},
		{name: "a later line before a higher seqno needs a person", s: shop(db(0, down(8), line(3)), db(1, down(9), line(1)),
			db(2, down(7), line(3))),
			reason: ReasonForeignData, blocked: true, contains: "db-1 holds write-sets that the latest line"},
		// The status was set back: lines of one epoch, or later ones, are not those of the cluster.
		{name: "two lines of one epoch, one recorded", s: shop(db(0, down(9), named(3, "x", "a")),
			firstTwo(down(8), named(3, "y", "a")),
			inLineOf("y")),
			reason: ReasonForeignData, blocked: true, contains: `"member":"db-1"`},
		{name: "two lines of one epoch, none recorded", s: shop(db(0, down(9), named(3, "x", "a")),
			firstTwo(down(8), named(3, "y", "a")),
			inLineOf("")),
			reason: ReasonForeignData, blocked: true, contains: "db-1 and db-2 hold write-sets that the latest line"},
		{name: "a later epoch that the status does not know", s: shop(db(0, down(9), named(4, "x", "a")),
			firstTwo(down(8), named(3, "y", "a")),
			inLineOf("y")),
			reason: ReasonForeignData, blocked: true, contains: `"member":"db-1"`},
		{name: "two lines after the recorded one", s: shop(db(0, down(9), named(4, "x", "a")),
			firstTwo(down(8), named(3, "y", "a")),
			inLineOf("a")),
			reason: ReasonForeignData, blocked: true, contains: "db-1 and db-2 hold write-sets that the latest line"},
		{name: "a line that was given up, as usual", s: shop(db(0, down(7), named(3, "x", "a")),
			firstTwo(down(8), named(4, "y", "a")),
			inLineOf("y")),
			action: recoverBy("db-1", 8, 5)},
		{name: "a line that has not been heard of",
			s: shop(db(0, down(8), named(3, "a")), firstTwo(down(8), named(4, "y", "a")),
				inLineOf("y")),
			action: recoverBy("db-1", 8, 5)},
		{name: "a later line and the higher seqno", s: shop(db(0, down(9), line(3)), db(1, down(8), line(1)),
			db(2, down(7), line(3))), action: recoverBy("db-0", 9, 5)},
		{name: "one is still stopping", s: shop(all(down(8)), db(1, phase(galera.PhaseStopping))),
			reason: ReasonWaitingForMembers, contains: "db-1"},
		{name: "no member has data", s: shop(all(incomplete)), reason: ReasonDataLost, blocked: true,
			contains: "restore a backup into a new cluster"},
	})
}

func TestMissingMembers(t *testing.T) {
	created := func(m *galera.Member) { m.Pod.Creating = true }
	check(t, []row{
		{name: "an order book that cannot be read, further on: a person", s: shop(all(down(8)), db(2, damaged(9))),
			reason: ReasonOrderBookDamaged, blocked: true,
			contains: printed("db-0", 8, 5, "db-2", galera.Gone)},
		{name: "the same, approved", s: shop(all(down(8)), db(2, damaged(9)), trust("db-0", at(8), 5, "db-2")),
			action: recoverBy("db-0", 8, 5)},
		{name: "an order book that cannot be read, alone", s: shop(all(empty), db(0, damaged(8))),
			reason:   ReasonOrderBookDamaged,
			blocked:  true,
			contains: "db-1 and db-2 lost their data"},
		{name: "silent: waits, and prints the command", s: shop(all(down(8)), db(2, silent)), reason: ReasonWaitingForMembers,
			blocked:  true,
			contains: printed("db-0", 8, 5, "db-2", galera.Gone)},
		{name: "silent, and just started: no approval is asked for", s: shop(all(down(8)), db(2, starting)),
			reason: ReasonWaitingForMembers, contains: "Waiting for the agent of db-2"},
		{name: "silent, while its image is pulled: none either", s: shop(all(down(8)), db(2, silent, created)),
			reason: ReasonWaitingForMembers, contains: "which may be starting: the container of db-2 is being created"},
		{name: "but not for ever either", s: shop(all(down(8)), db(2, silent, created),
			func(s *galera.Snapshot) { s.NoPrimaryFor = firstStartTimeout }), reason: ReasonWaitingForMembers, blocked: true,
			contains: printed("db-0", 8, 5, "db-2", galera.Gone)},
		{name: "all are just started", s: shop(all(starting)), reason: ReasonWaitingForMembers,
			contains: "Waiting for the agents of db-0, db-1 and db-2"},
		{name: "next to one whose disk is lost", s: shop(db(0, down(8)), db(1, empty), db(2, starting)),
			reason: ReasonWaitingForMembers, contains: "db-1 lost its data"},
		{name: "a first start may pull its images", s: fresh(db(2, silent)), reason: ReasonWaitingForMembers},
		{name: "but not for ever", s: fresh(db(2, silent, func(m *galera.Member) { m.SilentFor = firstStartTimeout })),
			reason: ReasonWaitingForMembers, blocked: true, contains: "pods do not run"},
		{name: "one that was to be added and never had a host", s: shop(all(down(8)), db(2, unplaced)),
			action: recoverBy("db-0", 8, 5)},
		{name: "the same, and it has held data", s: shop(all(down(8)), db(2, unplaced,
			func(m *galera.Member) { m.HeldData = true })), reason: ReasonWaitingForMembers, blocked: true},
		{name: "nor is it known what it held before the status was lost", s: shop(all(down(8)), db(2, unplaced),
			func(s *galera.Snapshot) { s.ClusterUUID = "" }), reason: ReasonWaitingForMembers},
		{name: "disk lost", s: shop(all(down(8)), db(2, empty)), reason: ReasonDataLost, blocked: true,
			contains: "db-2 lost its data"},
		{name: "never had data", s: shop(all(down(8)), db(2, empty, func(m *galera.Member) { m.HeldData = false })),
			action: recoverBy("db-0", 8, 5)},
		{name: "all disks lost", s: shop(all(empty)), reason: ReasonDataLost, blocked: true,
			contains: "db-0 empty, db-1 empty, db-2 empty. The cluster does not start empty by itself. Bring back a volume"},
		{name: "all disks lost, but for one that does not answer", s: shop(all(empty), db(2, silent)),
			reason: ReasonWaitingForMembers, blocked: true,
			contains: "db-2 does not answer; known positions: db-0 empty, db-1 empty, db-2 silent. No other member has data " +
				"to start from: bring the missing members back, or restore a backup"},
		{name: "all disks lost, with an approval: it names no data",
			s: shop(all(empty), trust("db-0", at(8), 5, "db-1", "db-2")), reason: ReasonDataLost, blocked: true},
		{name: "a copy of another cluster's volume", s: shop(all(down(8)), db(2, copied)), reason: ReasonForeignData,
			blocked:  true,
			contains: "db-2 holds data of another cluster"},
		{name: "foreign", s: shop(all(down(8)), db(2, foreign(99))), reason: ReasonForeignData, blocked: true,
			contains: "db-2 holds data of another cluster"},
		{name: "position unreadable", s: shop(all(down(8)), db(2, unreadable)), reason: ReasonPositionUnknown, blocked: true},
		{name: "no member to vouch for", s: shop(all(foreign(9))), reason: ReasonForeignData, blocked: true,
			contains: "known positions"},
		{name: "approved", s: shop(all(down(8)), db(2, silent), trust("db-0", at(8), 5, "db-2")),
			action: recoverBy("db-0", 8, 5)},
		{name: "approved, but another member is missing too", s: shop(all(down(8)), db(1, silent), db(2, silent),
			trust("db-0",
				at(8), 5, "db-2")), reason: ReasonWaitingForMembers, blocked: true,
			contains: `"without":[{"name":"db-1","as":"Gone"},{"name":"db-2","as":"Gone"}]`},
		{name: "approved of equals", s: shop(all(down(8)), db(2, silent), trust("db-1", at(8), 5, "db-2")),
			action: recoverBy("db-1", 8, 5)},
		{name: "approved at another position", s: shop(all(down(8)), db(2, silent), trust("db-0", at(7), 5, "db-2")),
			reason: ReasonWaitingForMembers, blocked: true,
			contains: "The approval in spec.recovery is for another situation"},
		{name: "approved for another attempt", s: shop(all(down(8)), db(2, silent), trust("db-0", at(8), 4, "db-2")),
			reason: ReasonWaitingForMembers, blocked: true},
		{name: "approved, and not the most advanced", s: shop(db(0, down(8)), db(1, down(9)), db(2, silent), trust("db-0",
			at(8), 5, "db-2")), reason: ReasonWaitingForMembers, blocked: true},
	})
}

func TestQuorumLost(t *testing.T) {
	trio := []string{"db-0", "db-1", "db-2"}
	check(t, []row{
		{name: "one receives a copy", s: shop(all(nonPrimary(9, "db-0", "db-1", "db-2")), db(1, copied,
			phase(galera.PhaseStarting)), lostFor(catchUpTimeout)), reason: ReasonWaitingForMembers,
			contains: "waiting for db-1 to finish"},
		{name: "one receives a copy for long", s: shop(all(nonPrimary(9, "db-0", "db-1", "db-2")), db(1, copied,
			phase(galera.PhaseStarting)), lostFor(catchUpTimeout+time.Second)), reason: ReasonWaitingForMembers,
			blocked: true, contains: "db-1 did not finish starting"},
		{name: "one component of all", s: shop(db(0, nonPrimary(8, trio...)), db(1, nonPrimary(9, trio...)),
			db(2, nonPrimary(9, trio...))), action: rebuildBy("db-1", 9, 5)},
		{name: "the rest is down and behind", s: shop(db(0, nonPrimary(9, "db-0")), db(1, down(9)), db(2, down(8))),
			action: rebuildBy("db-0", 9, 5)},
		{name: "the rest is down and ahead", s: shop(db(0, nonPrimary(8, "db-0")), db(1, down(9)), db(2, down(8))),
			action: recoverBy("db-1", 9, 5)},
		{name: "the view is not complete", s: shop(db(0, nonPrimary(9, "db-0", "db-1")), db(1, nonPrimary(9, "db-0", "db-1")),
			db(2, silent)),
			reason: ReasonWaitingForMembers, blocked: true, contains: "db-2"},
		{name: "parts may find each other", s: shop(db(0, nonPrimary(9, "db-0")), db(1, nonPrimary(9, "db-1")),
			db(2, nonPrimary(9, "db-2")), lostFor(5*time.Second)), reason: ReasonQuorumLost},
		{name: "parts did not find each other", s: shop(db(0, nonPrimary(9, "db-0")), db(1, nonPrimary(9, "db-1")),
			db(2, nonPrimary(9, "db-2")), lostFor(time.Minute)), action: rebuildBy("db-0", 9, 5)},
		{name: "one does not get on with what it has received",
			s: shop(db(0, nonPrimary(9, "db-0")), db(1, nonPrimary(8, "db-1"), queue(3)), db(2, down(8)),
				lostFor(time.Hour)),
			reason: ReasonQuorumLost, blocked: true, contains: "delete the pod"},
		{name: "one still applies what it has received",
			s: shop(db(0, nonPrimary(9, "db-0")), db(1, nonPrimary(8, "db-1"), queue(3)), db(2, down(8)),
				lostFor(time.Minute)),
			reason: ReasonQuorumLost, contains: "db-1 is still applying"},
		{name: "a Primary exists: hands off", s: shop(db(0, nonPrimary(9, "db-0")), db(1, in("db-1", "db-2")),
			db(2, in("db-1", "db-2")), db(1, role(rolePrimary)), db(0, role("replica"))), reason: ReasonJoining},
	})
}

// TestMarkedData: data that Galera has marked hold nothing beyond their position, and are gone on from when none are as
// far.
func TestMarkedData(t *testing.T) {
	marked := func(m *galera.Member) { m.Marked = true }
	votedOut := func(m *galera.Member) { m.Marked, m.VotedOut = true, true }
	from := func(name string, seqno int64) Begin {
		return Begin{galera.Operation{ID: "recover-5", Type: galera.OpRecover, Epoch: 5, BootstrapMember: name,
			Position: at(seqno)}}
	}
	check(t, []row{
		{name: "behind another one", s: shop(all(down(9)), db(0, down(8), marked)), action: from("db-1", 9)},
		{name: "as far as another one", s: shop(all(down(9)), db(0, marked)), action: from("db-1", 9)},
		{name: "further", s: shop(all(down(9)), db(0, down(10), marked)), action: from("db-0", 10)},
		{name: "all of them", s: shop(all(down(9), marked)), action: from("db-0", 9),
			contains: "the other nodes join by SST"},
		{name: "voted out, and behind", s: shop(all(down(9)), db(0, down(8), votedOut)), action: from("db-1", 9)},
		{name: "voted out, and as far", s: shop(all(down(9), marked), db(0, votedOut)), action: from("db-1", 9)},
		{name: "voted out, and further in an earlier line",
			s:      shop(all(down(9), line(2)), db(0, down(10), line(1), votedOut)),
			reason: ReasonPositionUnknown, blocked: true, contains: "db-0 holds data that the group found to differ"},
		{name: "voted out, and as far as one that cannot start", s: shop(db(0, down(10), votedOut), db(1, down(10),
			cannotStart), db(2, down(9))), reason: ReasonMemberFailed, blocked: true,
			contains: "db-0 holds data that the group"},
		{name: "voted out, and further", s: shop(all(down(9)), db(0, down(10), votedOut)), reason: ReasonPositionUnknown,
			blocked: true, contains: "db-0 holds data that the group found to differ"},
	})
}
