package lifecycle

import (
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// TestAnotherDonor: the next attempt spares the donor of the last one, unless it was our own disk.
func TestAnotherDonor(t *testing.T) {
	for reason, want := range map[string]string{
		agentapi.FailureTransfer: "b", agentapi.FailureStalled: "b", agentapi.FailureCertificate: "b", agentapi.FailureDiskFull: "",
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
		"a transfer failed":                  {func(a *Attempts) { a.FailTransfer(f, "b", now) }, TransferBackoff(1)},
		"it crashed":                         {func(a *Attempts) { a.Crash(f, now) }, RetryAfterCrash},
		"failed, then another configuration": {func(a *Attempts) { a.Fail(f, now); a.Retry() }, 0},
		"a copy was cut off, then another configuration": {func(a *Attempts) { a.CutOff(now); a.Fail(f, now); a.Retry() }, RetryAfterTransfer},
		"failed, then served":                            {func(a *Attempts) { a.Fail(f, now); a.Serve() }, 0},
		"failed long ago":                                {func(a *Attempts) { a.Fail(f, now.Add(-time.Hour)) }, 0},
	} {
		var a Attempts
		if c.happened(&a); a.RetryIn(now) != c.want {
			t.Errorf("%s: %s, want %s", name, a.RetryIn(now), c.want)
		}
	}
}
