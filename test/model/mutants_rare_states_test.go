package model

import (
	"slices"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/plan"
)

// Deliberate bugs in rare states of members (rare_states.go).
var rareStateMutants = []mutant{
	{"data that the group has voted out count as any", believesVotedOut, rare, []string{VotedOutStart}},
	{"a member that cannot start is ordered to", ordersTheUnable, rare, []string{HeldUp, Stuck}},
	{"data of a later MariaDB count as any", ordersLaterData, rare, []string{HeldUp, Stuck}},
	{"another cluster's volume counts as any", ordersOtherCluster, rare, []string{HeldUp, Stuck}},
	{"a node whose image lacks tools is initialised", ignoresTools, rare, []string{NoDonor}},
	{"the primary moves whatever its host", ignoresCordon, rare, []string{ToCordoned}},
	{"a pod need not settle", ignoresUnsettled, rare, []string{Unsettling}},
	{"a backup is not waited for", ignoresBackup, rare, []string{CutBackup}},
	{"an upgrade of tables is not waited for", ignoresUpgrading, rare, []string{TakenWhileWeak}},
	{"a container is not being created", ignoresCreation, rare, []string{Hasty}},
	{"a container is waited for as long as it is created", awaitsCreation, rare, []string{HeldUp, Unreported}},
	{"an abandoned switch is not remembered", forgetsAbandoned, rare, []string{Repeats, HeldUp}},
}

func init() { mutants = append(mutants, rareStateMutants...) }

var ignoresCreation = lies(func(m *galera.Member) { m.Pod.Creating = false })

// awaitsCreation never asks a person about a member whose image is pulled, however long nothing serves.
func awaitsCreation(s galera.Snapshot) plan.Decision {
	if slices.ContainsFunc(s.Members, func(m galera.Member) bool { return m.Pod.Creating }) {
		s.NoPrimaryFor = min(s.NoPrimaryFor, 9*time.Minute)
	}
	return plan.Plan(s)
}

// lies is the real planner with one fact of every member changed.
func lies(change func(*galera.Member)) Planner {
	return func(s galera.Snapshot) plan.Decision { return plan.Plan(members(s, change)) }
}

var (
	believesVotedOut   = lies(func(m *galera.Member) { m.VotedOut = false })
	ordersTheUnable    = lies(func(m *galera.Member) { m.CannotStart = "" })
	ordersLaterData    = lies(func(m *galera.Member) { m.LaterData = false })
	ordersOtherCluster = lies(func(m *galera.Member) { m.OtherCluster = false })
	ignoresTools       = lies(func(m *galera.Member) { m.LacksTools = false })
	ignoresCordon      = lies(func(m *galera.Member) { m.Pod.Cordoned = false })
	ignoresUnsettled   = lies(func(m *galera.Member) { m.Pod.Unsettled = "" })
	ignoresBackup      = lies(func(m *galera.Member) { m.Backup = "" })
	ignoresUpgrading   = lies(func(m *galera.Member) { m.Upgrading = false })
)

// forgetsAbandoned begins a switch again and again, as earlier planners did.
func forgetsAbandoned(s galera.Snapshot) plan.Decision {
	s.Abandoned = nil
	return plan.Plan(s)
}

// TestGullibleMembers shows why a member believes no answer of another cluster's agent, whatever its name.
func TestGullibleMembers(t *testing.T) {
	t.Parallel()
	for n := range searched {
		s := drawIn(rare, uint64(n), 60+n%100, false)
		s.Gullible = true
		if r := Run(s, plan.Plan); r.Violation == JoinsAnother {
			t.Logf("caught: schedule %d", n+1)
			return
		}
	}
	t.Errorf("survived %d schedules", searched)
}

// TestUnexaminedDisks shows why an agent examines its disk after each end: a power cut takes write-sets along that were
// acknowledged and not flushed, and a component that another position was chosen for lacks what the other disks have.
func TestUnexaminedDisks(t *testing.T) {
	t.Parallel()
	for n := range searched {
		s := drawIn(rare, uint64(n), 60+n%100, false)
		s.Noted = true
		if r := Run(s, plan.Plan); slices.Contains([]string{BehindAnother, Unapproved, LostWrite}, r.Violation) {
			t.Logf("caught: %s: schedule %d", r.Violation, n+1)
			return
		}
	}
	t.Errorf("survived %d schedules", searched)
}
