package resources

import (
	"github.com/galera-operator/galera-operator/api/v1alpha1"
)

// Options are the operator's own settings that show in rendered objects.
type Options struct {
	// OperatorImage is the image the init container brings the agent from.
	OperatorImage string
	// DefaultImage is the database image of clusters that name none.
	DefaultImage string
	// OperatorNamespace is where the operator runs: the only place that may reach an agent.
	OperatorNamespace string
	// ClusterDomain is the DNS domain of the Kubernetes cluster; "" stands for cluster.local.
	ClusterDomain string
	// AssignedUsers reports whether pods name no user and no group: the namespace assigns them, as on OpenShift.
	AssignedUsers bool
	// PodLabels and PodAnnotations are what spec.podTemplate may set alongside defaultPodLabels and defaultPodAnnotations.
	PodLabels, PodAnnotations []string
	// LogFormat is how agents, Jobs and sidecars of the operator's choice write their logs: text or json; "" is text.
	LogFormat string
}

const defaultClusterDomain = "cluster.local"

func (o Options) clusterDomain() string {
	if o.ClusterDomain == "" {
		return defaultClusterDomain
	}
	return o.ClusterDomain
}

// Image returns the database image of the cluster.
func Image(c *v1alpha1.GaleraCluster, opts Options) string {
	if c.Spec.Image != "" {
		return c.Spec.Image
	}
	return opts.DefaultImage
}
