package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// GaleraCluster is an encrypted MariaDB Galera cluster: database nodes that all hold the same data,
// replicate synchronously, and encrypt the traffic between each other and with clients.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:resource:shortName=galera,categories=all
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Available",type=string,JSONPath=`.status.conditions[?(@.type=="Available")].status`,description="Whether it accepts writes"
// +kubebuilder:printcolumn:name="Synced",type=integer,JSONPath=`.status.readyReplicas`,description="The number of Synced nodes"
// +kubebuilder:printcolumn:name="Nodes",type=integer,JSONPath=`.status.replicas`,description="The number of nodes in the cluster now"
// +kubebuilder:printcolumn:name="Primary",type=string,JSONPath=`.status.primary`,description="The node behind the Service NAME-primary"
// +kubebuilder:printcolumn:name="Encrypted",type=string,JSONPath=`.status.tls.encrypted`
// +kubebuilder:printcolumn:name="Arbitrator",type=boolean,priority=1,JSONPath=`.status.arbitrator.connected`,description="Whether the arbitrator is in the Primary component"
// +kubebuilder:printcolumn:name="Copied",type=string,priority=1,JSONPath=`.status.restore.progress.summary`,description="How far the copy of another server is"
// +kubebuilder:printcolumn:name="Operation",type=string,JSONPath=`.status.operation.type`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Status",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 40 && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="the name becomes part of Service and pod names: at most 40 lower-case letters, digits and '-', starting with a letter"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.stateTransfer) || !has(self.spec.stateTransfer.donors) || self.spec.stateTransfer.donors.all(d, d.startsWith(self.metadata.name + '-') && d.size() == self.metadata.name.size() + 2 && d.matches('[0-6]$'))",message="spec.stateTransfer.donors must be names of this cluster's nodes: NAME-0 to NAME-6"
// +kubebuilder:validation:XValidation:rule="quantity(string(self.spec.storage.size)).compareTo(quantity(string(oldSelf.spec.storage.size))) >= 0 || has(self.status) && has(self.status.volumeSize) && quantity(string(self.spec.storage.size)).compareTo(quantity(string(self.status.volumeSize))) >= 0",fieldPath=".spec.storage.size",message="size can grow, and can be set back as far as status.volumeSize, which every volume has: Kubernetes has no way to make a volume smaller; create a new cluster and restore into it"
// +kubebuilder:validation:XValidation:rule="has(self.spec.bootstrapFrom) == has(oldSelf.spec.bootstrapFrom) && (!has(self.spec.bootstrapFrom) || self.spec.bootstrapFrom == oldSelf.spec.bootstrapFrom) || !has(oldSelf.status) || !has(oldSelf.status.clusterUUID) && (!has(oldSelf.status.restore) || oldSelf.status.restore.phase in ['Finding', 'Failed']) || has(oldSelf.status.clusterUUID) && !has(self.spec.bootstrapFrom)",fieldPath=".spec.bootstrapFrom",message="bootstrapFrom describes what a new cluster begins with: it cannot be changed once its volumes are being filled, and only be removed once it has started; restore into a new cluster"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.spec.cutover) || !has(self.spec.cutover) && has(self.spec.replicaOf) && has(self.spec.replicaOf.replaces) && has(self.status) && has(self.status.superseded) && self.status.superseded.id == self.spec.replicaOf.replaces || has(oldSelf.spec.cutover.token) && has(self.status) && has(self.status.replication) && self.status.replication.role == 'Follower' && !has(self.status.replication.acceptsAfter) && (!has(self.status.replication.promotion) || !has(self.status.replication.promotion.id) || has(self.status.replication.promotion.withdrawn) && self.status.replication.promotion.withdrawn) || has(self.spec.cutover) && (self.spec.cutover.gtid == oldSelf.spec.cutover.gtid && has(self.spec.cutover.token) == has(oldSelf.spec.cutover.token) && (!has(self.spec.cutover.token) || self.spec.cutover.token == oldSelf.spec.cutover.token) || has(self.status) && has(self.status.replication) && self.status.replication.role == 'Follower' && has(self.status.replication.applied) && self.spec.cutover.gtid == self.status.replication.applied)",fieldPath=".spec.cutover",message="a cutover cannot be taken back or changed: nodes may have accepted writes since. While no node can get the rest, because the source is lost, gtid may be set to status.replication.applied: what the source has written after it is given up"
// +kubebuilder:validation:XValidation:rule="has(self.spec.bootstrapFrom) || !has(oldSelf.spec.bootstrapFrom) || !has(oldSelf.spec.bootstrapFrom.external) || !has(oldSelf.spec.bootstrapFrom.external.follow) || !oldSelf.spec.bootstrapFrom.external.follow || has(self.status) && has(self.status.replication) && self.status.replication.role == 'Independent'",fieldPath=".spec.bootstrapFrom",message="the cluster follows the source: run kubectl galera cutover, and remove bootstrapFrom when status.replication.role is Independent"
// +kubebuilder:validation:XValidation:rule="!(has(self.spec.bootstrapFrom) && has(self.spec.bootstrapFrom.external) && has(self.spec.bootstrapFrom.external.follow) && self.spec.bootstrapFrom.external.follow || has(self.spec.replicaOf)) || has(self.spec.cutover) || has(self.spec.replicaOf) && has(self.spec.replicaOf.replaces) || !has(self.spec.backup) || !has(self.spec.backup.pointInTime) || !has(self.spec.backup.pointInTime.enabled) || !self.spec.backup.pointInTime.enabled",fieldPath=".spec.backup.pointInTime.enabled",message="the binary log of a cluster that follows another one has the transactions of both: set pointInTime with spec.cutover, or later"
// +kubebuilder:validation:XValidation:rule="has(self.spec.bootstrapFrom) && has(self.spec.bootstrapFrom.external) && has(self.spec.bootstrapFrom.external.follow) && self.spec.bootstrapFrom.external.follow || has(self.spec.replicaOf) || !has(self.spec.cutover) || has(oldSelf.spec.cutover)",fieldPath=".spec.cutover",message="the cluster follows nothing that it could be cut over from: remove cutover"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.replicaOf) || has(oldSelf.spec.replicaOf) && self.spec.replicaOf.storeRef == oldSelf.spec.replicaOf.storeRef && self.spec.replicaOf.cluster == oldSelf.spec.replicaOf.cluster && self.spec.replicaOf.identitySecretRef == oldSelf.spec.replicaOf.identitySecretRef && has(self.spec.replicaOf.replaces) == has(oldSelf.spec.replicaOf.replaces) && (!has(self.spec.replicaOf.replaces) || self.spec.replicaOf.replaces == oldSelf.spec.replicaOf.replaces) || has(self.spec.replicaOf.replaces) && !has(self.spec.cutover) && !has(self.spec.switchSite) && has(self.status) && has(self.status.superseded) && self.status.superseded.id == self.spec.replicaOf.replaces && has(self.status.superseded.surplus) && self.status.superseded.surplus == 0 && has(self.status.switchSite) && self.status.switchSite.phase == 'Taken' && has(self.spec.replicaOf.cluster.uid) && self.status.superseded.uid == self.spec.replicaOf.cluster.uid && (!has(self.status.reseed) || !(self.status.reseed.phase in ['Emptying', 'Copying'])) || !has(oldSelf.status) || !has(oldSelf.status.clusterUUID) && (!has(oldSelf.status.restore) || oldSelf.status.restore.phase in ['Finding', 'Failed'])",fieldPath=".spec.replicaOf",message="replicaOf is what a new cluster begins with and follows: it cannot be set or changed once the volumes are being filled, or the cluster has started, except endpoints, credentialsSecretRef and tls; create a new cluster. One that another cluster has taken over from by a planned change of sites, with a status.superseded.surplus of 0, can name that one: set replaces to status.superseded.id and cluster.uid to status.superseded.uid, and remove switchSite and cutover"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.cutover) || has(self.spec.cutover.uid) || has(oldSelf.spec.cutover)",fieldPath=".spec.cutover",message="set spec.cutover.uid to the metadata.uid of this cluster, which is to take over: a new cluster with the same manifest is not to do so, too; kubectl galera cutover sets it"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.cutover) || has(oldSelf.spec.cutover) || !has(self.status) || !(has(self.spec.replicaOf) && has(self.spec.replicaOf.replaces) || has(self.status.reseed) && self.status.reseed.phase in ['Checking', 'Emptying', 'Copying', 'Completed'] && !self.status.reseed.request.contains('@')) || has(self.spec.cutover.uid) && has(self.status.identity) && self.spec.cutover.uid == self.status.identity && !has(self.status.superseded) && (!has(self.status.reseed) || !(self.status.reseed.phase in ['Checking', 'Emptying']))",fieldPath=".spec.cutover",message="a cluster that is to follow the one which has taken over from it (replicaOf.replaces) takes over from that one only once it was emptied: a cutover of the time before does not count. Remove cutover, also from the manifest. To have the cluster take over: kubectl galera cutover, which sets cutover.uid to status.identity"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.overrulesPromotion) || has(oldSelf.spec.overrulesPromotion) && self.spec.overrulesPromotion == oldSelf.spec.overrulesPromotion || has(self.status) && has(self.status.superseded) && self.status.superseded.id == self.spec.overrulesPromotion",fieldPath=".spec.overrulesPromotion",message="overrulesPromotion can only be set to status.superseded.id: it is about that very promotion"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.cutover) && has(self.spec.replicaOf) && has(self.spec.replicaOf.replaces) && has(self.status) && has(self.status.superseded) && self.status.superseded.id == self.spec.replicaOf.replaces || !has(oldSelf.spec.cutover) || !has(oldSelf.spec.cutover.withoutRecord) || !oldSelf.spec.cutover.withoutRecord || has(self.spec.cutover) && has(self.spec.cutover.withoutRecord) && self.spec.cutover.withoutRecord",fieldPath=".spec.cutover.withoutRecord",message="withoutRecord cannot be taken back: nodes may have accepted writes since"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.switchSite) || !has(oldSelf.status.switchSite.token) || oldSelf.status.switchSite.phase == 'Taken' || !has(oldSelf.spec.backup) || has(self.spec.backup) && self.spec.backup.storeRef == oldSelf.spec.backup.storeRef",fieldPath=".spec.backup.storeRef",message="a token was given that is used, or taken back, in this store (status.switchSite.token): wait until status.switchSite.phase is TakenBack or Taken"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.writeLease) || !has(oldSelf.spec.backup) || has(self.spec.backup) && self.spec.backup.storeRef == oldSelf.spec.backup.storeRef && has(self.spec.backup.pointInTime) && has(self.spec.backup.pointInTime.enabled) && self.spec.backup.pointInTime.enabled",fieldPath=".spec.backup",message="nodes accept writes by a lease in this store, where another cluster looks for it before it accepts writes: set spec.backup.pointInTime.writeLease to false first, and wait until status.writeLease is gone"
// +kubebuilder:validation:XValidation:rule="has(self.spec.replicaOf) || !has(oldSelf.spec.replicaOf) || has(self.status) && (has(self.status.replication) && self.status.replication.role == 'Independent' || has(oldSelf.spec.replicaOf.replaces) && has(self.status.superseded) && (self.status.superseded.id == oldSelf.spec.replicaOf.replaces || has(self.status.reseed) && self.status.reseed.phase == 'Checking')) && (!has(self.status.reseed) || !(self.status.reseed.phase in ['Emptying', 'Copying']))",fieldPath=".spec.replicaOf",message="the cluster follows the archive: run kubectl galera cutover, and remove replicaOf when status.replication.role is Independent"
type GaleraCluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state. The operator never writes to it.
	// +required
	Spec GaleraClusterSpec `json:"spec"`
	// status is the observed state.
	// +optional
	// +kubebuilder:default:={"observedGeneration":-1}
	Status GaleraClusterStatus `json:"status,omitempty"`
}

