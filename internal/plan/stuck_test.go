package plan

import (
	"strings"
	"testing"

	"github.com/galera-operator/galera-operator/internal/galera"
)

// hung has a mariadbd that runs and does not answer.
func hung(m *galera.Member) {
	m.Server, m.Phase, m.Data, m.Position, m.Pod.Ready = nil, galera.PhaseStarting, galera.DataPresent, at(9), false
	m.CannotAct = galera.Hung
}

// killedButRunning was killed, and its process stays.
func killedButRunning(m *galera.Member) {
	hung(m)
	m.Phase, m.CannotAct = galera.PhaseStopping, galera.Killed
}

func slowExamination(m *galera.Member) {
	down(0)(m)
	m.Phase, m.Data, m.Position, m.CannotAct = galera.PhaseExamining, galera.DataUnknown, galera.Position{},
		galera.SlowExamination
}

func cannot(i galera.Inability) memberOption { return func(m *galera.Member) { m.CannotAct = i } }

func cannotStart(m *galera.Member) { m.Phase, m.CannotStart = galera.PhaseFailed, "no certificate" }

func terminating(m *galera.Member) { m.Pod.Terminating = true }

// trustUnable is an approval that gives one up though it is ahead.
func trustUnable(member string, p galera.Position, epoch int64, unable string) change {
	return func(s *galera.Snapshot) {
		trust(member, p, epoch)(s)
		s.Approval.Unable = []string{unable}
	}
}

// trustBut is an approval that has some of the missing members' servers ended first.
func trustBut(member string, p galera.Position, epoch int64, running string, without ...string) change {
	return func(s *galera.Snapshot) {
		trust(member, p, epoch, without...)(s)
		s.Approval.Running = []string{running}
	}
}

func TestStuckMemberIsMissing(t *testing.T) {
	command := func(name string, as galera.GivenUpAs) string {
		return printed("db-0", 8, 5, name, as)
	}
	check(t, []row{
		{name: "hung: the approval is printed, and ends its server first", s: shop(all(down(8)), db(2, hung)),
			reason: ReasonMemberFailed, blocked: true, contains: command("db-2", galera.StillRunning)},
		{name: "the message names what is wrong", s: shop(all(down(8)), db(2, hung)), reason: ReasonMemberFailed,
			blocked: true, contains: "db-2 runs and does not answer"},
		{name: "killed, and its process stays", s: shop(all(down(8)), db(2, killedButRunning)), reason: ReasonMemberFailed,
			blocked: true, contains: command("db-2", galera.Gone)},
		{name: "the check hangs", s: shop(all(down(8)), db(2, slowExamination)), reason: ReasonMemberFailed, blocked: true,
			contains: command("db-2", galera.Gone)},
		{name: "a frozen volume, further on", s: shop(all(down(8)), db(2, down(9), cannot(galera.Frozen))),
			reason: ReasonMemberFailed, blocked: true, contains: command("db-2", galera.Gone)},
		{name: "a read-only volume", s: shop(all(down(8)), db(2, down(8), cannot(galera.ReadOnly))),
			reason: ReasonMemberFailed, blocked: true, contains: "refuses writes"},
		{name: "a read-only volume, and its server runs",
			s: shop(all(down(8)), db(2, nonPrimary(8, "db-2"), cannot(galera.ReadOnly))), reason: ReasonMemberFailed,
			blocked: true, contains: command("db-2", galera.StillRunning)},
		{name: "approved", s: shop(all(down(8)), db(2, hung), trustBut("db-0", at(8), 5, "db-2")),
			action: recoverBy("db-0", 8, 5)},
		{name: "approved by a user who has seen that it does not run",
			s: shop(all(down(8)), db(2, hung), trust("db-0", at(8), 5, "db-2")), action: recoverBy("db-0", 8, 5)},
		{name: "approved while its agent answered, and it is silent now",
			s: shop(all(down(8)), db(2, silent), trustBut("db-0",
				at(8), 5, "db-2")), reason: ReasonWaitingForMembers, blocked: true, contains: command("db-2", galera.Gone)},
		{name: "all are stuck", s: shop(all(hung)), reason: ReasonMemberFailed, blocked: true,
			contains: "db-0, db-1 and db-2 run"},
		{name: "nothing is known of the history", s: shop(all(hung), func(s *galera.Snapshot) { s.ClusterUUID = "" }),
			reason: ReasonMemberFailed, blocked: true, contains: "no history can be found: db-0 runs"},
		{name: "the first start", s: fresh(db(1, cannot(galera.ReadOnly))), reason: ReasonMemberFailed, blocked: true,
			contains: "db-1 has a volume"},
		{name: "while others serve it is reported", s: shop(db(2, hung)), reason: ReasonMemberFailed,
			contains: "db-2 runs and does not answer (delete the pod"},
	})
}

