package agentapi

import (
	"fmt"
	"strings"
)

// Identity is which cluster something belongs to. Copies of a cluster's objects, or of its volumes, have the same names
// as the original.
type Identity struct {
	Namespace string `json:"namespace,omitempty"`
	// Cluster is the resource's name.
	Cluster string `json:"cluster,omitempty"`
	// UID is the UID of the resource that the cluster was created with.
	UID string `json:"uid,omitempty"`
}

// String returns the identity for messages.
func (i Identity) String() string {
	if i.UID == "" {
		return i.Namespace + "/" + i.Cluster
	}
	return fmt.Sprintf("%s/%s (UID %s)", i.Namespace, i.Cluster, i.UID)
}

// Identity returns the identity of the cluster whose configuration it is.
func (n NodeConfig) Identity() Identity {
	return Identity{Namespace: n.Namespace, Cluster: n.Cluster, UID: n.UID}
}

// CheckNamespace returns an error if the configuration is that of a cluster in another namespace than the pod's.
func (n NodeConfig) CheckNamespace(namespace string) error {
	if n.Namespace == namespace {
		return nil
	}
	return fmt.Errorf(
		"the published configuration is that of the cluster %s, but this pod runs in the namespace %s: it is a copy. "+
			"Nothing is started with it. For a copy of that cluster's data, create a GaleraCluster in this namespace with "+
			"spec.bootstrapFrom; "+
			"otherwise delete the copied StatefulSet and ConfigMaps", n.Identity(), namespace)
}

// Excludes reports whether data that were recorded as those of i must not be used by the cluster o. A resource that was
// deleted and created again has another UID and takes its volumes back: no two resources of a namespace have one name.
func (i Identity) Excludes(o Identity) bool {
	return i.Cluster != "" && (i.Namespace != o.Namespace || i.Cluster != o.Cluster)
}

// Peer reports whether an agent of the identity o may be a member of the same cluster. An agent that has not read its
// configuration yet knows its namespace only.
func (i Identity) Peer(o Identity) bool {
	return i.Namespace == o.Namespace && (o.Cluster == "" || i.Cluster == o.Cluster && i.UID == o.UID)
}

// Named reports whether both identities name the same resource, whatever their UIDs are.
func (i Identity) Named(o Identity) bool { return i.Namespace == o.Namespace && i.Cluster == o.Cluster }

// CertificateName returns the name of the node that its certificate carries whatever the cluster's domain is.
func (p Peer) CertificateName() string {
	if name, _, ok := strings.Cut(p.Host, ".svc."); ok {
		return name + ".svc"
	}
	return p.Host
}

// ArchiverName returns the name of a cluster's archiver, which its certificate carries.
func ArchiverName(cluster string) string { return cluster + "-archiver" }

// longestGroup is what Galera's handshake keeps of the group's name (gmcast_message.hpp), longestPart what the
// namespace and the cluster's name get of it, and uidPart what is left for the UID.
const (
	longestGroup = 32
	longestPart  = 11
	uidPart      = longestGroup - 2*(longestPart+1)
)

// Group returns wsrep_cluster_name: nodes of two clusters never form one group, even if one finds the address of the
// other. It stays the same for the life of the cluster.
func (n NodeConfig) Group() string {
	if n.UID == "" {
		return n.Cluster
	}
	cut := func(s string, limit int) string { return strings.Trim(s[:min(len(s), limit)], "-") }
	return cut(n.Namespace, longestPart) + "." + cut(n.Cluster, longestPart) + "." +
		cut(strings.ReplaceAll(n.UID, "-", ""), uidPart)
}
