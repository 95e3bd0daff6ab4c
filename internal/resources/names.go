package resources

import (
	"strconv"

	"github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// ContainerName is the database container of every pod.
const ContainerName = "mariadb"

// AgentContainer brings the agent from the operator's image before.
const AgentContainer = "agent"

// OwnContainer returns whether a container of a database pod is the operator's, and no sidecar of spec.podTemplate.
func OwnContainer(name string) bool {
	return name == ContainerName || name == AgentContainer || name == exporterContainer
}

// DataVolume is the claim template of the StatefulSet: pod shop-0 has the claim data-shop-0.
const DataVolume = "data"

// MaxReplicas is the largest number of nodes a cluster can have.
const MaxReplicas = 7

// StatefulSetName returns the name of the cluster's StatefulSet.
func StatefulSetName(c *v1alpha1.GaleraCluster) string { return c.Name }

// PodName returns the name of one node's pod.
func PodName(c *v1alpha1.GaleraCluster, ordinal int) string {
	return c.Name + "-" + strconv.Itoa(ordinal)
}

// ClaimName returns the name of one node's PersistentVolumeClaim.
func ClaimName(c *v1alpha1.GaleraCluster, ordinal int) string {
	return DataVolume + "-" + PodName(c, ordinal)
}

// PodHost returns the DNS name of one node, which resolves while the pod is not ready, too.
// It is the full name: with five dots a resolver asks for it first, as it is.
func PodHost(c *v1alpha1.GaleraCluster, ordinal int, opts Options) string {
	return PodName(c, ordinal) + "." + NodesServiceName(c) + "." + c.Namespace + ".svc." + opts.clusterDomain()
}

// ServiceName returns the name of the Service that leads to every Synced node.
func ServiceName(c *v1alpha1.GaleraCluster) string { return c.Name }

// PrimaryServiceName returns the name of the Service that leads to one writer at a time.
func PrimaryServiceName(c *v1alpha1.GaleraCluster) string { return c.Name + "-primary" }

// ReadOnlyServiceName returns the name of the Service that leads to every Synced node but the writer.
func ReadOnlyServiceName(c *v1alpha1.GaleraCluster) string { return c.Name + "-readonly" }

// NodesServiceName returns the name of the headless Service that gives every node its name.
func NodesServiceName(c *v1alpha1.GaleraCluster) string { return c.Name + "-nodes" }

// ServerName returns the DNS name by which the operator calls a pod's agent, and which the agent's certificate carries.
func ServerName(c *v1alpha1.GaleraCluster, pod string) string {
	return pod + "." + NodesServiceName(c) + "." + c.Namespace + ".svc"
}

// AccountSuffix ends the name of every ServiceAccount that databases and backups run under: a cluster or a store cannot
// be named so that its pods run under an account with other rights. config/admission refuses the operator any other
// name.
const AccountSuffix = "-galera"

// ServiceAccountName returns the name of the pods' ServiceAccount, which has no rights and no token.
func ServiceAccountName(c *v1alpha1.GaleraCluster) string { return c.Name + AccountSuffix }

// podDisruptionBudgetName returns the name of the cluster's PodDisruptionBudget.
func podDisruptionBudgetName(c *v1alpha1.GaleraCluster) string { return c.Name }

// networkPolicyName returns the name of the cluster's NetworkPolicy.
func networkPolicyName(c *v1alpha1.GaleraCluster) string { return c.Name }

// jobsPolicyName returns the name of the NetworkPolicy of the Jobs of backups.
func jobsPolicyName(c *v1alpha1.GaleraCluster) string { return c.Name + "-jobs" }

// copyPolicyName returns the name of the NetworkPolicy of the Job that copies another server.
func copyPolicyName(c *v1alpha1.GaleraCluster) string { return c.Name + "-copied" }

// ConfigMapName returns the name of the ConfigMap with the NodeConfig.
func ConfigMapName(c *v1alpha1.GaleraCluster) string { return c.Name + "-config" }

// CAConfigMapName returns the name of the ConfigMap with what a client needs to trust.
func CAConfigMapName(c *v1alpha1.GaleraCluster) string { return c.Name + "-ca" }

// RootSecretName returns the name of the Secret with root's password.
func RootSecretName(c *v1alpha1.GaleraCluster) string { return c.Name + "-root" }

// TLSSecretName returns the name of the Secret that is mounted into pods. The operator writes it,
// and only with a pair that it has checked.
func TLSSecretName(c *v1alpha1.GaleraCluster) string { return c.Name + "-tls" }

// IssuedSecretName returns the name of the leaf Certificate, and of the Secret cert-manager
// writes for it.
func IssuedSecretName(c *v1alpha1.GaleraCluster) string { return c.Name + "-issued" }

// selfSignedIssuerName returns the name of the Issuer that signs the private CA.
func selfSignedIssuerName(c *v1alpha1.GaleraCluster) string { return c.Name + "-selfsigned" }

// CAPairName returns the name of the private CA's Certificate, and of its Secret.
func CAPairName(c *v1alpha1.GaleraCluster) string { return c.Name + "-ca-pair" }

// ClientCAPairName returns the name of the clients' CA Certificate, and of its Secret.
func ClientCAPairName(c *v1alpha1.GaleraCluster) string { return c.Name + "-client-ca-pair" }

// clientCAIssuerName returns the name of the Issuer that signs clients' certificates.
func clientCAIssuerName(c *v1alpha1.GaleraCluster) string { return c.Name + "-client-ca" }

// caIssuerName returns the name of the Issuer that signs with the private CA.
func caIssuerName(c *v1alpha1.GaleraCluster) string { return c.Name + "-ca" }

// ArchiverName returns the name of the Deployment that archives the binary log, and of its GaleraUser.
func ArchiverName(c *v1alpha1.GaleraCluster) string { return agentapi.ArchiverName(c.Name) }

// LeaseName returns the name of the Deployment that renews the lease by which nodes accept writes.
func LeaseName(c *v1alpha1.GaleraCluster) string { return c.Name + "-lease" }

// SourceName returns the name of the Deployment that serves an archive to a cluster that follows it, of its Service,
// and of the Secret with the account.
func SourceName(c *v1alpha1.GaleraCluster) string { return c.SourceName() }