func TestUnstartableMemberIsMissing(t *testing.T) {
	check(t, []row{
		{name: "of equals another one", s: shop(all(down(8)), db(0, cannotStart, safe)), action: recoverBy("db-1", 8, 5)},
		{name: "behind it does not matter", s: shop(all(down(8)), db(0, down(7), cannotStart)),
			action: recoverBy("db-1", 8, 5)},
		{name: "ahead a person decides", s: shop(all(down(8)), db(1, down(9), cannotStart)), reason: ReasonMemberFailed,
			blocked:  true,
			contains: "db-1 cannot start (no certificate); "},
		{name: "and may", s: shop(all(down(8)), db(1, down(9), cannotStart), trustUnable("db-0", at(8), 5, "db-1")),
			action: recoverBy("db-0", 8, 5)},
		{name: "it was given up for its silence", s: shop(all(down(8)), db(1, down(9), cannotStart),
			trust("db-0", at(8), 5, "db-1")),
			reason: ReasonMemberFailed, blocked: true, contains: `"without":[{"name":"db-1","as":"Unable"}]`},
		{name: "of the latest line, and the others went further before it",
			s:      shop(db(0, down(8), line(3), cannotStart), db(1, down(9), line(1)), db(2, down(7), line(1))),
			reason: ReasonMemberFailed, blocked: true,
			contains: `"member":"db-1","history":"` + history + `","seqno":9`},
		{name: "one that lacks nothing of it may have more than who is left",
			s:      shop(db(0, down(10), line(3), cannotStart), db(1, down(9), line(1)), db(2, down(7), line(3))),
			reason: ReasonMemberFailed, blocked: true, contains: "db-1 holds" + laterWrites},
		{name: "the first start waits for it", s: fresh(db(0, cannotStart)), reason: ReasonMemberFailed, blocked: true,
			contains: "no certificate"},
		{name: "the others only join", s: fresh(db(1, cannotStart)),
			action: Begin{galera.Operation{ID: "firststart-1", Type: galera.OpFirstStart, Epoch: 1, BootstrapMember: "db-0"}}},
	})
}

