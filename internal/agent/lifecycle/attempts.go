package lifecycle

import (
	"fmt"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// Attempts is what is known of the attempts to run mariadbd, and when the next one may begin.
type Attempts struct {
	// Failed counts the failed ones in a row.
	Failed int
	// Crashed counts the servers in a row that ended, or hung, shortly after they had begun to serve; ServedAt is when the
	// last one began.
	Crashed  int
	ServedAt time.Time
	// Failure is why mariadbd is down, or was; nil since it served. NeedsOrder is one that only an order lifts.
	Failure, NeedsOrder *agentapi.Failure
	// Restarts counts the runs that ended without having been asked to, since the agent started.
	Restarts int
	// FailedDonor is the donor of the last attempt, when that failed in a transfer the donor may be to blame for.
	FailedDonor string

	// RetryAt is when the next one may begin.
	RetryAt time.Time
	// QuietUntil is when the donor of a transfer that was cut off is sure to have given up; nothing shortens it.
	QuietUntil time.Time
}

// Fail counts a failed attempt.
func (a *Attempts) Fail(f *agentapi.Failure, now time.Time) {
	a.Failed++
	a.Failure = f
	a.RetryAt = now.Add(Backoff(a.Failed))
}

// FailTransfer counts an attempt that failed in a transfer. The next one asks another donor first, where this one (""
// when it is not known) may be to blame, and waits longer every time: an SST burdens its donor.
func (a *Attempts) FailTransfer(f *agentapi.Failure, donor string, now time.Time) {
	a.Fail(f, now)
	a.FailedDonor = donor
	if f.Reason == agentapi.FailureDiskFull {
		a.FailedDonor = "" // a full disk here is not the donor's fault; a certificate may be either's
	}
	a.RetryAt = now.Add(transferBackoff(a.Failed))
}

// Crash records the end of a server that had served, or that hung. The next attempt waits longer every time, as each is
// two changes of the group's membership and perhaps a full transfer, unless the server had served for a while.
func (a *Attempts) Crash(f *agentapi.Failure, now time.Time) {
	if now.Sub(a.ServedAt) >= servedLong {
		a.Crashed = 0
	}
	a.Crashed++
	wait := crashBackoff(a.Crashed)
	if wait > retryAfterCrash {
		reported := *f
		reported.Message += fmt.Sprintf("; that was the end number %d in a row after less than %s of service, "+
			"and the next attempt waits for %s", a.Crashed, servedLong, wait)
		f = &reported
	}
	a.Failure = f
	a.RetryAt = now.Add(wait)
}

// RecordInterruptedSST records that an SST was interrupted.
func (a *Attempts) RecordInterruptedSST(now time.Time) { a.QuietUntil = now.Add(RetryAfterTransfer) }

// MarkServing forgets what went wrong, but for crashes: the member serves.
func (a *Attempts) MarkServing(now time.Time) {
	a.Failed, a.Failure, a.NeedsOrder, a.RetryAt, a.ServedAt = 0, nil, nil, time.Time{}, now
}

// Stop forgets failed attempts: the server ended in good order.
func (a *Attempts) Stop() { a.Failed, a.RetryAt = 0, time.Time{} }

// ResetForOrder lets the next attempt begin as an order wants it. The operator orders an initialisation that failed
// again at once: its pause grows.
func (a *Attempts) ResetForOrder(kind agentapi.OrderKind) {
	a.NeedsOrder = nil
	if kind != agentapi.OrderInitialise {
		a.Failed = 0
	}
}

// Retry lets the next attempt begin at once: what it is made with has changed.
func (a *Attempts) Retry() { a.RetryAt, a.Crashed = time.Time{}, 0 }

// CrashedIn is how long a bootstrap has to wait: not at all after the first crashes in a row, as nothing serves
// meanwhile.
func (a *Attempts) CrashedIn(now time.Time) time.Duration {
	if a.Crashed <= crashesBeforeBackoff {
		return 0
	}
	return max(0, a.RetryAt.Sub(now))
}

// RetryIn is how long the next attempt has to wait.
func (a *Attempts) RetryIn(now time.Time) time.Duration {
	return max(0, a.RetryAt.Sub(now), a.QuietUntil.Sub(now))
}
