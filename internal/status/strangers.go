package status

import (
	"fmt"
	"strings"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/resources"
	"github.com/galera-operator/galera-operator/internal/validate"
)

// strangers reports what is not this cluster's and has its names or addresses. Nothing is done to it: whether it, or
// this cluster, is the copy is for a person to say.
func strangers(in Input) *validate.Problem {
	if found := in.Strangers.Members; len(found) > 0 {
		var who []string
		for _, m := range found[:min(len(found), 8)] {
			who = append(who, fmt.Sprintf("%s at %s (node UUID %s)", clip(m.Name, 64), clip(m.Address, 64), clip(m.UUID, 40)))
		}
		return blocking(v1alpha1.ReasonForeignMembers,
			fmt.Sprintf("the Primary component has members that are not nodes of this cluster: %s. "+
				"They hold every write, and their votes count; stop what runs at these addresses. For a copy of the data, create "+
				"a cluster with spec.bootstrapFrom",
				strings.Join(who, ", ")))
	}
	if found := in.Strangers.Misled; len(found) > 0 {
		m := found[0]
		return blocking(v1alpha1.ReasonForeignPeers,
			fmt.Sprintf("%s finds no peer of this cluster: at the addresses of %s, agents of the cluster %s answer. "+
				"Check whether the names of the Service %s lead to this cluster's pods, and whether objects of another cluster "+
				"were copied here",
				m.Member, list(m.Peers), clip(m.Of.String(), 256), resources.NodesServiceName(in.cluster())))
	}
	return nil
}
