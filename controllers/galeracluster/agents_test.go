package galeracluster

import (
	"errors"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// TestReplacingTakesTurns: so many clusters at a time, one agent of each, healthy clusters first.
func TestReplacingTakesTurns(t *testing.T) {
	now := time.Unix(1000, 0)
	key := func(name string) types.NamespacedName { return types.NamespacedName{Name: name} }
	r := &Replacing{Clusters: 2}
	if r.begin(key("ill"), false, now) {
		t.Error("an unhealthy cluster comes first")
	}
	if !r.begin(key("a"), true, now) || r.begin(key("a"), true, now) || !r.begin(key("b"), true, now) || r.begin(key("c"), true, now) {
		t.Errorf("busy: %v", r.busy)
	}
	r.end(key("a"), "pod", "old", nil, now)
	if !r.begin(key("ill"), false, now.Add(unhealthyWait)) {
		t.Error("an unhealthy cluster never comes")
	}
}

// TestReplacingWaits longer and longer after an agent that cannot be replaced, and not after one that is busy.
func TestReplacingWaits(t *testing.T) {
	now := time.Unix(1000, 0)
	r := &Replacing{Clusters: 1}
	end := func(digest string, err error) time.Duration {
		r.end(types.NamespacedName{}, "pod", digest, err, now)
		return r.tries["pod"].next.Sub(now)
	}
	busy, broken := errors.New("HTTP 409: "+agentapi.NotNow+"the member is joining"), errors.New("exec format error")
	for i, c := range []struct {
		digest string
		err    error
		want   time.Duration
	}{
		{"old", busy, replaceAgain}, {"old", busy, replaceAgain}, {"old", broken, 2 * replaceAgain}, {"old", broken, 4 * replaceAgain},
		{"other", broken, replaceAgain}, {"other", nil, replaceAgain},
	} {
		if got := end(c.digest, c.err); got != c.want {
			t.Errorf("%d: %s, want %s", i, got, c.want)
		}
	}
	for range 20 {
		end("other", broken)
	}
	if got := end("other", broken); got != replaceMost {
		t.Errorf("at most %s", got)
	}
}
