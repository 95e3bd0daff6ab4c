package proxy

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// TestDrains: a node that has left a group loses its connections there after heldTimeout, if another one serves.
func TestDrains(t *testing.T) {
	now := time.Unix(1e6, 0)
	s := state()
	first, second := server{groupWriter, s.Nodes[0].Address}, server{groupWriter, s.Nodes[1].Address}
	moved := state()
	moved.Nodes[0].Writer, moved.Nodes[1].Writer = false, true
	none := state()
	none.Nodes[0].Writer = false
	for name, tc := range map[string]struct {
		states []agentapi.ProxyState
		cut    bool
	}{
		"at once":                           {[]agentapi.ProxyState{moved}, false},
		"after the time":                    {[]agentapi.ProxyState{moved, moved}, true},
		"the primary comes back":            {[]agentapi.ProxyState{moved, s, moved}, false},
		"no other node is known":            {[]agentapi.ProxyState{none, none}, false},
		"the other one is known in the end": {[]agentapi.ProxyState{none, moved}, false},
	} {
		d, at, cut := drains{}, now, []server(nil)
		for _, s := range tc.states {
			d, cut = d.next(s, at)
			at = at.Add(heldTimeout)
		}
		if slices.Contains(cut, first) != tc.cut || slices.Contains(cut, second) && tc.cut {
			t.Errorf("%s: %v", name, cut)
		}
	}
}

// TestDrainsOverTime walks through random states: a node that serves is never cut, a group is never left without the
// nodes that it has, a node is drained for heldTimeout before it is cut, and one that stays away is cut in the end.
func TestDrainsOverTime(t *testing.T) {
	for seed := range uint64(300) {
		if problem := walk(rand.New(rand.NewPCG(seed, 45)), drains.next); problem != "" {
			t.Fatalf("seed %d: %s", seed, problem)
		}
	}
}

// TestTheWalkFindsMutants: each rule of drains.next, left out, is found.
func TestTheWalkFindsMutants(t *testing.T) {
	for name, next := range map[string]nextDrains{
		"cut at once": func(d drains, s agentapi.ProxyState, now time.Time) (drains, []server) {
			d, _ = d.next(s, now)
			var cut []server
			for key := range d {
				cut = append(cut, key)
			}
			return d, cut
		},
		"never cut": func(d drains, s agentapi.ProxyState, now time.Time) (drains, []server) {
			d, _ = d.next(s, now)
			return d, nil
		},
		"count on while it serves": func(d drains, s agentapi.ProxyState, now time.Time) (drains, []server) {
			after, cut := d.next(s, now)
			for key, since := range d {
				if _, known := after[key]; !known {
					after[key] = since
				}
			}
			return after, cut
		},
		"forget": func(_ drains, s agentapi.ProxyState, now time.Time) (drains, []server) { return drains{}.next(s, now) },
		"cut without another one": func(d drains, s agentapi.ProxyState, now time.Time) (drains, []server) {
			after, cut := drains{}, []server(nil)
			for _, group := range groups {
				for _, n := range s.Nodes {
					key := server{group, n.Address}
					if serves(n, group) {
						continue
					}
					after[key] = now
					if since, known := d[key]; known {
						after[key] = since
					}
					if now.Sub(after[key]) >= heldTimeout {
						cut = append(cut, key)
					}
				}
			}
			return after, cut
		},
	} {
		found := false
		for seed := range uint64(300) {
			found = found || walk(rand.New(rand.NewPCG(seed, 45)), next) != ""
		}
		if !found {
			t.Errorf("the walk does not find: %s", name)
		}
	}
}

type nextDrains func(drains, agentapi.ProxyState, time.Time) (drains, []server)

// walk applies random states, and returns which promise is broken.
func walk(r *rand.Rand, next nextDrains) string {
	now, d := time.Unix(1e6, 0), drains{}
	away := map[server]time.Time{} // since when another node has served in its place, without a break
	for range 60 {
		now = now.Add(time.Duration(r.IntN(120)) * time.Second)
		s := state()
		writer := r.IntN(len(s.Nodes) + 1)
		for i := range s.Nodes {
			s.Nodes[i].Writer, s.Nodes[i].Reader = i == writer, r.IntN(3) == 0
		}
		var cut []server
		d, cut = next(d, s, now)
		for _, group := range groups {
			other := slices.ContainsFunc(s.Nodes, func(n agentapi.ProxyNode) bool { return serves(n, group) })
			for _, n := range s.Nodes {
				key := server{group, n.Address}
				if serves(n, group) || !other {
					delete(away, key)
				} else if _, known := away[key]; !known {
					away[key] = now
				}
				since, gone := away[key]
				switch is := slices.Contains(cut, key); {
				case is && serves(n, group):
					return fmt.Sprintf("%v serves and is cut", key)
				case is && !other:
					return fmt.Sprintf("%v is cut, and no other node takes its place", key)
				case is && now.Sub(since) < heldTimeout:
					return fmt.Sprintf("%v is cut %s after it left", key, now.Sub(since))
				case !is && gone && now.Sub(since) >= heldTimeout:
					return fmt.Sprintf("%v is not cut %s after it left", key, now.Sub(since))
				}
			}
		}
	}
	return ""
}
