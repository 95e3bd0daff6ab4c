package observe

import (
	"cmp"
	"encoding/json"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// Closed returns the cluster as it is after a loss of its status, or of a part: where nodes refuse writes, so that
// another site can take over, a token may have been given. They go on refusing them until that is void in the store.
// The configuration that was published last shows that, and when that is lost, too, a node that has read it.
func Closed(f Facts, seen map[string]Seen, published agentapi.NodeConfig) *v1alpha1.GaleraCluster {
	c := f.Cluster
	number := closedFor(f, seen, published)
	if s := c.Status.SwitchSite; number == 0 || len(f.Claims) == 0 || s != nil && s.Number >= number {
		return c
	}
	c = c.DeepCopy()
	c.Status.Identity = cmp.Or(c.Status.Identity, IdentityOf(f, seen, published).UID) // the archive is that one's
	c.Status.SwitchSite = &v1alpha1.SwitchSiteStatus{Number: number, Phase: v1alpha1.SwitchWithdrawing,
		Message: "status.switchSite was lost"}
	var in v1alpha1.StoreLocation
	if json.Unmarshal([]byte(published.SwitchingIn), &in) == nil && number == published.Switching {
		c.Status.SwitchSite.Location = &in
	}
	return c
}

// closedFor is the number of the change of sites for which nodes refuse writes, 0 for none.
func closedFor(f Facts, seen map[string]Seen, published agentapi.NodeConfig) (number int64) {
	c := f.Cluster
	uid := cmp.Or(IdentityOf(f, seen, published).UID, string(c.UID))
	if published.Revision != "" {
		if published.Cluster == c.Name && published.UID == uid {
			number = published.SwitchNumber()
		}
		return number
	}
	of := agentapi.Identity{Namespace: c.Namespace, Cluster: c.Name, UID: uid}
	for name := range f.Pods {
		if s := seen[name]; s.Live && s.Report.Cluster == of {
			number = max(number, s.Report.Closed.By)
		}
	}
	return number
}
