package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// GaleraCluster is an encrypted MariaDB Galera cluster: a set of database nodes that all hold
// the same data, replicate synchronously and encrypt what they say to each other and to clients.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:resource:shortName=galera,categories=all
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Available",type=string,JSONPath=`.status.conditions[?(@.type=="Available")].status`,description="Whether it accepts writes"
// +kubebuilder:printcolumn:name="Synced",type=integer,JSONPath=`.status.readyReplicas`,description="The number of Synced nodes"
// +kubebuilder:printcolumn:name="Nodes",type=integer,JSONPath=`.status.replicas`,description="The number of nodes the cluster consists of now"
// +kubebuilder:printcolumn:name="Primary",type=string,JSONPath=`.status.primary`,description="The node behind the Service NAME-primary"
// +kubebuilder:printcolumn:name="Encrypted",type=string,JSONPath=`.status.conditions[?(@.type=="Encrypted")].status`
// +kubebuilder:printcolumn:name="Arbitrator",type=boolean,priority=1,JSONPath=`.status.arbitrator.connected`,description="Whether the arbitrator is counted"
// +kubebuilder:printcolumn:name="Operation",type=string,JSONPath=`.status.operation.type`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Status",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 40 && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="the name becomes part of Service and pod names: at most 40 lower-case letters, digits and '-', starting with a letter"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.stateTransfer) || !has(self.spec.stateTransfer.donors) || self.spec.stateTransfer.donors.all(d, d.startsWith(self.metadata.name + '-') && d.size() == self.metadata.name.size() + 2 && d.matches('[0-6]$'))",message="spec.stateTransfer.donors must be names of this cluster's nodes: NAME-0 to NAME-6"
// +kubebuilder:validation:XValidation:rule="quantity(self.spec.storage.size).compareTo(quantity(oldSelf.spec.storage.size)) >= 0 || has(self.status) && has(self.status.volumeSize) && quantity(self.spec.storage.size).compareTo(quantity(self.status.volumeSize)) >= 0",fieldPath=".spec.storage.size",message="size can grow, and can be set back as far as status.volumeSize, which every volume has: Kubernetes has no way to make a volume smaller; create a new cluster and restore into it"
// +kubebuilder:validation:XValidation:optionalOldSelf=true,rule="!has(self.spec.tls) || !has(self.spec.tls.clientCertificates) || self.spec.tls.clientCertificates.all(e, !has(e.secretName) || e.secretName.size() <= self.metadata.name.size() || e.secretName.substring(0, self.metadata.name.size()) != self.metadata.name || !e.secretName.substring(self.metadata.name.size()).matches('^-(root|tls|issued|ca-pair|client-.*)$') || e.secretName.endsWith('-client-' + e.name)) || oldSelf.hasValue() && has(oldSelf.value().spec.tls) && has(oldSelf.value().spec.tls.clientCertificates) && oldSelf.value().spec.tls.clientCertificates == self.spec.tls.clientCertificates",fieldPath=".spec.tls.clientCertificates",message="secretName must not be a Secret that the cluster needs itself: CLUSTER-root, -tls, -issued, -ca-pair and CLUSTER-client-…; choose another one, or none for CLUSTER-client-NAME"
type GaleraCluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what you want. The operator never writes to it.
	// +required
	Spec GaleraClusterSpec `json:"spec"`
	// status is what the operator has observed.
	// +optional
	// +kubebuilder:default:={"observedGeneration":-1}
	Status GaleraClusterStatus `json:"status,omitempty"`
}

// Paused says that the annotation AnnotationPause keeps the operator from acting on the cluster.
func (c *GaleraCluster) Paused() bool { return c.Annotations[AnnotationPause] == "true" }

// GaleraClusterList is a list of GaleraCluster.
//
// +kubebuilder:object:root=true
type GaleraClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []GaleraCluster `json:"items"`
}

