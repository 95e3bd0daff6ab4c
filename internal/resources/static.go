package resources

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// Roles report where the Services lead: Primary is the primary's pod, Replicas states that others serve, and Behind
// that the data of all nodes are older than spec.readOnlyService.maxLag allows.
type Roles struct {
	Primary  string
	Replicas bool
	Behind   bool
}

// Static returns the objects that depend on nothing but the spec and the roles of the nodes: they can be applied
// at any moment, in this order, and disturb no running node.
func Static(c *v1alpha1.GaleraCluster, config agentapi.NodeConfig, roles Roles, opts Options) []client.Object {
	objects := []client.Object{
		ServiceAccount(c),
		nodesService(c),
		Service(c),
		PrimaryService(c, roles.Primary),
		ReadOnlyService(c, roles),
		PodDisruptionBudget(c),
		ConfigMap(c, config),
	}
	if config.Arbitrator != nil {
		objects = append(objects, arbitratorService(c))
	}
	if Exporter(c) != nil {
		objects = append(objects, ExporterUser(c))
	}
	if policy := NetworkPolicy(c, opts); policy != nil {
		objects = append(objects, policy)
	}
	if policy := JobsPolicy(c); policy != nil {
		objects = append(objects, policy)
	}
	if policy := CopyPolicy(c, opts); policy != nil {
		objects = append(objects, policy)
	}
	return objects
}
