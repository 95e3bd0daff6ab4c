package observe

import (
	"cmp"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// Accepting returns the cluster as it is after a loss of its status: where nodes accept writes since spec.cutover, they
// go on. The configuration that was published last shows that, and when that is lost, too, a node that has read it;
// while there are volumes, and the cutover is of the cluster that has filled them.
func Accepting(f Facts, seen map[string]Seen, published agentapi.NodeConfig) *v1alpha1.GaleraCluster {
	c := f.Cluster
	if c.Spec.ReplicaOf == nil || c.Spec.Cutover == nil || c.TakesOver() || len(f.Claims) == 0 ||
		!accept(f, seen, published) {
		return c
	}
	c = c.DeepCopy()
	if c.Status.Replication == nil {
		c.Status.Replication = &v1alpha1.ReplicationStatus{Role: v1alpha1.RoleFollower}
	}
	c.Status.Replication.AcceptsAfter = c.Spec.Cutover.GTID
	return c
}

func accept(f Facts, seen map[string]Seen, published agentapi.NodeConfig) bool {
	c, to := f.Cluster, f.Cluster.Spec.Cutover
	uid := cmp.Or(IdentityOf(f, seen, published).UID, string(c.UID))
	if to.UID != "" && to.UID != uid && !c.OwnCutover() { // that of an earlier build names none
		return false
	}
	if published.Revision != "" {
		return published.Cluster == c.Name && published.UID == uid && published.Follow != nil &&
			published.Follow.Until == to.GTID
	}
	of := agentapi.Identity{Namespace: c.Namespace, Cluster: c.Name, UID: uid}
	for name := range f.Pods {
		if s := seen[name]; s.Live && s.Report.Cluster == of && s.Report.ChannelUntil == to.GTID {
			return true
		}
	}
	return false
}
