package observe

import (
	"cmp"
	"encoding/json"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// Closed returns the cluster as it is after a loss of its status, or of a part: where nodes refuse writes, so that
// another site can take over, a token may have been given. They go on refusing them until that is void in the store.
// Where nothing is left that shows what nodes have done, it may be so, too, or another cluster may have taken over.
func Closed(f Facts, seen map[string]Seen, published agentapi.NodeConfig) *v1alpha1.GaleraCluster {
	c, by := f.Cluster, refusal(f, seen, published)
	if forgotten(f, seen, published) {
		by = agentapi.Refusal{Switching: 1} // below any that a change of sites has had
	}
	if s := c.Status.SwitchSite; by.Switching == 0 || len(f.Claims) == 0 || s != nil && s.Number >= by.Switching {
		return c
	}
	c = c.DeepCopy()
	c.Status.Identity = cmp.Or(c.Status.Identity, IdentityOf(f, seen, published).UID) // the archive is that one's
	c.Status.SwitchSite = &v1alpha1.SwitchSiteStatus{Number: by.Switching, Phase: v1alpha1.SwitchWithdrawing,
		From: by.SwitchingFrom, Message: "status.switchSite was lost"}
	var in v1alpha1.StoreLocation
	if json.Unmarshal([]byte(by.SwitchingIn), &in) == nil {
		c.Status.SwitchSite.Location = &in
	}
	return c
}

// forgotten reports whether nothing shows what the nodes of a cluster have done that was started: its status, and what
// was published, are lost, and no node runs. Another cluster can take over from one that is archived.
func forgotten(f Facts, seen map[string]Seen, published agentapi.NodeConfig) bool {
	c := f.Cluster
	if f.StatefulSet == nil || c.Status.ClusterUUID != "" || c.Status.Restore != nil || c.Spec.ReplicaOf != nil ||
		!c.ArchivesBinlog() {
		return false
	}
	id := IdentityOf(f, seen, published)
	return id.Known() && id.UID == ""
}

// Superseded returns the cluster as it is after a loss of its status: where nodes refuse writes because another cluster
// has taken over, they go on so until a person overrules that. The store need not be there, nor the archiver.
func Superseded(f Facts, seen map[string]Seen, published agentapi.NodeConfig) *v1alpha1.GaleraCluster {
	c, by := f.Cluster, refusal(f, seen, published)
	var has v1alpha1.SupersededStatus
	if json.Unmarshal([]byte(by.SupersededBy), &has) != nil {
		has = named(c, by)
	}
	if c.Status.Superseded != nil || len(f.Claims) == 0 || has.ID == "" || has.ID == c.Spec.OverrulesPromotion {
		return c
	}
	c = c.DeepCopy()
	c.Status.Superseded = &has
	return c
}

// named is the cluster that has taken over, as spec.replicaOf.replaces has it of one whose status was lost, or is of
// before, while its nodes refused writes for the change of sites alone: the API admits no other one. It has data of its
// own still, which it would follow with otherwise. One that has taken over again since has spec.cutover.
func named(c *v1alpha1.GaleraCluster, by agentapi.Refusal) (of v1alpha1.SupersededStatus) {
	r := c.Spec.ReplicaOf
	if r == nil || r.Replaces == "" || c.Spec.Cutover != nil || by.Switching == 0 || v1alpha1.Replaced(c) == r.Replaces ||
		c.Status.Restore != nil && c.Status.Restore.Phase != v1alpha1.RestoreCompleted {
		return of
	}
	return v1alpha1.SupersededStatus{ID: r.Replaces, Namespace: cmp.Or(r.Cluster.Namespace, c.Namespace),
		Name: cmp.Or(r.Cluster.Name, c.Name), UID: r.Cluster.UID, GTID: unknownGTID}
}

// unknownGTID is before all transactions: the archiver reads the record.
const unknownGTID = "0-0-0"

// refusal is for what nodes refuse writes. The configuration that was published last has it, and when that is lost, the
// nodes that have read it.
func refusal(f Facts, seen map[string]Seen, published agentapi.NodeConfig) (out agentapi.Refusal) {
	c := f.Cluster
	uid := cmp.Or(IdentityOf(f, seen, published).UID, string(c.UID))
	if published.Revision != "" {
		if published.Cluster == c.Name && published.UID == uid {
			out = published.Refused()
		}
		return out
	}
	of := agentapi.Identity{Namespace: c.Namespace, Cluster: c.Name, UID: uid}
	for name := range f.Pods {
		s := seen[name]
		if !s.Live || s.Report.Cluster != of {
			continue
		}
		by := s.Report.Refusal
		if by.Switching = max(by.Switching, s.Report.Closed.By); by.Switching > out.Switching {
			out.Switching, out.SwitchingIn, out.SwitchingFrom = by.Switching, by.SwitchingIn, by.SwitchingFrom
		}
		out.SupersededBy = max(out.SupersededBy, by.SupersededBy) // of two, any: the archiver finds the one that counts
	}
	return out
}