// GaleraClusterSpec is the desired state of a cluster.
//
// +kubebuilder:validation:XValidation:rule="has(self.arbitrator) && has(self.arbitrator.enabled) && self.arbitrator.enabled || self.replicas in [1, 3, 5, 7]",fieldPath=".replicas",message="replicas must be 1, 3, 5 or 7: with an even number the cluster would stop as soon as half of the nodes cannot be reached, unless spec.arbitrator.enabled adds a vote to 2, 4 or 6 of them; and more than 7 synchronous nodes only slow each other down"
// +kubebuilder:validation:XValidation:rule="!has(self.arbitrator) || !has(self.arbitrator.enabled) || !self.arbitrator.enabled || self.replicas in [2, 4, 6]",fieldPath=".replicas",message="with spec.arbitrator.enabled replicas must be 2, 4 or 6: the arbitrator's vote makes an even number odd; alongside an odd number of nodes it would make it even, and alongside a single node there would be two votes, of which neither could be lost"
// +kubebuilder:validation:XValidation:rule="!has(self.monitoring) || !has(self.monitoring.exporter) || !has(self.podTemplate) || !has(self.podTemplate.sidecars) || !self.podTemplate.sidecars.exists(s, s.name == 'exporter' || has(s.port) && s.port == 9104)",fieldPath=".podTemplate",message="with spec.monitoring.exporter no sidecar can be called exporter, or listen on port 9104: remove that sidecar, or the exporter"
// +kubebuilder:validation:XValidation:rule="!has(self.backup) || !has(self.backup.pointInTime) || !has(self.backup.pointInTime.enabled) || !self.backup.pointInTime.enabled || !has(self.tls) || !has(self.tls.clients) || self.tls.clients != 'Disabled'",fieldPath=".backup.pointInTime.enabled",message="the archiver follows the nodes over TLS with a certificate: set spec.tls.clients to Required or Preferred"
// +kubebuilder:validation:XValidation:rule="!has(self.encryption) || !has(oldSelf.encryption) || self.encryption.atRest.algorithm == oldSelf.encryption.atRest.algorithm && has(self.encryption.atRest.keysSecretRef) == has(oldSelf.encryption.atRest.keysSecretRef) && (!has(self.encryption.atRest.keysSecretRef) || self.encryption.atRest.keysSecretRef == oldSelf.encryption.atRest.keysSecretRef)",fieldPath=".encryption.atRest",message="the data are encrypted with this algorithm and these keys, which cannot be changed while they are: remove spec.encryption, wait until status.atRest.state is Off, and set it anew"
// +kubebuilder:validation:XValidation:rule="!has(self.encryption) || !has(self.bootstrapFrom) || !has(self.bootstrapFrom.external)",fieldPath=".bootstrapFrom",message="bootstrapFrom.external does not go with encryption: copy the server into a cluster without encryption, and restore a backup of that one into a cluster with it"
// +kubebuilder:validation:XValidation:rule="!has(self.replicaOf) || !has(self.bootstrapFrom)",fieldPath=".replicaOf",message="a cluster with replicaOf begins with the newest backup of the cluster that it follows: remove bootstrapFrom"
// +kubebuilder:validation:XValidation:rule="!has(self.replicaOf) || !has(self.replicaOf.replaces) || !has(self.overrulesPromotion) || self.overrulesPromotion != self.replicaOf.replaces",fieldPath=".overrulesPromotion",message="a cluster follows the one that has taken over (replicaOf.replaces), or overrules that: remove one of both"
// +kubebuilder:validation:XValidation:rule="!has(self.switchSite) || has(self.backup) && has(self.backup.pointInTime) && has(self.backup.pointInTime.enabled) && self.backup.pointInTime.enabled",fieldPath=".switchSite",message="the other site takes over with what the archive has: enable spec.backup.pointInTime, and remove switchSite before you disable it"
// +kubebuilder:validation:XValidation:rule="!has(self.switchSite) || !has(oldSelf.switchSite) || self.switchSite == oldSelf.switchSite",fieldPath=".switchSite",message="remove switchSite first, and wait until status.switchSite.phase is TakenBack"
// +kubebuilder:validation:XValidation:rule="!has(self.cutover) || !has(self.cutover.token) || self.cutover.gtid == self.cutover.token.gtid || has(self.cutover.withoutRecord) && self.cutover.withoutRecord",fieldPath=".cutover",message="gtid must be the token's"
type GaleraClusterSpec struct {
	// replicas is the number of database nodes: 1, 3, 5 or 7; with an arbitrator 2, 4 or 6. An even number of
	// votes is refused: such a cluster loses quorum as soon as half of them are unreachable. Nodes are added and
	// removed one at a time, without restarting the others: a new node joins by SST; scaling down stops the node
	// with the highest number gracefully. kubectl scale works, too. Default: 3.
	// +optional
	// +kubebuilder:default=3
	Replicas int32 `json:"replicas"`

	// image is the container image of the database nodes: any image with the layout of the official
	// one (mariadbd, mariadb-backup, the Galera provider, socat). Default: the operator's
	// --default-image, normally mariadb:11.8. A change restarts one node at a time. A change to an older
	// series of MariaDB is refused.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Image string `json:"image,omitempty"`

	// imagePullPolicy of the database image: Always, IfNotPresent or Never. Default: IfNotPresent.
	// +optional
	// +kubebuilder:default=IfNotPresent
	// +kubebuilder:validation:Enum=Always;IfNotPresent;Never
	ImagePullPolicy corev1.PullPolicy `json:"imagePullPolicy,omitempty"`

	// imagePullSecrets names Secrets with registry credentials, in the cluster's namespace.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty"`

	// storage is the volume of each node.
	// +required
	Storage StorageSpec `json:"storage"`

	// resources of the database container: requests and limits for cpu and memory. Default: requests of 250m and
	// 512Mi, each where neither a request nor a limit is given. Request what the server needs under load: a node
	// that gets no processor for a few seconds is evicted by the others.
	// +optional
	Resources corev1.ResourceRequirements `json:"resources,omitempty"`

	// scheduling selects the hosts for the nodes. Default: one node per host as far as possible.
	// +optional
	Scheduling SchedulingSpec `json:"scheduling,omitempty"`

	// rootAccess says from where root may log in over the network. A change restarts nothing. Default: from everywhere,
	// with the password in the Secret NAME-root.
	// +optional
	RootAccess *RootAccess `json:"rootAccess,omitempty"`

	// podTemplate adds labels, annotations, environment, sidecars and more to the database pods.
	// +optional
	PodTemplate *PodTemplateSpec `json:"podTemplate,omitempty"`

	// monitoring adds to the metrics that every node serves by itself (docs/metrics.md).
	// +optional
	Monitoring *MonitoringSpec `json:"monitoring,omitempty"`

	// mariadb configures the database server.
	// +optional
	MariaDB MariaDBSpec `json:"mariadb,omitempty"`

	// tls is the encryption policy, per channel. Everything is encrypted by default.
	// +optional
	// +kubebuilder:default={}
	TLS TLSSpec `json:"tls,omitempty"`

	// encryption configures encryption of what lies on disks. Default: data on disks are not encrypted.
	// +optional
	Encryption *EncryptionSpec `json:"encryption,omitempty"`

	// stateTransfer configures how a joiner gets its data: a full copy (SST), or only the write-sets it
	// missed (IST).
	// +optional
	// +kubebuilder:default={}
	StateTransfer StateTransferSpec `json:"stateTransfer,omitempty"`

	// replication configures the group communication between the nodes.
	// +optional
	Replication *ReplicationSpec `json:"replication,omitempty"`

	// arbitrator configures garbd: a member of the group with a vote and no data.
	// +optional
	Arbitrator ArbitratorSpec `json:"arbitrator,omitempty"`

	// service configures the Service NAME, which selects every Synced node.
	// +optional
	Service ServiceSpec `json:"service,omitempty"`

	// primaryService configures the Service NAME-primary, which selects one node at a time: the primary.
	// +optional
	PrimaryService ServiceSpec `json:"primaryService,omitempty"`

	// readOnlyService configures the Service NAME-readonly, which selects the Synced nodes that are not the primary, and
	// the primary when there is no other. It does not refuse writes, because every node accepts them. With maxLag, that of
	// a cluster that follows another one leads to no node while the cluster is further behind.
	// +optional
	ReadOnlyService ReadOnlyServiceSpec `json:"readOnlyService,omitempty"`

	// allowedNamespaces selects, by label, the other namespaces whose GaleraUsers and GaleraDatabases may name this
	// cluster. Their accounts get privileges on their own GaleraDatabases only. {} selects all namespaces. Default: none
	// but this cluster's own.
	// +optional
	AllowedNamespaces *metav1.LabelSelector `json:"allowedNamespaces,omitempty"`

	// allowedCloneNamespaces are the names of the other namespaces whose new clusters may be clones of this one
	// (spec.bootstrapFrom.cluster). A clone has all data of this cluster, with the password hashes of its accounts. There
	// is no wildcard. Default: none; this cluster's own namespace needs no entry.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	AllowedCloneNamespaces []string `json:"allowedCloneNamespaces,omitempty"`

	// networkPolicy restricts who can connect to the nodes.
	// +optional
	// +kubebuilder:default={}
	NetworkPolicy NetworkPolicySpec `json:"networkPolicy,omitempty"`

	// hibernate stops all nodes gracefully, one after another, and keeps the data. Set it to false to start the cluster
	// again, from the node that stopped last. To stop the operator and keep the nodes running, set the annotation
	// galera-operator.io/pause=true instead. Default: false.
	// +optional
	Hibernate bool `json:"hibernate,omitempty"`

	// deletionProtection makes the API server refuse to delete this resource while it is true. A deletion of its namespace
	// waits. The ValidatingAdmissionPolicy for this is installed with the operator. It does not protect against a deletion
	// of the CRD. Default: false.
	// +optional
	DeletionProtection bool `json:"deletionProtection,omitempty"`

	// maintenance defines when work may begin that only an upgrade of the operator needs. Default: as soon as the cluster
	// is healthy.
	// +optional
	Maintenance *MaintenanceSpec `json:"maintenance,omitempty"`

	// bootstrapFrom is the backup, the living cluster, or the other server that a new cluster begins with. It may be
	// removed once the cluster has started. Default: none; the cluster begins empty.
	// +optional
	BootstrapFrom *BootstrapFrom `json:"bootstrapFrom,omitempty"`

	// replicaOf lets a new cluster follow the archive of another one, as a second site, until spec.cutover. It cannot be
	// changed once the volumes are being filled, and be removed when status.replication.role is Independent. Default:
	// none.
	// +optional
	ReplicaOf *ReplicaOf `json:"replicaOf,omitempty"`

	// cutover ends spec.bootstrapFrom.external.follow, or spec.replicaOf: the cluster becomes independent of the source,
	// and accepts writes. It cannot be taken back or changed. Default: none.
	// +optional
	Cutover *CutoverSpec `json:"cutover,omitempty"`

	// overrulesPromotion is the id of status.superseded: this cluster accepts writes again, though another one has taken
	// over from it. Each goes on with data of its own then: stop the other one first. Default: none.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^[1-9][0-9]*-[0-9a-f]{1,8}$`
	OverrulesPromotion string `json:"overrulesPromotion,omitempty"`

	// switchSite has all nodes refuse the writes of clients, so that a cluster that follows this one can take over without
	// loss: kubectl galera switch-site. Removing it takes that back, unless the other one has taken over. It needs
	// spec.backup.pointInTime. Default: none.
	// +optional
	SwitchSite *SwitchSiteSpec `json:"switchSite,omitempty"`

	// backup archives the cluster's binary log, for point-in-time recovery. For the backups themselves create a
	// GaleraBackup or a GaleraBackupSchedule.
	// +optional
	Backup *ClusterBackup `json:"backup,omitempty"`

	// recovery holds your decisions for a cluster that cannot start by itself without risking data.
	// +optional
	Recovery *RecoverySpec `json:"recovery,omitempty"`
}