// GaleraClusterSpec is the wanted state of a cluster.
//
// +kubebuilder:validation:XValidation:rule="has(self.arbitrator) && has(self.arbitrator.enabled) && self.arbitrator.enabled || self.replicas in [1, 3, 5, 7]",fieldPath=".replicas",message="replicas must be 1, 3, 5 or 7: with an even number the cluster would stop as soon as half of the nodes cannot be reached, unless spec.arbitrator.enabled adds a vote to 2, 4 or 6 of them; and more than 7 synchronous nodes only slow each other down"
// +kubebuilder:validation:XValidation:rule="!has(self.arbitrator) || !has(self.arbitrator.enabled) || !self.arbitrator.enabled || self.replicas in [2, 4, 6]",fieldPath=".replicas",message="with spec.arbitrator.enabled replicas must be 2, 4 or 6: the arbitrator's vote makes an even number odd; beside an odd number of nodes it would make it even, and beside a single node there would be two votes, of which neither could be lost"
type GaleraClusterSpec struct {
	// replicas is the number of database nodes: 1, 3, 5 or 7; with an arbitrator 2, 4 or 6. An even number of
	// votes is refused, because such a cluster stops as soon as half of them cannot be reached. Nodes are added and removed one
	// at a time, and nobody else is restarted for it: a new one copies the data, the highest number leaves
	// in good order. kubectl scale works, too. Default: 3.
	// +optional
	// +kubebuilder:default=3
	Replicas int32 `json:"replicas"`

	// image is the container image of the database nodes: any image with the layout of the official
	// one (mariadbd, mariadb-backup, the Galera provider, socat). Default: the operator's
	// --default-image, normally mariadb:11.8. A change is rolled through the cluster one node at a time;
	// one to an older series of MariaDB is refused.
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

	// resources of the database container: requests and limits for cpu and memory.
	// +optional
	Resources corev1.ResourceRequirements `json:"resources,omitempty"`

	// scheduling says where nodes may run. By default they are spread over hosts as far as possible.
	// +optional
	Scheduling SchedulingSpec `json:"scheduling,omitempty"`

	// mariadb is the server's own configuration.
	// +optional
	MariaDB MariaDBSpec `json:"mariadb,omitempty"`

	// tls is the encryption policy, per channel. Everything is encrypted by default.
	// +optional
	// +kubebuilder:default={}
	TLS TLSSpec `json:"tls,omitempty"`

	// stateTransfer is how a node that joins gets the data: a full copy (SST), or only what it missed
	// (IST).
	// +optional
	// +kubebuilder:default={}
	StateTransfer StateTransferSpec `json:"stateTransfer,omitempty"`

	// arbitrator is a member without data that has a vote.
	// +optional
	Arbitrator ArbitratorSpec `json:"arbitrator,omitempty"`

	// service configures the Service NAME, which leads to every Synced node.
	// +optional
	Service ServiceSpec `json:"service,omitempty"`

	// primaryService configures the Service NAME-primary, which leads to one node at a time.
	// +optional
	PrimaryService ServiceSpec `json:"primaryService,omitempty"`

	// networkPolicy says who may reach the database port.
	// +optional
	// +kubebuilder:default={}
	NetworkPolicy NetworkPolicySpec `json:"networkPolicy,omitempty"`

	// hibernate stops every node gracefully, one after another, and keeps the data. Set it back to
	// false and the cluster resumes from the node that stopped last. To keep the operator from acting instead, and the
	// nodes running, annotate the cluster with galera-operator.io/pause=true. Default: false.
	// +optional
	Hibernate bool `json:"hibernate,omitempty"`

	// deletionProtection refuses every deletion of this resource, also by the deletion of its namespace, which then waits, until
	// it is false again. The API server refuses it by a ValidatingAdmissionPolicy that is installed with the operator. It does
	// not keep the CRD from being deleted. Default: false.
	// +optional
	DeletionProtection bool `json:"deletionProtection,omitempty"`

	// recovery holds what only a person can decide when a cluster cannot start by itself.
	// +optional
	Recovery *RecoverySpec `json:"recovery,omitempty"`
}

