package resources

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// Static returns the objects that depend on nothing but the spec and the name of the primary: they can be applied
// at any moment, in this order, and disturb no running node.
func Static(c *v1alpha1.GaleraCluster, config agentapi.NodeConfig, primary string, opts Options) []client.Object {
	objects := []client.Object{
		ServiceAccount(c),
		NodesService(c),
		Service(c),
		PrimaryService(c, primary),
		PodDisruptionBudget(c),
		ConfigMap(c, config),
	}
	if config.Arbitrator != nil {
		objects = append(objects, ArbitratorService(c))
	}
	if policy := NetworkPolicy(c, opts); policy != nil {
		objects = append(objects, policy)
	}
	return objects
}