func TestRecoverWithoutStuckMember(t *testing.T) {
	none := galera.Position{}
	stop := send("db-2", "recover-5", 5, OrderStop, none, "stop")
	bootstrap := func(up ...string) Action {
		return giving(send("db-1", "recover-5", 5, OrderBootstrap, at(9), "bootstrap"), up...)
	}
	on := func(changes ...change) galera.Snapshot {
		return crashed(append([]change{db(0, knows(5)), trustBut("db-1", at(9), 5, "db-2")}, changes...)...)
	}
	ordered := hasOrder("recover-5/db-2/stop", 5, OrderStop, orderAccepted)
	check(t, []row{
		{name: "not approved", s: crashed(db(0, knows(5)), db(2, hung)), reason: ReasonMemberFailed, blocked: true,
			contains: `"without":[{"name":"db-2","as":"Running"}]`},
		{name: "a hung server is ended first", s: on(db(2, hung)), action: stop},
		{name: "it may be stopping already, for something else", s: on(db(2, hung, phase(galera.PhaseStopping))),
			action: stop},
		{name: "and is waited for", s: on(db(2, hung, phase(galera.PhaseStopping), ordered)), reason: ReasonMemberFailed,
			contains: "server of db-2"},
		{name: "it is being examined", s: on(db(2, slowExamination, cannot(galera.Able), ordered)),
			reason: ReasonWaitingForMembers, contains: "db-2"},
		{name: "that takes too long", s: on(db(2, slowExamination, ordered)), action: bootstrap("db-2")},
		{name: "killed, and its process stays", s: on(db(2, killedButRunning, ordered)), action: bootstrap("db-2")},
		{name: "it stands behind: nothing is given up", s: on(db(2, stopped(8), ordered)), action: bootstrap()},
		{name: "its agent went silent before it was seen to end", s: on(db(2, silent)), reason: ReasonWaitingForMembers,
			blocked: true, contains: `"without":[{"name":"db-2","as":"Gone"}]`},
		{name: "one that cannot write its book gets no order", s: on(db(2, down(12), cannot(galera.ReadOnly))),
			action: bootstrap("db-2")},
		{name: "nor one that is frozen", s: on(db(2, down(12), cannot(galera.Frozen))), action: bootstrap("db-2")},
		{name: "its server runs and cannot be ordered to stop", s: on(db(2, nonPrimary(12, "db-2"), cannot(galera.Frozen))),
			action: DeletePod{"db-2"}},
		{name: "its pod goes", s: on(db(2, nonPrimary(12, "db-2"), cannot(galera.Frozen), terminating)),
			reason: ReasonMemberFailed, contains: "the pod db-2 to end"},
		{name: "the approval was taken back before the order",
			s: on(db(2, killedButRunning, ordered), func(s *galera.Snapshot) { s.Approval = nil }), reason: ReasonMemberFailed,
			blocked: true, contains: `"without":[{"name":"db-2","as":"Gone"}]`},
		{name: "and after it", s: on(db(2, killedButRunning, ordered),
			db(1, hasOrder("recover-5/db-1/bootstrap", 5, OrderBootstrap, orderAccepted)),
			func(s *galera.Snapshot) { s.Approval = nil }),
			reason: ReasonRecovering, contains: "db-1 is bootstrapping"},
	})
	gaveUp(t, on(db(2, stopped(12), ordered)), "once ended, it turned out to be ahead: the choice is made anew")
	gaveUp(t, crashed(db(1, hung, hasOrder("recover-5/db-1/bootstrap", 5, OrderBootstrap, orderAccepted))),
		"who was to start the cluster hangs")
}

