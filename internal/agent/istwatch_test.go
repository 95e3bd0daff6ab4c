package agent

import (
	"strings"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

func TestSilentIsBegunAnew(t *testing.T) {
	const limit = 10 * time.Minute // the default
	// half of what is too long, between the looks: what has been so at three of them is.
	const half, long = limit/2 + time.Second, limit + time.Minute
	start := time.Unix(100000, 0)
	for name, c := range map[string]struct {
		// silent is what the kernel says at the looks, and -1 that it does not tell.
		silent [3]time.Duration
		edit   func(*agent)
		// between is done before the second one.
		between func(*agent)
		ended   bool
	}{
		"for too long":                   {silent: [3]time.Duration{long, long, long}, ended: true},
		"in an incremental one":          {silent: [3]time.Duration{long, long, long}, edit: func(a *agent) { a.run.note.Transfer = false }, ended: true},
		"not for long":                   {silent: [3]time.Duration{showEvery, half, limit}},
		"only since it was read at last": {silent: [3]time.Duration{-1, long, long}},
		"unread between":                 {silent: [3]time.Duration{long, -1, long}},
		"unread":                         {silent: [3]time.Duration{long, long, -1}},
		"something came":                 {silent: [3]time.Duration{long, showEvery - 1, long}},
		"something was applied":          {silent: [3]time.Duration{long, long, long}, between: func(a *agent) { a.position = at(8) }},
		"it has joined":                  {silent: [3]time.Duration{long, long, long}, edit: func(a *agent) { a.run.note = nil }},
		"ended already":                  {silent: [3]time.Duration{long, long, long}, edit: func(a *agent) { a.run.stopping = true }},
		"looked at a moment ago":         {silent: [3]time.Duration{long, long, long}, between: func(a *agent) { a.run.follow.heardAt = start.Add(2*half - 1) }},
		"somebody has more patience":     {silent: [3]time.Duration{long, long, long}, edit: func(a *agent) { a.config.Node.StateTransfer.StallSeconds = 1300 }},
	} {
		t.Run(name, func(t *testing.T) {
			a := listener(t)
			a.config.Node = &agentapi.NodeConfig{}
			if c.edit != nil {
				c.edit(a)
			}
			for i := range c.silent {
				a.silence = func(port uint16) (time.Duration, bool) { return c.silent[i], c.silent[i] >= 0 && port == 4568 }
				if i == 1 && c.between != nil {
					c.between(a)
				}
				if a.endStalledIST(start.Add(time.Duration(i) * half)); i < 2 && a.failures > 0 {
					t.Fatal("ended too soon")
				}
			}
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
			if a.failures != 1 || a.failedDonor != "shop-1" || a.retryAt.IsZero() {
				t.Errorf("failures %d, of %q, again at %s", a.failures, a.failedDonor, a.retryAt)
			}
		})
	}
}
