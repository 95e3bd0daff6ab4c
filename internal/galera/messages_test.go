package galera

import "testing"

func TestAllNodes(t *testing.T) {
	for n, want := range map[int]string{1: "the node is", 3: "all 3 nodes are"} {
		if got := AllNodes(n); got != want {
			t.Error(got)
		}
	}
	for n, want := range map[int]string{1: "on the only node", 3: "on all 3 nodes"} {
		if got := OnAllNodes(n); got != want {
			t.Error(got)
		}
	}
	for n, want := range map[int]string{0: "0 files", 1: "1 file", 2: "2 files"} {
		if got := Count(n, "file"); got != want {
			t.Error(got)
		}
	}
}