// SchedulingSpec selects hosts.
type SchedulingSpec struct {
	// nodeSelector selects the hosts by label.
	// +optional
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	// affinity replaces the default, which prefers a host without another node of the cluster.
	// +optional
	Affinity *corev1.Affinity `json:"affinity,omitempty"`
	// tolerations of the database pods.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
	// topologySpreadConstraints of the database pods.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	TopologySpreadConstraints []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`
	// priorityClassName of the database pods.
	// +optional
	PriorityClassName string `json:"priorityClassName,omitempty"`
}

// TLSSpec is the encryption policy, per channel.
//
// +kubebuilder:validation:XValidation:rule="self.minVersion == '1.3' || !has(self.cipher) || self.cipher == 'Auto' || self.cipher == 'TLS_AES_256_GCM_SHA384' || self.cipher == 'TLS_AES_128_GCM_SHA256' || self.cipher == 'TLS_CHACHA20_POLY1305_SHA256'",message="cipher must be Auto or a TLS 1.3 suite"
type TLSSpec struct {
	// replication encrypts group communication and IST (ports 4567, 4568): Required or Disabled. Both sides
	// verify that the other's certificate is issued by the cluster's CA; Galera does not check names.
	// Default: Required.
	// +optional
	// +kubebuilder:default=Required
	Replication ReplicationTLS `json:"replication,omitempty"`

	// stateTransfer encrypts SST (port 4444): Required or Disabled. Default: as replication.
	// +optional
	StateTransfer ReplicationTLS `json:"stateTransfer,omitempty"`

	// clients encrypts client connections (port 3306): Required refuses logins without TLS,
	// Preferred accepts both, Disabled offers no TLS. Default: Required.
	// +optional
	// +kubebuilder:default=Required
	Clients ClientTLS `json:"clients,omitempty"`

	// issuerRef names the cert-manager issuer of the cluster's certificate. Default: a private CA for this
	// cluster, which is safest. Galera checks only that a certificate is issued by the CA: with a shared
	// issuer, the holder of any certificate it issued can join the group.
	// +optional
	IssuerRef *IssuerReference `json:"issuerRef,omitempty"`

	// dropOldCA defines when the old CA is removed after a replacement of the CA. Automatic: as soon as all nodes
	// present a certificate of the new CA. Manual: when the annotation galera-operator.io/drop-old-ca names the
	// old CA's fingerprint; until then both CAs are trusted. Removing a CA restarts one node at a time, because a
	// running node cannot drop a CA it has loaded. Default: Automatic.
	// +optional
	// +kubebuilder:default=Automatic
	// +kubebuilder:validation:Enum=Automatic;Manual
	DropOldCA string `json:"dropOldCA,omitempty"`

	// clientTrustDelay is how long clients have to read a new CA, which is published in the ConfigMap NAME-ca and in
	// binding Secrets, before any node presents a certificate of it, for instance 2m. kubelet refreshes what pods
	// mount within about a minute and a half. 0s to 24h. Default: 2m.
	// +optional
	// +kubebuilder:default="2m"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s') && duration(self) <= duration('24h')",message="0s to 24h"
	ClientTrustDelay *metav1.Duration `json:"clientTrustDelay,omitempty"`

	// certificate configures the nodes' certificate.
	// +optional
	// +kubebuilder:default={}
	Certificate CertificateSpec `json:"certificate,omitempty"`

	// minVersion is the lowest TLS version accepted on any channel: "1.2" or "1.3". Default: "1.3".
	// +optional
	// +kubebuilder:default="1.3"
	// +kubebuilder:validation:Enum="1.2";"1.3"
	MinVersion string `json:"minVersion,omitempty"`

	// switchStrategy is how replication is switched between Required and Disabled on a running cluster.
	// Rolling restarts one node at a time, each node twice, without an outage; it needs a Galera provider with
	// dynamic sockets (26.4.8 or later). Rebootstrap stops all nodes but one, and then restarts that one: the
	// outage is the restart of one node. Default: Rolling.
	// +optional
	// +kubebuilder:default=Rolling
	// +kubebuilder:validation:Enum=Rolling;Rebootstrap
	SwitchStrategy string `json:"switchStrategy,omitempty"`

	// cipher is the TLS 1.3 suite to use: Auto, TLS_AES_128_GCM_SHA256, TLS_AES_256_GCM_SHA384 or
	// TLS_CHACHA20_POLY1305_SHA256. Auto allows all three. It prefers AES-128-GCM if the CPUs of all hosts have
	// AES instructions, and ChaCha20-Poly1305 otherwise. Default: Auto.
	// +optional
	// +kubebuilder:default=Auto
	// +kubebuilder:validation:Enum=Auto;TLS_AES_128_GCM_SHA256;TLS_AES_256_GCM_SHA384;TLS_CHACHA20_POLY1305_SHA256
	Cipher string `json:"cipher,omitempty"`
}

