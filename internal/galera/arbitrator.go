package galera

// Arbitrator is garbd: a vote without data. It is no Member, and its name is in no list of members of a
// Snapshot, so that it never counts as a member with data.
type Arbitrator struct {
	// Name of its Deployment, and of its agent.
	Name string
	// Wanted reports whether the spec asks for one.
	Wanted bool
	// Deployed reports whether there is a Deployment, and Scheduled that it is to have a pod.
	Deployed, Scheduled bool
	// Outdated reports whether the Deployment is not as the spec asks for it.
	Outdated bool
	// Pod is the newest one; Outdated means that it is not of the present Deployment.
	Pod Pod

	// Known reports whether the agent answered, so that the rest are facts.
	Known bool
	// Process is the running garbd, "" when none runs.
	Process string
	// Counted reports whether a member of a Primary component has exactly that process in its view.
	Counted bool
	// ConfigLoaded is the revision of the configuration the agent has read.
	ConfigLoaded string
	// RestartNeeded reports whether garbd runs with other settings, or another certificate, than the agent has read.
	RestartNeeded bool
	// Publication is the certificate the next garbd starts with.
	Publication string
	// Running is the encryption garbd was started with; zero while it is down.
	Running Encryption
	// DynamicSockets reports whether its Galera library has socket.dynamic.
	DynamicSockets bool
	// TLSProblem explains why it could not run with TLS, "" when it could.
	TLSProblem string
	// LinksVerified reports whether it has seen every member answer with TLS and a trusted certificate.
	LinksVerified bool
	// LacksGarbd reports whether its image has none.
	LacksGarbd bool
	// Failure is why it cannot run, nil when it can.
	Failure *Failure
}

// Votes reports whether it is counted, and not about to be replaced or removed.
func (a *Arbitrator) Votes() bool {
	return a != nil && a.Counted && (!a.Wanted || !a.Outdated) && !a.Pod.Outdated && !a.Pod.Terminating
}