func TestWaitsForStuckMember(t *testing.T) {
	none := galera.Position{}
	hibernating := func(changes ...change) galera.Snapshot {
		return shop(append([]change{hibernated, running(hibernation)}, changes...)...)
	}
	end := func(m *galera.Member) { hasOrder("hibernate-5/"+m.Name+"/stop", 5, OrderStop, orderDone)(m) }
	leaving := galera.Operation{ID: "scaledown-5", Type: galera.OpScaleDown, Epoch: 5, Target: "db-2"}
	down1 := func(changes ...change) galera.Snapshot {
		return shop(append([]change{running(leaving), func(s *galera.Snapshot) { s.Replicas = 2 }}, changes...)...)
	}
	check(t, []row{
		{name: "a rolling restart reports which node it waits for", s: shop(all(oldConfig), db(2, hung)),
			reason: ReasonMemberFailed, contains: "while db-2 runs and does not answer"},
		{name: "also when it serves", s: shop(all(oldConfig), db(2, cannot(galera.Frozen))), reason: ReasonMemberFailed,
			contains: "while db-2 has a volume that is frozen"},
		{name: "a hibernation ends a hung server", s: hibernating(db(2, hung)),
			action: send("db-2", "hibernate-5", 5, OrderStop, none, "stop")},
		{name: "a killed one is as good as stopped", s: hibernating(db(2, killedButRunning, end)),
			action: send("db-1", "hibernate-5", 5, OrderStop, none, "stop")},
		{name: "then all are", s: hibernating(all(stopped(10), end), db(2, killedButRunning, end)),
			action: Complete{Message: "all nodes are stopped"}},
		{name: "one that is examined for ever, too", s: hibernating(db(2, slowExamination, end)),
			action: send("db-1", "hibernate-5", 5, OrderStop, none, "stop")},
		{name: "not before it was ordered", s: hibernating(db(2, slowExamination)),
			action: send("db-2", "hibernate-5", 5, OrderStop, none, "stop")},
		{name: "one whose book cannot be written is passed over", s: hibernating(db(2, down(8), cannot(galera.ReadOnly))),
			action: send("db-1", "hibernate-5", 5, OrderStop, none, "stop")},
		{name: "and goes with its pod", s: hibernating(all(stopped(10), end), db(2, down(8), cannot(galera.ReadOnly))),
			action: Complete{Message: "all nodes are stopped but db-2, which ends with its pod: it " +
				memberProblem(galera.Member{Known: true, CannotAct: galera.ReadOnly})}},
		{name: "two of them are waited for", s: hibernating(all(down(8), cannot(galera.ReadOnly)), db(0, stopped(8),
			cannot(galera.Able), end)), reason: ReasonHibernating, blocked: true, contains: "db-1 and db-2"},
		{name: "a leaver that hangs is ordered to stop", s: down1(db(2, hung)),
			action: send("db-2", "scaledown-5", 5, OrderStop, none, "stop")},
		{name: "one that is examined for ever leaves",
			s: down1(db(2, slowExamination, hasOrder("scaledown-5/db-2/stop", 5, OrderStop, orderAccepted)),
				db(0, in("db-0", "db-1")), db(1, in("db-0", "db-1"))),
			action: send("db-0", "scaledown-5", 5, OrderStart, none, "start")},
		{name: "one that cannot be ordered is named", s: down1(db(2, down(8), cannot(galera.ReadOnly))),
			reason: ReasonMemberFailed, blocked: true, contains: "db-2 is to be removed, but cannot be ordered to stop"},
		{name: "a stop is not lifted where that cannot be written", s: shop(db(2, stopped(9), cannot(galera.ReadOnly))),
			reason: ReasonMemberFailed, contains: "db-2"},
	})
}

// TestRebootstrapYieldsToRecovery: what could not take part in the start of the cluster would cost a time without
// service.
func TestRebootstrapYieldsToRecovery(t *testing.T) {
	op := galera.Operation{ID: "switchtls-5", Type: galera.OpSwitchTLS, Step: stepRebootstrap, Epoch: 5, Target: "db-0"}
	during := func(facts ...memberOption) galera.Snapshot {
		return shop(running(op), db(2, facts...), func(s *galera.Snapshot) {
			s.Wanted, s.Rebootstrap = galera.Encryption{Socket: galera.SocketStrict}, true
		})
	}
	gaveUp(t, shop(running(galera.Operation{ID: "scaledown-5", Type: galera.OpScaleDown, Epoch: 5, Target: "db-2"}),
		db(1, hung), db(2, stopped(10)),
		func(s *galera.Snapshot) { s.Replicas = 2 }), "one that is to stay hangs, and the leaver is down already")
	for name, facts := range map[string][]memberOption{
		"read-only": {cannot(galera.ReadOnly)}, "frozen": {down(9), cannot(galera.Frozen)},
		"examined for ever": {slowExamination}, "killed, and stays": {killedButRunning},
		"stopped, and its position is unknown": {unreadable, phase(galera.PhaseStopped),
			func(m *galera.Member) { m.Failure = &galera.Failure{Reason: "PositionUnknown"} }},
	} {
		gaveUp(t, during(facts...), name)
	}
	waits := during(hung)
	db(1, stopped(10), knows(5))(&waits)
	if o, ok := Plan(waits).Action.(SendOrder); !ok || o.Kind != OrderStop || !strings.Contains(o.Member, "db-2") {
		t.Errorf("a hung one is stopped: %#v", o)
	}
}
