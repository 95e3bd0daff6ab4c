package galera

import "testing"

func TestAllNodes(t *testing.T) {
	for n, want := range map[int]string{1: "the node is", 3: "all 3 nodes are"} {
		if got := AllNodes(n); got != want {
			t.Error(got)
		}
	}
}
