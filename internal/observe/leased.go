package observe

import (
	"cmp"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// Leased returns the cluster as it is after a loss of its status: where nodes accept writes by the lease only, they go
// on so. Another cluster may have taken over. The configuration that was published last shows that, and when that is
// lost, too, a node that has read it. One that is not wanted may have been removed from the status by a person, who
// leaves the rest of it. One that is wanted, and is about to end, is of a status from before it was wanted.
func Leased(f Facts, seen map[string]Seen, published agentapi.NodeConfig) *v1alpha1.GaleraCluster {
	c := f.Cluster
	removed := !c.WantsWriteLease() && c.Status.Identity != ""
	none := c.Status.WriteLease == "" || c.Status.WriteLease == v1alpha1.WriteLeaseEnding && c.WantsWriteLease()
	if !none || !v1alpha1.MayLease(c) || removed || !leased(f, seen, published) {
		return c
	}
	c = c.DeepCopy()
	c.Status.WriteLease = v1alpha1.WriteLeaseStarting
	return c
}

func leased(f Facts, seen map[string]Seen, published agentapi.NodeConfig) bool {
	c := f.Cluster
	uid := cmp.Or(IdentityOf(f, seen, published).UID, string(c.UID))
	if published.Revision != "" {
		return published.Cluster == c.Name && published.UID == uid && published.Lease
	}
	of := agentapi.Identity{Namespace: c.Namespace, Cluster: c.Name, UID: uid}
	for name := range f.Pods {
		if s := seen[name]; s.Live && s.Report.Cluster == of && s.Report.Lease != nil && s.Report.Lease.Guarded {
			return true
		}
	}
	return false
}

// leaseless reports whether a node with a role refuses writes, by what it reports of the lease. An outage of the store
// begins and ends on one node after the other: the primary counts once it has refused writes for some time, another one
// until it has accepted them for as long, so that the role does not move to and fro.
func leaseless(r *agentapi.LeaseReport, role string) bool {
	switch {
	case r == nil || !r.Guarded:
		return false
	case role == v1alpha1.RolePrimary:
		return r.Ended && r.Settled
	}
	return r.Ended || !r.Settled
}
