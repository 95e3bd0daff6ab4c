package v1alpha1

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ReplicaOf names a cluster that this one follows by the archive of its binary log, and needs no connection to it: a
// second site. The cluster begins with the newest backup in the store, and goes on with what is archived
// (spec.backup.pointInTime of the other one), or with what endpoints send before that. All nodes refuse the writes of
// clients until spec.cutover, except those of accounts with the privilege READ ONLY ADMIN, as root.
//
// +kubebuilder:validation:XValidation:rule="has(self.endpoints) ? has(self.credentialsSecretRef) && has(self.tls) : !has(self.credentialsSecretRef) && !has(self.tls)",fieldPath=".endpoints",message="endpoints need credentialsSecretRef and tls, which are for them alone: set all three, or none"
type ReplicaOf struct {
	// storeRef names a GaleraBackupStore in this cluster's namespace: the store that has the other cluster's backups and
	// archive. When this cluster takes over, that is recorded there, in the other one's directory: its credentials have to
	// be able to create objects.
	// +required
	StoreRef LocalName `json:"storeRef"`
	// cluster is the one to follow.
	// +required
	Cluster ReplicatedCluster `json:"cluster"`
	// identitySecretRef names a Secret in this cluster's namespace with the private key of one of the recipients of the
	// backups and of the archive (an age identity, "AGE-SECRET-KEY-1…"). The Jobs of the restore and the Deployment
	// NAME-source mount it, and no database pod does. It is needed for as long as the cluster follows.
	// +required
	IdentitySecretRef SecretKey `json:"identitySecretRef"`
	// replaces is the id of status.superseded: a cluster that another one has taken over from, by a planned change of
	// sites (spec.switchSite), is to follow that one. ITS OWN DATA ARE REMOVED, WITH ITS VOLUMES, AND IT BEGINS WITH THE
	// OTHER ONE'S NEWEST BACKUP: once that one is known to have all of its transactions, and the backup was found. It
	// is of no meaning for a new cluster. Default: none.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^[1-9][0-9]*-[0-9a-f]{1,8}$`
	Replaces string `json:"replaces,omitempty"`
	// endpoints are servers of the cluster that is followed, as HOST:PORT, 8 at most, in the order in which they are
	// tried: nodes, or a Service that leads to them. NAME-source streams what one of them writes before it is archived,
	// and goes on with the archive while none can be streamed from. They can be changed at any time. Default: none.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=260
	// +kubebuilder:validation:items:Pattern=`^([A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\]):[1-9][0-9]{0,4}$`
	Endpoints []string `json:"endpoints,omitempty"`
	// credentialsSecretRef names a Secret in this cluster's namespace with the keys username and password of an account of
	// the other cluster, which needs REPLICATION SLAVE on *.* and nothing else. Only the Deployment NAME-source mounts it.
	// +optional
	CredentialsSecretRef *LocalName `json:"credentialsSecretRef,omitempty"`
	// tls is how the certificates of the endpoints are verified.
	// +optional
	TLS *EndpointTLS `json:"tls,omitempty"`
}

// EndpointTLS is how the certificates of endpoints are verified.
type EndpointTLS struct {
	// caSecretRef names a Secret in this cluster's namespace with the certificate of the CA in the key ca.crt: the
	// other cluster has it in its ConfigMap NAME-ca.
	// +required
	CASecretRef LocalName `json:"caSecretRef"`
	// certificateSecretRef names a Secret in this cluster's namespace with a certificate for the account (tls.crt,
	// tls.key), if that requires one. Default: none is shown.
	// +optional
	CertificateSecretRef *LocalName `json:"certificateSecretRef,omitempty"`
	// verify is Identity (the certificate is the CA's, and names the endpoint's host) or CA (any certificate of that CA
	// will do). Default: Identity.
	// +optional
	// +kubebuilder:default=Identity
	// +kubebuilder:validation:Enum=Identity;CA
	Verify string `json:"verify,omitempty"`
}

// FollowedStream is what is known of the stream of spec.replicaOf.endpoints.
type FollowedStream struct {
	// endpoint is the server that is streamed from, or that was tried last.
	// +optional
	Endpoint string `json:"endpoint,omitempty"`
	// connected reports whether it is streamed from: the archive is followed otherwise.
	// +optional
	Connected bool `json:"connected,omitempty"`
	// secondsBehind is the age of the transaction that is being applied, 0 when nothing is left to apply. Absent while it
	// is not known, and while nothing is streamed.
	// +optional
	SecondsBehind *int64 `json:"secondsBehind,omitempty"`
	// error is why there is none, of each endpoint that was tried: how its last stream has ended, or why it could not be
	// begun. Absent while one runs.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Error string `json:"error,omitempty"`
}

