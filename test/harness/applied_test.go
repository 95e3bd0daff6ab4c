package harness

import (
	"errors"
	"testing"
)

func TestApplied(t *testing.T) {
	synced := func(pod string, seqno int64) NodeState {
		return NodeState{Pod: pod, Component: "Primary", State: "Synced", Committed: seqno}
	}
	joining := NodeState{Pod: "b", Component: "Primary", State: "Joining", Committed: 9}
	silent := NodeState{Pod: "b", Err: errors.New("i/o timeout")}
	for name, c := range map[string]struct {
		states  [][]NodeState // of each question
		patient bool
		want    bool
	}{
		"all have committed it": {[][]NodeState{{synced("a", 7), synced("b", 7)}, {synced("a", 9), synced("b", 8)}}, true,
			true},
		"a Synced node applies it": {[][]NodeState{{synced("a", 7), synced("b", 6)}, {synced("a", 7), synced("b", 6)}}, true,
			false},
		"a node that is joining does not count": {[][]NodeState{{synced("a", 7), joining}, {synced("a", 7), joining}}, true,
			true},
		"none is Synced any more": {[][]NodeState{{synced("a", 7)}, {joining}}, true, false},
		"no node is Synced":       {[][]NodeState{{joining}, {joining}}, false, false},
		"one that does not answer is waited for": {[][]NodeState{{synced("a", 7), silent}, {synced("a", 7), silent}}, true,
			false},
		"one that is down is not, in the end": {[][]NodeState{{synced("a", 7), silent}, {synced("a", 7), silent}}, false,
			true},
		"the first answer was another's": {[][]NodeState{{synced("a", 6), silent}, {synced("a", 6), synced("b", 7)},
			{synced("a", 6), synced("b", 7)}}, true, false},
	} {
		a := applying{until: -1}
		got := false
		for _, states := range c.states {
			got, _, _ = a.done(states, c.patient)
		}
		if got != c.want {
			t.Errorf("%s: done() = %v", name, got)
		}
	}
}
