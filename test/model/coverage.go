package model

import "strings"

// Reached has a bit for every kind of situation a run has come through: a check of situations
// that never arise proves nothing.
type Reached uint32

// The situations.
const (
	ReachedFirstStart Reached = 1 << iota
	ReachedRecover
	ReachedRebuild
	ReachedIST
	ReachedSST
	ReachedRestart
	ReachedApproval
	ReachedHibernated
	ReachedBlocked
	ReachedPartition
	ReachedSplit
	ReachedLostStatus
	ReachedSwitch
	ReachedSynced
	ReachedNewCA
	ReachedLarger
	ReachedSmaller
	ReachedStuckDonor
	ReachedEviction
	ReachedArbitrator
	ReachedEndedArbitrator
	ReachedLoneArbitrator
	ReachedStuck
	ReachedWithoutStuck
	ReachedFailedStart
	ReachedCutAlter
	ReachedMarkedStart
	ReachedPromotion
	ReachedAskedRestart
	ReachedStatusBack
	ReachedRareState
	ReachedHeldBack
	reachedAll = 1<<iota - 1
)

var situations = [...]string{"first start", "recovery", "rebuilt quorum", "IST", "SST", "rolling restart", "approval",
	"hibernation", "blocked", "partition", "split by hand", "lost status", "switch of encryption", "all Synced",
	"CA replaced", "scaled up", "scaled down", "donor for ever", "eviction",
	"an arbitrator counted", "an arbitrator ended by order", "an arbitrator alone Primary",
	"a member that cannot act", "started without one", "a start that failed", "a statement cut off",
	"a start from marked data",
	"a primary named by a person", "a restart asked for by a person",
	"a status set back", "a rare state of a member", "a pair held back"}

// String lists the situations.
func (r Reached) String() string {
	var out []string
	for i, s := range situations {
		if r&(1<<i) != 0 {
			out = append(out, s)
		}
	}
	return strings.Join(out, ", ")
}

func (w *truth) note(k orderKind) {
	switch k {
	case orderInitialise:
		w.reached |= ReachedFirstStart
	case orderBootstrap:
		w.reached |= ReachedRecover
	case orderRebuild:
		w.reached |= ReachedRebuild
	}
}
