package agentapi

import "strings"

// longestGroupName is what a view keeps of a member's name (WSREP_MEMBER_NAME_LEN in wsrep_api.h, with a zero byte).
const longestGroupName = 31

// GroupName returns the name that a node has in its group (wsrep_node_name): its own, or when that is longer than
// Galera transmits, the beginning of it and its ordinal. The nodes of one cluster differ in nothing else, and cut off
// by Galera they would all be called the same.
func GroupName(node string) string {
	i := strings.LastIndexByte(node, '-')
	if len(node) <= longestGroupName || i < 0 {
		return node
	}
	ordinal := node[i:]
	return node[:longestGroupName-len(ordinal)] + ordinal
}

// GroupNames returns GroupName of each.
func GroupNames(nodes []string) []string {
	out := make([]string, len(nodes))
	for i, n := range nodes {
		out[i] = GroupName(n)
	}
	return out
}

// GroupMember is one entry of a view.
type GroupMember struct {
	// UUID is the node's in the group, and Address the one it gives its clients.
	UUID    string `json:"uuid"`
	Name    string `json:"name"`
	Address string `json:"address,omitempty"`
}
