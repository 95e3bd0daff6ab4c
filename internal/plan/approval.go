package plan

import (
	"slices"
	"strings"
	"time"

	"github.com/galera-operator/galera-operator/internal/galera"
)

// approved reports whether the approval names exactly the member that would be chosen, exactly this attempt, and
// every missing member. A used approval, or one for an earlier operation, does not count; nor does one that
// leaves out a missing member, even if that member is only unreachable.
func approved(s galera.Snapshot, v memberClasses, best galera.Member, ok bool) bool {
	t := s.Approval
	if !ok || t == nil || t.Member != best.Name || t.Position != best.Position || t.Epoch != attempt(s, best) {
		return false
	}
	return !slices.ContainsFunc(v.missing(), func(name string) bool { return !covered(t, v, name) })
}

// covered reports whether the approval gives the member up in the state in which it is missing now.
func covered(t *galera.Approval, v memberClasses, name string) bool {
	switch {
	case slices.Contains(v.unable, name):
		return slices.Contains(t.Unable, name)
	case slices.Contains(t.Without, name):
		return true
	case slices.Contains(v.silent, name), slices.Contains(v.laterMariaDB, name):
		// For a silent member the approval must state explicitly that its server does not run (Gone). For a member whose data
		// need another image, that was not known at the time of the approval.
		return false
	}
	// The agent answers: the server is ended, or seen not to run, before any member is started.
	return slices.Contains(t.Running, name)
}

// attempt is the epoch of the operation that starts best, or of the one that would.
func attempt(s galera.Snapshot, best galera.Member) int64 {
	if s.Operation != nil && s.Operation.BootstrapMember == best.Name {
		return s.Operation.Epoch
	}
	return highestEpoch(s) + 1
}

// noneMissing reports whether the data of every member is known, and no approval is needed.
func noneMissing(s galera.Snapshot) bool { return len(sortMembers(s).missing()) == 0 }

// What several members may hold, or have.
var (
	laterWrites  = " write-sets that the latest line of the history does not contain"
	laterMariaDB = " data that a later MariaDB has used and the image must not open: set spec.image back to the later " +
		"image"
	differing     = " data that the group found to differ, further on than all others"
	refusesWrites = " a volume that refuses writes" + remedy(galera.ReadOnly)
)

// explain names the missing members and the known positions, with the exact approval.
func explain(s galera.Snapshot, v memberClasses, best galera.Member, ok bool) (Decision, bool) {
	reason, text := ReasonWaitingForMembers, ""
	for _, g := range []struct {
		reason, one, many string
		names             []string
	}{
		{ReasonDataLost, "lost its data", "lost their data", v.lost},
		{ReasonForeignData, "holds data of another cluster", "hold data of another cluster", v.foreign},
		{ReasonForeignData, "holds" + laterWrites, "hold" + laterWrites, v.beyond},
		{ReasonOrderBookDamaged, "cannot read its order book", "cannot read their order book", v.damaged},
		{ReasonDowngradeRefused, "holds" + laterMariaDB, "hold" + laterMariaDB, v.laterMariaDB},
		{ReasonPositionUnknown, "cannot determine its position", "cannot determine their position", v.unknown},
		{ReasonPositionUnknown, "holds" + differing, "hold" + differing, v.differing},
		{ReasonMemberFailed, "runs and does not answer" + remedy(galera.Hung), "run and do not answer" + remedy(galera.Hung),
			v.hung},
		{ReasonMemberFailed, "was killed and has not ended" + remedy(galera.Killed), "were killed and have not ended" +
			remedy(galera.Killed), v.killed},
		{ReasonMemberFailed, "is still being examined" + remedy(galera.SlowExamination), "are still being examined" +
			remedy(galera.SlowExamination), v.slow},
		{ReasonMemberFailed, "has a volume that is frozen" + remedy(galera.Frozen), "have a volume that is frozen" +
			remedy(galera.Frozen), v.frozen},
		{ReasonMemberFailed, "has" + refusesWrites, "have" + refusesWrites, v.readOnly},
		{ReasonMemberFailed, "cannot start" + unableMessage(s, v), "cannot start" + unableMessage(s, v), v.unable},
		{ReasonWaitingForMembers, "does not answer", "do not answer", v.silent},
	} {
		switch len(g.names) {
		case 0:
			continue
		case 1:
			text += g.names[0] + " " + g.one + "; "
		default:
			text += list(g.names) + " " + g.many + "; "
		}
		reason = g.reason
	}
	text = "no Primary component, and a member that may hold later writes is missing: " + text + "known positions: " +
		positions(s)
	if early := awaitedAnswers(s, v, answerTimeout); len(early) > 0 {
		return wait(reason, text+". Waiting for the "+agents(early)+", which may be starting"+created(s, early))
	}
	if !ok {
		text += ". No other member has data to start from: bring the missing members back, or restore a backup into a new " +
			"cluster"
		return Decision{Reason: reason, Message: text, Blocked: true}, true
	}
	ends := ""
	if v.running(s) {
		ends = " (the operator first ends a server given up as " + string(galera.StillRunning) +
			", and takes its position into account if it can be determined then)"
	}
	if s.Approval != nil {
		text += ". The approval in spec.recovery is for another situation and has no effect"
	}
	text += ". Bring the missing members back; or, if they are gone for good and certainly not running, accept " +
		"the loss of the writes that only they hold" + ends
	return Decision{Reason: reason, Message: text, Blocked: true, Approval: approvalFor(s, v, best)}, true
}

