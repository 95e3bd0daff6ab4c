package observe

import (
	"cmp"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/backup/binlog"
)

// Accepting returns the cluster as it is after a loss of its status: where nodes accept writes since spec.cutover, they
// go on. The configuration that was published last shows that, and when that is lost, too, a node that has read it;
// while there are volumes, and the cutover is of the cluster that has filled them. A lease, and writes that are refused
// for another site, show that the cluster is independent: as one that follows it would have neither.
func Accepting(f Facts, seen map[string]Seen, published agentapi.NodeConfig) *v1alpha1.GaleraCluster {
	c := f.Cluster
	if c.Spec.Cutover == nil || !c.Follows() || len(f.Claims) == 0 || ofBefore(c) {
		return c
	}
	accepts, independent := accept(f, seen, published)
	if !independent && (!accepts || c.TakesOver()) {
		return c
	}
	c = c.DeepCopy()
	if c.Status.Replication == nil {
		c.Status.Replication = &v1alpha1.ReplicationStatus{Role: v1alpha1.RoleFollower}
	}
	c.Status.Replication.AcceptsAfter = c.Spec.Cutover.GTID
	if independent {
		c.Status.Replication.Role = v1alpha1.RoleIndependent
	}
	return c
}

// ofBefore reports whether the source of a cluster has written after the cutover before the cluster has copied it. The
// cutover is that of a cluster before it then: an earlier build has obeyed such a one.
func ofBefore(c *v1alpha1.GaleraCluster) bool {
	r := c.Status.Restore
	return !c.OwnCutover() && r != nil && r.External != nil && binlog.Beyond(r.External.GTID, c.Spec.Cutover.GTID)
}

// accept reports whether nodes have read that they accept writes after spec.cutover, and whether all of them did: they
// have read what only an independent cluster is given.
func accept(f Facts, seen map[string]Seen, published agentapi.NodeConfig) (accepts, independent bool) {
	c, to := f.Cluster, f.Cluster.Spec.Cutover
	uid := cmp.Or(IdentityOf(f, seen, published).UID, string(c.UID))
	if to.UID != "" && to.UID != uid && !c.OwnCutover() { // that of an earlier build names none
		return false, false
	}
	if published.Revision != "" {
		accepts = published.Cluster == c.Name && published.UID == uid && published.Follow != nil &&
			published.Follow.Until == to.GTID
		return accepts, accepts && (published.Lease || published.Refuse || published.Follow.Ended)
	}
	of := agentapi.Identity{Namespace: c.Namespace, Cluster: c.Name, UID: uid}
	for name := range f.Pods {
		if r := seen[name].Report; seen[name].Live && r.Cluster == of && r.ChannelUntil == to.GTID {
			accepts = true
			independent = independent || r.Lease != nil && r.Lease.Guarded || r.Refusal != agentapi.Refusal{}
		}
	}
	return accepts, independent
}
