package galera

import "fmt"

// AllNodes is the subject of a sentence about every node, with its verb: "all 3 nodes are", "the node is".
func AllNodes(n int) string {
	if n == 1 {
		return "the node is"
	}
	return fmt.Sprintf("all %d nodes are", n)
}
