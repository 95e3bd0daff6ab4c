package agentapi

// SendWindows bound how many messages of the group are in flight at once.
type SendWindows struct {
	// UserSendWindow is evs.user_send_window: messages with write-sets that one member has sent and the others have not
	// acknowledged.
	UserSendWindow int `json:"userSendWindow"`
	// SendWindow is evs.send_window: all messages, those of recovery included. It is never the smaller one.
	SendWindow int `json:"sendWindow"`
}

// Replication is how far the others are, and what follows from it.
type Replication struct {
	// RoundTripMicroseconds is TCP's smallest round trip to the member farthest away, roughly; 0 without a connection.
	RoundTripMicroseconds int64 `json:"roundTripMicroseconds,omitempty"`
	// SendWindows are those in force.
	SendWindows SendWindows `json:"sendWindows"`
}