// IssuerReference names a cert-manager issuer.
type IssuerReference struct {
	// name of the issuer.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// kind of the issuer: Issuer (in the cluster's namespace) or ClusterIssuer. Default: Issuer.
	// +optional
	// +kubebuilder:default=Issuer
	// +kubebuilder:validation:Enum=Issuer;ClusterIssuer
	Kind string `json:"kind,omitempty"`
}

// CertificateSpec configures the nodes' certificate.
//
// +kubebuilder:validation:XValidation:rule="!has(self.duration) || duration(self.duration) >= duration('1h')",message="duration must be at least 1h: cert-manager issues nothing shorter"
// +kubebuilder:validation:XValidation:rule="!has(self.duration) || !has(self.renewBefore) || duration(self.renewBefore) < duration(self.duration)",message="renewBefore must be shorter than duration, or the certificate would be renewed without end"
// +kubebuilder:validation:XValidation:rule="!has(self.renewBefore) || duration(self.renewBefore) >= duration('5m')",message="renewBefore must be at least 5m"
type CertificateSpec struct {
	// duration is how long a certificate is valid, for instance 2160h. At least 1h. Default: 2160h.
	// +optional
	// +kubebuilder:default="2160h"
	Duration *metav1.Duration `json:"duration,omitempty"`
	// renewBefore is how long before its expiry a certificate is renewed. At least 5m, and less than duration.
	// Default: a third of duration.
	// +optional
	RenewBefore *metav1.Duration `json:"renewBefore,omitempty"`
	// privateKey is the type and size of the key.
	// +optional
	// +kubebuilder:default={}
	PrivateKey PrivateKeySpec `json:"privateKey,omitempty"`
	// dnsNames are further DNS names in the certificate, for clients outside the cluster, for instance the name of a load
	// balancer. The first label may be a wildcard (*). The issuer must accept them.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:Pattern=`^(\*\.)?[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$`
	DNSNames []string `json:"dnsNames,omitempty"`
	// ipAddresses are IPv4 or IPv6 addresses in the certificate, for clients that connect to an address. The issuer must
	// accept them.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=45
	// +kubebuilder:validation:items:XValidation:rule="isIP(self)",message="must be an IPv4 or IPv6 address"
	IPAddresses []string `json:"ipAddresses,omitempty"`
}

// PrivateKeySpec is the type and size of a private key.
//
// +kubebuilder:validation:XValidation:rule="!has(self.size) || (self.algorithm == 'ECDSA' && self.size in [256, 384]) || (self.algorithm == 'RSA' && self.size in [2048, 3072, 4096])",message="size must be 256 or 384 for ECDSA, and 2048, 3072 or 4096 for RSA"
type PrivateKeySpec struct {
	// algorithm of the key: ECDSA or RSA. Default: ECDSA.
	// +optional
	// +kubebuilder:default=ECDSA
	// +kubebuilder:validation:Enum=ECDSA;RSA
	Algorithm string `json:"algorithm,omitempty"`
	// size in bits: 256 or 384 for ECDSA (default 256); 2048, 3072 or 4096 for RSA (default 2048).
	// +optional
	Size int32 `json:"size,omitempty"`
}
