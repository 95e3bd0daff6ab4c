package agentapi

// PathLease takes POST of a LeaseAnswer on PeerPort, and answers with a LeaseQuestion.
const PathLease = "/v1/lease"

// LeaseQuestion is how an agent asks the program that renews the site's lease whether it was renewed since.
type LeaseQuestion struct {
	// Token names this very question: the agent counts from when it has asked.
	Token string `json:"token"`
}

// LeaseAnswer states that the lease was renewed, and that the renewal began after the question was asked.
type LeaseAnswer struct {
	// Token is that of the question, "" for one that has yet to be asked: it states nothing.
	Token string `json:"token,omitempty"`
}

// LeaseReport is what a member reports of the site's lease.
type LeaseReport struct {
	// Guarded reports whether the server accepts writes only while the lease is renewed (NodeConfig.Lease), Heard whether
	// a renewal is known by which it may. Ended reports whether the server is to refuse writes because none is.
	Guarded bool `json:"guarded,omitempty"`
	Heard   bool `json:"heard,omitempty"`
	Ended   bool `json:"ended,omitempty"`
	// Settled reports whether Ended has been as it is for some seconds: nodes hear of renewals one after the other.
	Settled bool `json:"settled,omitempty"`
	// UnwantedHeard is NodeConfig.LeaseUnwanted once a renewal counts that was asked for after that was read, 0 until
	// then.
	UnwantedHeard int64 `json:"unwantedHeard,omitempty"`
}
