package status

import (
	"fmt"
	"slices"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// available is True while clients can write: the node behind the Service NAME-primary accepts writes.
func available(in Input) condition {
	component, primary := false, ""
	for _, m := range in.Snapshot.Members {
		component = component || m.InPrimary()
		if m.Pod.Role != v1alpha1.RolePrimary {
			continue
		}
		primary = m.Name
		switch {
		case takesWrites(m) && in.cluster().Switching() && refuses(in, m.Name):
			return no(v1alpha1.ReasonSwitchingSite, "no node accepts writes: another site is to take over")
		case takesWrites(m) && in.cluster().Refuses() && refuses(in, m.Name):
			return no(v1alpha1.ReasonSuperseded, "no node accepts writes: another cluster has taken over")
		case takesWrites(m) && slices.Contains(leaseless(in), m.Name):
			return no(v1alpha1.ReasonWriteLeaseEnded, m.Name+", the node behind the Service "+in.cluster().Name+
				"-primary, refuses writes: its lease is not renewed")
		case takesWrites(m) && in.cluster().Follows() && !open(in, m.Name):
			return no(v1alpha1.ReasonFollowing, "no node accepts writes: the cluster follows "+in.cluster().FollowedName())
		case takesWrites(m):
			return yes(v1alpha1.ReasonAvailable, m.Name+" accepts writes behind the Service "+in.cluster().Name+"-primary")
		case !m.Known && m.Pod.Ready && !m.Pod.Terminating:
			return unknown(v1alpha1.ReasonAgentUnreachable,
				fmt.Sprintf("the agent of the primary %s does not answer the operator; its pod is ready", m.Name))
		}
	}
	switch {
	case asleep(in):
		return no(v1alpha1.ReasonHibernated, "the cluster is hibernated")
	case !component:
		v := quorumHealthy(in)
		return no(v.reason, v.message)
	case primary == "":
		return no(v1alpha1.ReasonPrimaryNotServing, "no pod is behind the Service "+in.cluster().Name+"-primary")
	}
	return no(v1alpha1.ReasonPrimaryNotServing, primary+", the node behind the Service "+in.cluster().Name+
		"-primary, does not serve")
}

// takesWrites reports whether a node accepts writes and is behind the Services. A donor is while its agent reports it
// ready.
func takesWrites(m galera.Member) bool {
	return m.InPrimary() && m.Pod.Ready && !m.Pod.Terminating && (m.Server.State == galera.NodeSynced ||
		m.Server.State == galera.NodeDonor)
}

// paused is True while an annotation keeps the operator from acting.
func paused(in Input) condition {
	if in.cluster().Paused() {
		return yes(v1alpha1.ReasonPaused, "the operator only observes. "+letAct)
	}
	return no(v1alpha1.ReasonNotPaused, "the cluster is not paused")
}

// withheld describes what the operator would do.
func withheld(in Input) string {
	return "not done because the cluster is paused: " + in.Decision.Message + ". " + letAct
}

// letAct is the remedy of a pause.
const letAct = "To let the operator act, remove the annotation " + v1alpha1.AnnotationPause

// unpause is its command.
func unpause(in Input) string {
	c := in.cluster()
	return kubectl("annotate", "-n", c.Namespace, "galeracluster", c.Name, v1alpha1.AnnotationPause+"-")
}