// ReplicatedCluster is a cluster as a store knows it: it need not be in this Kubernetes, nor exist any more.
type ReplicatedCluster struct {
	// namespace of the cluster. Default: this cluster's.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Namespace string `json:"namespace,omitempty"`
	// name of the cluster. Default: this cluster's.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name,omitempty"`
	// uid is the metadata.uid of the cluster, or its first eight characters, which are the last part of a directory in
	// the store's status. It is needed if the store has backups of several clusters of that namespace and name. Default:
	// the only one.
	// +optional
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{8}(-[0-9a-f]{4}){0,3}(-[0-9a-f]{12})?$`
	// +kubebuilder:validation:MaxLength=36
	UID string `json:"uid,omitempty"`
}

// FollowedArchive is how far the archive is that a cluster follows, and what keeps it from being served.
type FollowedArchive struct {
	// gtid is the last transaction in the archive, through a point in time: the archive holds everything that was
	// committed before it. What the other site has committed since is lost with that site.
	// +optional
	GTID string `json:"gtid,omitempty"`
	// +optional
	Through *metav1.Time `json:"through,omitempty"`
	// observedAt is when the reading of the store began that found gtid and through. The store is read every 15 seconds.
	// +optional
	ObservedAt *metav1.Time `json:"observedAt,omitempty"`
	// message describes what keeps the archive from being served, and what to do. Absent for nothing.
	// +optional
	Message string `json:"message,omitempty"`
}

// Bootstrap returns what a new cluster begins with, nil for nothing: spec.bootstrapFrom, or the newest backup of the
// cluster that spec.replicaOf names, with its archive.
func (c *GaleraCluster) Bootstrap() *BootstrapFrom {
	r := c.Spec.ReplicaOf
	if r == nil {
		return c.Spec.BootstrapFrom
	}
	return &BootstrapFrom{IdentitySecretRef: r.IdentitySecretRef, PointInTime: &RestorePoint{Latest: true},
		Store: &BootstrapStore{Name: r.StoreRef.Name, Namespace: r.Cluster.Namespace, Cluster: r.Cluster.Name,
			ClusterUID: r.Cluster.UID}}
}

// Rejoins reports whether a cluster that another one has taken over from is to follow that one, and still has data of
// its own: it follows nothing so far. So it stays if yet another one turns out to have taken over. One that was emptied
// after that very promotion has data of later, also where its status has lost that.
func Rejoins(c *GaleraCluster) bool {
	r, begun := c.Spec.ReplicaOf, c.Status.Reseed
	if r == nil || r.Replaces == "" || !c.Superseded() || Replaced(c) == r.Replaces {
		return false
	}
	return c.Status.Superseded.ID == r.Replaces || begun != nil && begun.Request == r.Replaces &&
		(begun.Phase == ReseedChecking || begun.Phase == ReseedEmptying)
}

// BootstrapField is the field of the spec that Bootstrap is from.
func (c *GaleraCluster) BootstrapField() string {
	if c.Spec.ReplicaOf != nil {
		return "spec.replicaOf"
	}
	return "spec.bootstrapFrom"
}

// archiveSource is the server that offers the archive to the cluster's own nodes.
func archiveSource(c *GaleraCluster) *BootstrapExternal {
	secret := LocalName{Name: c.SourceName()}
	return &BootstrapExternal{Host: c.SourceName() + "." + c.Namespace + ".svc", Port: SourcePort,
		CredentialsSecretRef: secret, TLS: &ExternalTLS{CASecretRef: secret, Verify: VerifyIdentity}, Follow: true}
}

// SourcePort is the port of that server.
const SourcePort = 3306

// SourceName is the name of its Deployment, and of what belongs to that.
func (c *GaleraCluster) SourceName() string { return c.Name + "-source" }

// FollowedName is what is followed, in words for people: the host of a server, or the archive of a cluster. It is ""
// for nothing.
func (c *GaleraCluster) FollowedName() string {
	if r := c.Spec.ReplicaOf; r != nil {
		return "the archive of " + cmp.Or(r.Cluster.Namespace, c.Namespace) + "/" + cmp.Or(r.Cluster.Name, c.Name)
	}
	if c.Source() != nil {
		return c.Followed().Host
	}
	return ""
}
