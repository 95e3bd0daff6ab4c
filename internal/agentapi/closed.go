package agentapi

// Closed is where a server ends that accepts no writes of clients.
type Closed struct {
	// By is NodeConfig.Switching, as the member knew it before it asked the server.
	By int64 `json:"by,omitempty"`
	// Position is what the server had in its binary log (@@gtid_binlog_pos) after it was seen to refuse writes.
	Position string `json:"position,omitempty"`
}

// Refusal is for what all nodes refuse the writes of clients. After a loss of its status the operator has it from the
// configuration, and when that is lost, too, from the members' reports.
type Refusal struct {
	// Switching is the number of the change of sites for which all nodes refuse writes, 0 for none.
	Switching int64 `json:"switching,omitempty"`
	// SwitchingIn is status.switchSite.location, as JSON. It is kept here for the operator.
	SwitchingIn string `json:"switchingIn,omitempty"`
	// SwitchingFrom is status.switchSite.from, "" where it is not known. It is kept here for the operator.
	SwitchingFrom string `json:"switchingFrom,omitempty"`
	// SupersededBy is status.superseded, as JSON, "" for none. It is kept here for the operator.
	SupersededBy string `json:"supersededBy,omitempty"`
}

// Refused returns for what nodes refuse writes, nothing without a configuration.
func (n *NodeConfig) Refused() Refusal {
	if n == nil || !n.Refuse {
		return Refusal{}
	}
	return n.Refusal
}

// SwitchNumber is Switching, 0 without a configuration.
func (n *NodeConfig) SwitchNumber() int64 { return n.Refused().Switching }
