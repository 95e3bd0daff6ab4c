package agent

import (
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/examine"
	"github.com/galera-operator/galera-operator/internal/agent/lifecycle"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

const (
	// examinePatience is how long an examination may go on after a Stop; it is cut off then.
	examinePatience = 30 * time.Second
	// heldAgain is the pause between two looks at the data of a member that was stopped by order, after one that failed.
	heldAgain = time.Minute
)

// examine lets a worker look at the data directory.
func (a *agent) examine() {
	a.job = lifecycle.JobExamine
	before := a.exam.Trouble
	a.exam.Begin(examine.Limit(a.orders.Content().Held && before != nil, a.failures), func(found examine.Found, err error) {
		a.job = lifecycle.JobNone
		if err != nil {
			a.examinationFailed(err)
			return
		}
		a.onExamined(found, before)
	})
}

// endExamination cuts a look off that keeps a Stop from ending. A member that is stopped by order starts nothing, so that its
// position may stay unknown for now.
func (a *agent) endExamination(now time.Time) {
	if a.job != lifecycle.JobExamine || a.orders.Current == nil || a.orders.Current.Kind != agentapi.OrderStop || a.volume.Frozen() ||
		now.Sub(a.exam.From) < examinePatience || now.Sub(a.heldSince) < examinePatience {
		return
	}
	a.exam.Cut()
}

func (a *agent) examinationFailed(err error) {
	a.failures++
	a.exam.RetryAt = time.Now().Add(lifecycle.Backoff(a.failures))
	if a.orders.Content().Held {
		a.exam.RetryAt = time.Now().Add(heldAgain)
	}
	a.failure = a.exam.Trouble
	if !a.draining {
		a.Logger.Error("the position could not be found out", "error", err)
	}
}

// onExamined goes on from what was found; before is why the look before failed, nil when it did not.
func (a *agent) onExamined(found examine.Found, before *agentapi.Failure) {
	a.versions = found.Versions
	if found.Cut && !a.waited {
		// Seen: the donor of a joiner that was killed streamed its data into the next attempt.
		a.quietUntil = time.Now().Add(lifecycle.RetryAfterTransfer)
	}
	a.waited = true // from now on onExit sees to it
	switch {
	case found.Trouble != nil:
		found.Trouble.At = time.Now()
		a.failure = found.Trouble
	case before != nil && a.failure == before:
		a.failure = nil // it was the examination that had failed
	}
}
