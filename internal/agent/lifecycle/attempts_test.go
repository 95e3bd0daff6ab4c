package lifecycle

import (
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// TestAnotherDonor: the next attempt spares the donor of the last one, unless it was our own disk.
func TestAnotherDonor(t *testing.T) {
	for reason, want := range map[string]string{
		agentapi.FailureTransfer: "b", agentapi.FailureStalled: "b", agentapi.FailureCertificate: "b",
		agentapi.FailureDiskFull: "",
	} {
		var a Attempts
		a.FailTransfer(&agentapi.Failure{Reason: reason}, "b", time.Now())
		if a.FailedDonor != want || a.Failed != 1 {
			t.Errorf("%s: spares %q, want %q; %d failures", reason, a.FailedDonor, want, a.Failed)
		}
	}
}

func TestRetryIn(t *testing.T) {
	now := time.Unix(1000, 0)
	f := &agentapi.Failure{Reason: agentapi.FailureStart}
	for name, c := range map[string]struct {
		happened func(*Attempts)
		want     time.Duration
	}{
		"nothing":                            {func(*Attempts) {}, 0},
		"one failed":                         {func(a *Attempts) { a.Fail(f, now) }, Backoff(1)},
		"two failed":                         {func(a *Attempts) { a.Fail(f, now); a.Fail(f, now) }, Backoff(2)},
		"a transfer failed":                  {func(a *Attempts) { a.FailTransfer(f, "b", now) }, transferBackoff(1)},
		"it crashed":                         {func(a *Attempts) { a.Crash(f, now) }, retryAfterCrash},
		"failed, then another configuration": {func(a *Attempts) { a.Fail(f, now); a.Retry() }, 0},
		"a copy was cut off, then another configuration": {func(a *Attempts) {
			a.RecordInterruptedSST(now)
			a.Fail(f,
				now)
			a.Retry()
		}, RetryAfterTransfer},
		"failed, then served": {func(a *Attempts) { a.Fail(f, now); a.MarkServing(now) }, 0},
		"failed long ago":     {func(a *Attempts) { a.Fail(f, now.Add(-time.Hour)) }, 0},
	} {
		var a Attempts
		if c.happened(&a); a.RetryIn(now) != c.want {
			t.Errorf("%s: %s, want %s", name, a.RetryIn(now), c.want)
		}
	}
}

// TestCrashesInARow: a server that crashes again and again shortly after it serves is started at longer and longer
// intervals, and reports so.
func TestCrashesInARow(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	var a Attempts
	crash := func(served time.Duration) time.Duration {
		a.MarkServing(now)
		now = now.Add(served)
		a.Crash(&agentapi.Failure{Message: "signal 6"}, now)
		return a.RetryIn(now)
	}
	for n, want := range []time.Duration{retryAfterCrash, retryAfterCrash, retryAfterCrash, 5 * time.Second,
		10 * time.Second,
		20 * time.Second} {
		if got := crash(time.Minute); got != want {
			t.Errorf("after crash %d: %s, want %s", n+1, got, want)
		}
		bootstrap := want // of a member that no other serves for, only then
		if n < crashesBeforeBackoff {
			bootstrap = 0
		}
		if got := a.CrashedIn(now); got != bootstrap {
			t.Errorf("a bootstrap after crash %d: %s, want %s", n+1, got, bootstrap)
		}
	}
	want := "signal 6; that was the end number 6 in a row after less than 10m0s of service, and the next attempt waits " +
		"for 20s"
	if a.Failure.Message != want {
		t.Errorf("message %q, want %q", a.Failure.Message, want)
	}
	for range 20 {
		crash(time.Second)
	}
	if got := a.RetryIn(now); got != maxCrashBackoff {
		t.Errorf("after many crashes: %s, want %s", got, maxCrashBackoff)
	}
	if got := crash(servedLong); got != retryAfterCrash || a.Failure.Message != "signal 6" {
		t.Errorf("it served for long: %s, %s", got, a.Failure.Message)
	}
	for range crashesBeforeBackoff {
		crash(time.Second)
	}
	a.Retry()
	if got := crash(time.Second); got != retryAfterCrash {
		t.Errorf("after another configuration: %s", got)
	}
}
