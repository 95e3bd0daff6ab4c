package harness

import "testing"

func TestApplied(t *testing.T) {
	synced := func(pod string, seqno int64) NodeState {
		return NodeState{Pod: pod, State: "Synced", Committed: seqno}
	}
	for name, c := range map[string]struct {
		states []NodeState
		want   bool
	}{
		"all have committed it":                 {[]NodeState{synced("a", 7), synced("b", 8)}, true},
		"a Synced node applies it":              {[]NodeState{synced("a", 7), synced("b", 6)}, false},
		"a node that is joining does not count": {[]NodeState{synced("a", 7), {Pod: "b", State: "Joining"}}, true},
		"no node is Synced":                     {[]NodeState{{Pod: "a", State: "Joining", Committed: 9}}, false},
	} {
		if got, _, err := applied(c.states, 7); got != c.want || err != nil {
			t.Errorf("%s: applied() = %v, %v", name, got, err)
		}
	}
}
