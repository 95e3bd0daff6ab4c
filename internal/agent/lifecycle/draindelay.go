package lifecycle

import "time"

const (
	// moveTimeout is how long a primary that is to go serves until the operator has moved its role: there may be no
	// operator.
	moveTimeout = 3 * time.Second
	// followTimeout is how long kube-proxy may take to follow a Service: it writes its rules once a second by default
	// (minSyncPeriod of KubeProxyConfiguration).
	followTimeout = 1200 * time.Millisecond
	// proxyTimeout is how long a server that is to stop serves until no proxy uses it: a proxy may be gone, or hang, and
	// a client may keep its connection. It covers the ten seconds for which one does that by itself after an insert.
	proxyTimeout = 12 * time.Second
)

// DrainDelay decides how long a server that is to stop goes on serving, so that new clients are sent elsewhere before
// it refuses them.
type DrainDelay struct {
	// Serves reports whether it takes writes, Others that its component has other members.
	Serves, Others bool
	// Primary reports whether clients are sent to this member, Lost how long ago that ended, 0 when they were not.
	Primary bool
	Lost    time.Duration
	// Draining is how long ago its pod's termination began, which takes it out of all Services; 0 when it stays.
	Draining time.Duration
	// Proxied reports whether a proxy may send statements to this member, Stopping how long ago the stop was ordered or
	// the pod's termination began; 0 when it stays.
	Proxied  bool
	Stopping time.Duration
}

// Wait returns how long it is to serve yet, at most.
func (f DrainDelay) Wait() time.Duration {
	if !f.Serves || !f.Others {
		return 0
	}
	var wait time.Duration
	if f.Lost > 0 && !f.Primary {
		wait = followTimeout - f.Lost
	}
	if f.Draining > 0 {
		wait = max(wait, followTimeout-f.Draining)
		if f.Primary {
			wait = max(wait, moveTimeout-f.Draining)
		}
	}
	if f.Proxied && f.Stopping > 0 {
		wait = max(wait, proxyTimeout-f.Stopping)
	}
	return max(wait, 0)
}
