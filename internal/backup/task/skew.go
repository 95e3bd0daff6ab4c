package task

// Skew is how the nodes of a cluster number transactions differently.
type Skew struct {
	// Why names the nodes and their numbers.
	Why string `json:"why"`
	// Spread is how far the numbers of one transaction are from each other, and Seqno that of the latest transaction that
	// shows it.
	Spread uint64 `json:"spread"`
	Seqno  int64  `json:"seqno"`
	// Nodes is how many were compared.
	Nodes int `json:"nodes"`
}
