package agentapi

// Closed is where a server ends that accepts no writes of clients.
type Closed struct {
	// By is NodeConfig.Switching, as the member knew it before it asked the server.
	By int64 `json:"by,omitempty"`
	// Position is what the server had in its binary log (@@gtid_binlog_pos) after it was seen to refuse writes.
	Position string `json:"position,omitempty"`
}

// SwitchNumber is Switching, 0 without a configuration.
func (n *NodeConfig) SwitchNumber() int64 {
	if n == nil || !n.Refuse {
		return 0
	}
	return n.Switching
}
