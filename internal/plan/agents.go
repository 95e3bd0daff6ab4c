package plan

import "slices"

// Agent is a node's agent, as far as its replacement goes.
type Agent struct {
	Name string
	// Digest is that of its program, "" for an agent that cannot be replaced in place; Arch is the processor it is for.
	Digest, Arch string
	// Answers reports whether it can be asked; Wait whether it is too early to ask it again.
	Answers, Wait bool
	// Primary reports whether clients are sent to its node.
	Primary bool
}

// Outdated reports whether an agent is to be replaced by another program.
func (a Agent) Outdated(digest, arch string) bool {
	return a.Digest != "" && a.Digest != digest && a.Arch == arch
}

// NextAgent is the agent that is replaced next by the program with a digest, "" when there is none: one node of a
// cluster at a time, the last one first, the primary last.
func NextAgent(agents []Agent, digest, arch string) string {
	next := ""
	for _, a := range slices.Backward(agents) {
		if !a.Outdated(digest, arch) || !a.Answers || a.Wait {
			continue
		}
		if !a.Primary {
			return a.Name
		}
		next = a.Name
	}
	if slices.ContainsFunc(agents, func(a Agent) bool { return a.Name != next && a.Outdated(digest, arch) }) {
		return "" // the primary waits for the others
	}
	return next
}
