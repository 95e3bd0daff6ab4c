package agentapi

// WithWritesOf returns the configuration with what decides who accepts writes, and whether events run, as a newer one
// has it. That must not wait for the rest, of which a setting may be refused. A configuration of another cluster
// changes nothing.
func (n NodeConfig) WithWritesOf(newer NodeConfig) NodeConfig {
	if n.Identity() != newer.Identity() {
		return n
	}
	n.RunEvents, n.Refuse, n.Refusal = newer.RunEvents, newer.Refuse, newer.Refusal
	n.Lease, n.LeaseUnwanted = newer.Lease, newer.LeaseUnwanted
	switch {
	case n.Follow != nil && newer.Follow != nil:
		f := *n.Follow // the one before may be in use elsewhere
		f.Until, f.Ended = newer.Follow.Until, newer.Follow.Ended
		f.Hold, f.HoldEnds = newer.Follow.Hold, newer.Follow.HoldEnds
		n.Follow = &f
	case n.Follow == nil && newer.Follow != nil && newer.Follow.Until == "":
		n.Refuse = true // to follow takes a restart
	}
	return n
}