// answerTimeout is how long an agent may take to answer, while there is no Primary component, before a user is asked to
// act; firstStartTimeout is the same for a first start and after a loss of the status, and while containers are
// created: images may be pulled, and volumes attached.
const (
	answerTimeout     = time.Minute
	firstStartTimeout = 10 * time.Minute
)

// awaitedAnswers are the silent members that have not had their time to answer: no person is asked to give them up. The
// time of one whose container is still created begins with its start, or when nothing has served for long.
func awaitedAnswers(s galera.Snapshot, v memberClasses, limit time.Duration) (early []string) {
	for _, name := range v.silent {
		if m, _ := s.Member(name); m.SilentFor < limit || m.Pod.Creating && s.NoPrimaryFor < firstStartTimeout {
			early = append(early, name)
		}
	}
	return early
}

func agents(names []string) string {
	if len(names) == 1 {
		return "agent of " + names[0]
	}
	return "agents of " + list(names)
}

// pending returns which of the members have no agent that could answer, as their pods do not run.
func pending(s galera.Snapshot, silent []string) string {
	var without []string
	for _, name := range silent {
		if m, _ := s.Member(name); !m.Pod.Exists || m.Pod.Waiting {
			without = append(without, name)
		}
	}
	switch len(without) {
	case 0:
		return ""
	case 1:
		return ": the pod " + without[0] + " does not run"
	}
	return ": the pods " + list(without) + " do not run"
}

// beingCreated reports whether a member is silent because its container is still created, and has its time for that.
func beingCreated(m galera.Member) bool {
	return !m.Known && m.Pod.Creating && m.SilentFor < firstStartTimeout
}

// created returns which of the members wait for their containers to be created.
func created(s galera.Snapshot, silent []string) string {
	var creating []string
	for _, name := range silent {
		if m, _ := s.Member(name); m.Pod.Creating {
			creating = append(creating, name)
		}
	}
	switch len(creating) {
	case 0:
		return ""
	case 1:
		return ": the container of " + creating[0] + " is being created"
	}
	return ": the containers of " + list(creating) + " are being created"
}

// waitForAgents waits for silent members without which nothing can be decided: after their time to answer a user is
// needed.
func waitForAgents(s galera.Snapshot, v memberClasses) (Decision, bool) {
	if len(awaitedAnswers(s, v, firstStartTimeout)) > 0 {
		return wait(ReasonWaitingForMembers, "waiting for the "+agents(v.silent)+pending(s, v.silent))
	}
	return blocked(ReasonWaitingForMembers,
		"waiting for the "+agents(v.silent)+": check why the pods do not run, or why the operator cannot connect to their "+
			"port 8443. If a volume is gone for good, delete its claim and its pod")
}

// approvalFor permits to start at best without the missing members. It is valid for this situation only.
func approvalFor(s galera.Snapshot, v memberClasses, best galera.Member) *galera.Approval {
	a := &galera.Approval{Member: best.Name, Position: best.Position, Epoch: attempt(s, best)}
	for _, name := range v.missing() {
		switch m, _ := s.Member(name); {
		case slices.Contains(v.unable, name):
			a.Unable = append(a.Unable, name)
		case m.MayRun():
			a.Running = append(a.Running, name)
		default:
			a.Without = append(a.Without, name)
		}
	}
	return a
}

func positions(s galera.Snapshot) string {
	var b strings.Builder
	for i, m := range s.Members {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(m.Name + " ")
		switch {
		case neverRan(s, m):
			b.WriteString("never started")
		case !m.Known:
			b.WriteString("silent")
		case m.Data == galera.DataPresent:
			b.WriteString(m.Position.String())
		default:
			b.WriteString(strings.ToLower(string(m.Data)))
		}
	}
	return b.String()
}
