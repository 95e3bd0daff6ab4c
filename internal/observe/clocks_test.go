package observe

import (
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// TestClocks: a link counts as verified by the age of the observation, whatever the clock of its host.
func TestClocks(t *testing.T) {
	for name, c := range map[string]struct {
		skew, age time.Duration
		want      bool
	}{
		"now":                  {0, time.Second, true},
		"behind":               {-3 * time.Minute, time.Second, true},
		"far behind":           {-3 * time.Hour, time.Minute, true},
		"ahead":                {3 * time.Minute, time.Second, true},
		"old":                  {0, linkEvidenceTTL + time.Second, false},
		"old, its clock ahead": {3 * time.Minute, linkEvidenceTTL + time.Second, false},
	} {
		there := time.Now().Add(c.skew)
		fact := agentapi.ChannelFact{Observed: agentapi.ObservedTLS, Verified: true, CheckedAt: there.Add(-c.age)}
		f := &follower{}
		f.set(agentapi.Report{TLS: agentapi.TLSReport{Peers: map[string]agentapi.ChannelFact{"shop-1": fact}}}.Sent(there),
			nil)
		if got := verified(f.get().Report.TLS.Peers["shop-1"], time.Now()); got != c.want {
			t.Errorf("%s: verified %t, want %t", name, got, c.want)
		}
		if verified(f.get().Report.TLS.Peers["shop-1"], time.Now().Add(linkEvidenceTTL)) {
			t.Errorf("%s: evidence that is kept here does not grow old", name)
		}
	}
}
