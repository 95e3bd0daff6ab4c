package agent

import (
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// TestStepGivesUp: a joiner whose SST no one sends is given up, and one that has received some of it goes on.
func TestStepGivesUp(t *testing.T) {
	t.Parallel()
	joiner := func(phase string) *agent {
		a := joinerAgent(t)
		a.group.Views = map[string]agentapi.PeerView{"n-1": {Name: "n-1"}}
		a.joiner.Join.Phase = phase
		return a
	}
	waits, receives := joiner(agentapi.JoinWaiting), joiner(agentapi.JoinTransferring)
	for began := time.Now(); !waits.run.GivenUp; time.Sleep(100 * time.Millisecond) {
		waits.step()
		receives.step()
		if time.Since(began) > time.Minute {
			t.Fatal("it waits for ever")
		}
	}
	if receives.step(); receives.run.GivenUp {
		t.Error("one is given up that may have all of it")
	}
}
