package agent

import (
	"strings"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

func TestSilentIsBegunAnew(t *testing.T) {
	const limit = 10 * time.Minute // the default
	for name, c := range map[string]struct {
		silent time.Duration
		known  bool
		edit   func(*agent)
		ended  bool
	}{
		"for too long":               {limit + time.Second, true, nil, true},
		"in an incremental one":      {limit + time.Second, true, func(a *agent) { a.run.note.Transfer = false }, true},
		"not for long":               {limit, true, nil, false},
		"no connection, or unread":   {0, false, nil, false},
		"it has joined":              {limit + time.Second, true, func(a *agent) { a.run.note = nil }, false},
		"ended already":              {limit + time.Second, true, func(a *agent) { a.run.stopping = true }, false},
		"looked at a moment ago":     {limit + time.Second, true, func(a *agent) { a.run.follow.heardAt = time.Now() }, false},
		"somebody has more patience": {limit + time.Second, true, func(a *agent) { a.config.StateTransfer.StallSeconds = 1200 }, false},
	} {
		t.Run(name, func(t *testing.T) {
			a := listener(t)
			a.config = &agentapi.NodeConfig{}
			a.silence = func(port uint16) (time.Duration, bool) { return c.silent, c.known && port == 4568 }
			if c.edit != nil {
				c.edit(a)
			}
			a.endSilent(time.Now())
			if ended := a.failures > 0; ended != c.ended {
				t.Fatalf("ended: %v", ended)
			}
			if !c.ended {
				return
			}
			if f := a.failure; f == nil || f.Reason != agentapi.FailureStalled || !strings.HasPrefix(f.Message, "no write-set has come from shop-1 for 10m0s") {
				t.Errorf("%+v", f)
			}
			<-a.proc.Done()
			if a.failures != 1 || a.failedDonor != "shop-1" || time.Until(a.retryAt) <= 0 {
				t.Errorf("failures %d, of %q, again at %s", a.failures, a.failedDonor, a.retryAt)
			}
		})
	}
}
