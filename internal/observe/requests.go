package observe

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// pendingRequest is the recorded request of a kind, nil when there is none to be met. Only what was recorded is acted
// upon.
func pendingRequest(c *v1alpha1.GaleraCluster, kind string, now time.Time) *v1alpha1.RequestStatus {
	for i := range c.Status.Requests {
		if r := &c.Status.Requests[i]; r.Kind == kind && r.State == v1alpha1.RequestPending && now.Before(r.ExpiresAt.Time) {
			return r
		}
	}
	return nil
}

// promoted is the node that is to be the primary at a user's request, "" without one.
func promoted(c *v1alpha1.GaleraCluster, now time.Time) string {
	if r := pendingRequest(c, v1alpha1.RequestPromote, now); r != nil {
		return r.Node
	}
	return ""
}

// restartAsked reports whether a user has asked for a restart of the node, and whether its mariadbd is the one of
// that time. While none answers there is nothing to restart.
func restartAsked(c *v1alpha1.GaleraCluster, name string, s *agentapi.Server, now time.Time) bool {
	run := RunOf(s)
	for _, kind := range []string{v1alpha1.RequestRestart, v1alpha1.RequestRollout} {
		r := pendingRequest(c, kind, now)
		if run == nil || r == nil {
			continue
		}
		if slices.ContainsFunc(r.Pending, func(p v1alpha1.PendingRestart) bool {
			return p.Name == name && p.StartedAt != nil && p.StartedAt.Equal(run)
		}) {
			return true
		}
	}
	return false
}

// RunOf distinguishes one run of mariadbd from another: when it was started, nil while none answers. It survives the
// replacement of the agent.
func RunOf(s *agentapi.Server) *metav1.MicroTime {
	if s == nil || s.StartedAt.IsZero() {
		return nil
	}
	t := metav1.NewMicroTime(s.StartedAt.UTC().Truncate(time.Microsecond))
	return &t
}