// SchedulingSpec says where nodes may run.
type SchedulingSpec struct {
	// nodeSelector restricts the hosts by label.
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

// MariaDBSpec is the server's own configuration.
type MariaDBSpec struct {
	// config holds settings of my.cnf's [mysqld] section, for instance innodb_buffer_pool_size: 2G.
	// A change is applied by a rolling restart, one node at a time, the primary last. Settings the
	// operator owns (addresses, TLS, directories, wsrep_*) are reported in the condition Stalled
	// with the reason ForbiddenSetting and nothing is changed.
	// +optional
	// +kubebuilder:validation:MaxProperties=256
	Config map[string]intstr.IntOrString `json:"config,omitempty"`
}

// ReplicationTLS is Required or Disabled.
// +kubebuilder:validation:Enum=Required;Disabled
type ReplicationTLS string

// ClientTLS is Required, Preferred or Disabled.
// +kubebuilder:validation:Enum=Required;Preferred;Disabled
type ClientTLS string

// Values of ReplicationTLS and ClientTLS.
const (
	TLSRequired  = "Required"
	TLSPreferred = "Preferred"
	TLSDisabled  = "Disabled"
)

// Values of TLSSpec.DropOldCA.
const (
	DropAutomatic = "Automatic"
	DropManual    = "Manual"
)

// Values of TLSSpec.SwitchStrategy.
const (
	SwitchRolling     = "Rolling"
	SwitchRebootstrap = "Rebootstrap"
)

// TLSSpec is the encryption policy, per channel.
//
// +kubebuilder:validation:XValidation:rule="self.minVersion == '1.3' || !has(self.cipher) || self.cipher == 'Auto' || self.cipher == 'TLS_AES_256_GCM_SHA384' || self.cipher == 'TLS_AES_128_GCM_SHA256' || self.cipher == 'TLS_CHACHA20_POLY1305_SHA256'",message="cipher must be Auto or a TLS 1.3 suite"
type TLSSpec struct {
	// replication encrypts group communication and incremental state transfer (ports 4567, 4568):
	// Required or Disabled. Both sides verify that the other's certificate comes from the
	// cluster's CA; Galera does not check names. Default: Required.
	// +optional
	// +kubebuilder:default=Required
	Replication ReplicationTLS `json:"replication,omitempty"`

	// stateTransfer encrypts full state transfers (port 4444): Required or Disabled.
	// Default: as replication.
	// +optional
	StateTransfer ReplicationTLS `json:"stateTransfer,omitempty"`

	// clients encrypts client connections (port 3306): Required refuses logins without TLS,
	// Preferred accepts both, Disabled offers no TLS. Default: Required.
	// +optional
	// +kubebuilder:default=Required
	Clients ClientTLS `json:"clients,omitempty"`

	// issuerRef names the cert-manager issuer of the cluster's certificate. Without it the operator
	// creates a private CA for this cluster, which is the safest: Galera checks only that a
	// certificate comes from the CA, so with a shared issuer whoever holds any certificate of it can
	// join the replication group.
	// +optional
	IssuerRef *IssuerReference `json:"issuerRef,omitempty"`

	// dropOldCA says when an old CA is let go of after the certificates of a new one are served by all
	// nodes. Automatic: at once, by a rolling restart, because a running node forgets no CA. Manual: when the
	// annotation galera-operator.io/drop-old-ca names its fingerprint; until then both are trusted.
	// Default: Automatic.
	// +optional
	// +kubebuilder:default=Automatic
	// +kubebuilder:validation:Enum=Automatic;Manual
	DropOldCA string `json:"dropOldCA,omitempty"`

	// certificate configures the nodes' certificate.
	// +optional
	// +kubebuilder:default={}
	Certificate CertificateSpec `json:"certificate,omitempty"`

	// clientCertificates are issued for database users that are created with REQUIRE X509 or REQUIRE SUBJECT.
	// They come from a CA of their own that only the database port trusts: with none of them can anybody
	// become a member of the cluster, as Galera takes every certificate of the nodes' CA for a member's.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:XValidation:rule="self.all(a, !has(a.secretName) || a.secretName.size() == 0 || self.exists_one(b, has(b.secretName) && b.secretName == a.secretName))",message="two client certificates have the same secretName: each needs a Secret of its own"
	ClientCertificates []ClientCertificateSpec `json:"clientCertificates,omitempty"`

	// minVersion is the lowest TLS version accepted on any channel: "1.2" or "1.3". Default: "1.3".
	// +optional
	// +kubebuilder:default="1.3"
	// +kubebuilder:validation:Enum="1.2";"1.3"
	MinVersion string `json:"minVersion,omitempty"`

	// switchStrategy is how replication is switched between Required and Disabled on a running cluster.
	// Rolling restarts one node after another, twice, and needs a Galera provider with dynamic sockets
	// (26.4.8 or later): there is no outage. Rebootstrap stops all nodes but one, and then restarts that
	// one: the outage is one node's restart. Default: Rolling.
	// +optional
	// +kubebuilder:default=Rolling
	// +kubebuilder:validation:Enum=Rolling;Rebootstrap
	SwitchStrategy string `json:"switchStrategy,omitempty"`

	// cipher is the TLS 1.3 suite to use: Auto, TLS_AES_128_GCM_SHA256, TLS_AES_256_GCM_SHA384 or
	// TLS_CHACHA20_POLY1305_SHA256. Auto allows all of them and puts first AES-128-GCM where the CPUs of all
	// nodes have instructions for it, else ChaCha20-Poly1305. Default: Auto.
	// +optional
	// +kubebuilder:default=Auto
	// +kubebuilder:validation:Enum=Auto;TLS_AES_128_GCM_SHA256;TLS_AES_256_GCM_SHA384;TLS_CHACHA20_POLY1305_SHA256
	Cipher string `json:"cipher,omitempty"`
}

// ClientCertificateSpec asks for a client's certificate.
type ClientCertificateSpec struct {
	// name of the certificate, unique in the cluster. Not ca-pair, and nothing that ends with -issued.
	// +required
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	// +kubebuilder:validation:XValidation:rule="self != 'ca-pair' && !self.endsWith('-issued')",message="name must not be ca-pair, nor end with -issued: the cluster has Secrets CLUSTER-client-… of these names itself"
	Name string `json:"name"`
	// commonName of the certificate: with REQUIRE SUBJECT '/CN=…' it says who the client is.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	CommonName string `json:"commonName"`
	// duration is how long it is valid, for instance 2160h. At least 1h. Default: 2160h. It is renewed
	// at two thirds of that.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1h')",message="duration must be at least 1h: cert-manager issues nothing shorter"
	Duration *metav1.Duration `json:"duration,omitempty"`
	// secretName is the Secret with tls.crt, tls.key, and the ca.crt that verifies the servers. It must be another
	// one for each entry, and none the cluster needs itself. Default: CLUSTER-client-NAME.
	// +optional
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9.]*[a-z0-9])?)?$`
	// +kubebuilder:validation:MaxLength=253
	SecretName string `json:"secretName,omitempty"`
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
	// renewBefore is how long before its end a certificate is renewed. Default: a third of duration.
	// +optional
	RenewBefore *metav1.Duration `json:"renewBefore,omitempty"`
	// privateKey is the kind of key.
	// +optional
	// +kubebuilder:default={}
	PrivateKey PrivateKeySpec `json:"privateKey,omitempty"`
}

// PrivateKeySpec is the kind of private key.
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

// ServiceSpec configures a Service.
type ServiceSpec struct {
	// type of the Service: ClusterIP, NodePort or LoadBalancer. Default: ClusterIP.
	// +optional
	// +kubebuilder:default=ClusterIP
	// +kubebuilder:validation:Enum=ClusterIP;NodePort;LoadBalancer
	Type corev1.ServiceType `json:"type,omitempty"`
	// annotations of the Service, for instance for a load balancer.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
	// loadBalancerClass of a Service of type LoadBalancer.
	// +optional
	LoadBalancerClass *string `json:"loadBalancerClass,omitempty"`
	// loadBalancerSourceRanges a load balancer accepts clients from, as CIDRs.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	LoadBalancerSourceRanges []string `json:"loadBalancerSourceRanges,omitempty"`
}

// NetworkPolicySpec says who may reach the database port.
type NetworkPolicySpec struct {
	// enabled creates a NetworkPolicy: replication ports only among the cluster's nodes, the agent's
	// port only from the operator, 3306 from clientsFrom. false removes it. Default: true.
	// +optional
	// +kubebuilder:default=true
	Enabled *bool `json:"enabled,omitempty"`
	// clientsFrom lists who may connect to 3306. Empty: everybody.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	ClientsFrom []networkingv1.NetworkPolicyPeer `json:"clientsFrom,omitempty"`
}
