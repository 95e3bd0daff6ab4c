package lifecycle

import "time"

const (
	maxBackoff = 10 * time.Second
	// RetryAfterTransfer is waited after a join that failed in a full transfer: its donor may go on
	// trying to reach us for the ten seconds sockopt allows, and must not find the next attempt.
	RetryAfterTransfer = 15 * time.Second
)

// Backoff is how long to wait after the n-th failed attempt in a row, n from 1.
func Backoff(n int) time.Duration {
	if n < 1 {
		return 0
	}
	return min(maxBackoff, 500*time.Millisecond<<min(n-1, 10))
}

// maxTransferBackoff bounds the wait after failed transfers. It never grows beyond that, nor ends: what
// keeps a transfer from ending well goes away silently, and the data are safe elsewhere.
const maxTransferBackoff = 5 * time.Minute

// transferBackoff is how long to wait after an attempt that failed in a full transfer, the n-th failed
// one in a row, n from 1.
func transferBackoff(n int) time.Duration {
	return min(maxTransferBackoff, RetryAfterTransfer<<min(max(n, 1)-1, 8))
}

// crashesBeforeBackoff is how many servers in a row may crash before the next one waits for longer, and
// maxCrashBackoff bounds that wait. A server that has served for servedLong is none of them.
const (
	crashesBeforeBackoff = 3
	maxCrashBackoff      = 5 * time.Minute
	servedLong           = 10 * time.Minute
)

// crashBackoff is how long to wait after the n-th server in a row that ended shortly after it had begun to serve, n
// from 1.
func crashBackoff(n int) time.Duration {
	return min(maxCrashBackoff, retryAfterCrash<<min(max(n-crashesBeforeBackoff, 0), 8))
}

const (
	// retryAfterCrash is how long a member stays down at least whose server crashed while it served, or was killed because
	// it hung.
	retryAfterCrash = 2500 * time.Millisecond
	// noticedWithin is how long it stays down at most because others count on it still. One that came back before they
	// agree that it is gone would lengthen their agreement, during which no node can write.
	noticedWithin = 10 * time.Second
)

// AwaitNotice reports whether a member waits to join until the group has noticed that its last server ended, down being
// how long ago that was.
func AwaitNotice(down time.Duration) bool { return down < noticedWithin }
