package galera

import "fmt"

// AllNodes is the subject of a sentence about every node, with its verb: "all 3 nodes are", "the node is".
func AllNodes(n int) string {
	if n == 1 {
		return "the node is"
	}
	return fmt.Sprintf("all %d nodes are", n)
}

// OnAllNodes is where something was observed on every node: "on all 3 nodes", "on the only node".
func OnAllNodes(n int) string {
	if n == 1 {
		return "on the only node"
	}
	return fmt.Sprintf("on all %d nodes", n)
}

// Count is a number of things: "2 files", "1 file".
func Count[N int | int32 | int64 | uint64](n N, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
