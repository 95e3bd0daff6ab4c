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
	if !r.begin(key("a"), true, now) || r.begin(key("a"), true, now) || !r.begin(key("b"), true, now) ||
		r.begin(key("c"), true, now) {
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
		{"old", busy, replaceRetryInterval}, {"old", busy, replaceRetryInterval}, {"old", broken, 2 * replaceRetryInterval},
		{"old", broken, 4 * replaceRetryInterval},
		{"other", broken, replaceRetryInterval}, {"other", nil, replaceRetryInterval},
	} {
		if got := end(c.digest, c.err); got != c.want {
			t.Errorf("%d: %s, want %s", i, got, c.want)
		}
	}
	for range 20 {
		end("other", broken)
	}
	if got := end("other", broken); got != maxReplaceInterval {
		t.Errorf("at most %s", got)
	}
}

// TestHostileAgentsDoNotStarveOthers: agents that take the whole time of a replacement and then report that they are
// busy get an ever smaller share of the places, and never all of them.
func TestHostileAgentsDoNotStarveOthers(t *testing.T) {
	now := time.Unix(1000, 0)
	r := &Replacing{Clusters: 3}
	shop := types.NamespacedName{Namespace: "shop", Name: "a"}
	var hostile []types.NamespacedName
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		hostile = append(hostile, types.NamespacedName{Namespace: "hostile", Name: name})
	}
	ends := map[types.NamespacedName]time.Time{}
	late := time.Duration(0)
	held := map[types.NamespacedName]time.Duration{}
	for range 4 * 60 * 12 { // four hours, each 5 s
		now = now.Add(5 * time.Second)
		for key, end := range ends {
			if held[key] += 5 * time.Second; !now.Before(end) {
				r.end(key, types.UID(key.Name), "old", errors.New("HTTP 409: "+agentapi.NotNow+"it takes a while"), now)
				delete(ends, key)
			}
		}
		for _, key := range hostile {
			if r.begin(key, true, now) {
				ends[key] = now.Add(replaceTimeout)
			}
		}
		if now.Sub(time.Unix(1000, 0)) < 2*replaceTimeout {
			continue // a stranger's first attempts are like anybody's
		}
		if late += 5 * time.Second; r.begin(shop, true, now) {
			r.end(shop, "shop", "old", nil, now)
			late = 0
		}
		if late > 0 {
			t.Fatalf("an honest cluster has no place for %s: %v", late, r.busy)
		}
	}
	if got := held[hostile[0]]; got > 20*time.Minute {
		t.Errorf("one hostile agent held a place for %s of four hours", got)
	}
	now = now.Add(2*maxWaste + keepTries)
	r.waste(shop, 0, true, now)
	if len(r.wasted) != 2 {
		t.Errorf("left: %v", r.wasted)
	}
}
