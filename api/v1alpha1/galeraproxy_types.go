package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// GaleraProxy is a pool of connections in front of a cluster: pods of ProxySQL behind one Service. Clients connect to
// it as they do to the cluster, with the accounts of GaleraUsers. Which node is written to is decided by the operator
// alone.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:resource:shortName=gproxy,path=galeraproxies,categories=all
// +kubebuilder:printcolumn:name="Cluster",type=string,JSONPath=`.spec.clusterRef.name`
// +kubebuilder:printcolumn:name="Mode",type=string,JSONPath=`.spec.mode`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Encrypted",type=string,JSONPath=`.status.conditions[?(@.type=="Encrypted")].status`
// +kubebuilder:printcolumn:name="Primary",type=string,JSONPath=`.status.primary`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Status",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 40 && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="the name is that of the Service: at most 40 lower-case letters, digits and '-', starting with a letter"
// +kubebuilder:validation:XValidation:rule="self.metadata.name != self.spec.clusterRef.name",message="the cluster has a Service of this name: choose another name"
type GaleraProxy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired proxy.
	// +required
	Spec GaleraProxySpec `json:"spec"`
	// status is the observed state.
	// +optional
	// +kubebuilder:default:={"observedGeneration":-1}
	Status GaleraProxyStatus `json:"status,omitempty"`
}

// GaleraProxyList is a list of GaleraProxy.
//
// +kubebuilder:object:root=true
type GaleraProxyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []GaleraProxy `json:"items"`
}

// Values of GaleraProxySpec.Mode.
const (
	ProxyPrimary        = "Primary"
	ProxyReadWriteSplit = "ReadWriteSplit"
	ProxyReadOnly       = "ReadOnly"
)

// GaleraProxySpec is the desired proxy.
//
// +kubebuilder:validation:XValidation:rule="self.clusterRef == oldSelf.clusterRef",fieldPath=".clusterRef",message="clusterRef cannot be changed: create another GaleraProxy"
type GaleraProxySpec struct {
	// clusterRef is the GaleraCluster, in this namespace. It cannot be changed.
	// +required
	ClusterRef ProxyClusterRef `json:"clusterRef"`
	// replicas is the number of pods. 0 to 16. Default: 2.
	// +optional
	// +kubebuilder:default=2
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=16
	Replicas int32 `json:"replicas"`
	// image of ProxySQL, version 2.7 or later. Who chooses it gets what the proxy has: the hashes of the accounts'
	// passwords, and a certificate. Default: proxysql/proxysql:2.7.1.
	// +optional
	// +kubebuilder:default="proxysql/proxysql:2.7.1"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Image string `json:"image,omitempty"`
	// mode defines where statements go. Primary: all of them to the primary. ReadWriteSplit: reads outside of
	// transactions to the other Synced nodes, once they have applied what was committed before; everything else to the
	// primary. ReadOnly: all of them to the other Synced nodes. Where there is no other Synced node, the primary takes
	// its place. Default: Primary.
	// +optional
	// +kubebuilder:default=Primary
	// +kubebuilder:validation:Enum=Primary;ReadWriteSplit;ReadOnly
	Mode string `json:"mode,omitempty"`
	// pool bounds connections.
	// +optional
	// +kubebuilder:default={}
	Pool ProxyPoolSpec `json:"pool,omitempty"`
	// tls configures the certificate that the proxy shows to clients, which the issuer of the cluster signs.
	// +optional
	// +kubebuilder:default={}
	TLS ProxyTLSSpec `json:"tls,omitempty"`
	// resources of each pod. Default: requests of 100m CPU and 128Mi memory.
	// +optional
	Resources SidecarResources `json:"resources,omitempty"`
	// scheduling selects hosts.
	// +optional
	Scheduling SchedulingSpec `json:"scheduling,omitempty"`
	// service configures the Service, which has the name of this object.
	// +optional
	// +kubebuilder:default={}
	Service ServiceSpec `json:"service,omitempty"`
}

// ProxyClusterRef names the cluster of a proxy.
type ProxyClusterRef struct {
	// name of the GaleraCluster.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// ProxyPoolSpec bounds the connections of each pod.
type ProxyPoolSpec struct {
	// maxConnections of each pod to one node. 1 to 10000. All pods together must stay below max_connections of the nodes.
	// Default: 50.
	// +optional
	// +kubebuilder:default=50
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	MaxConnections int32 `json:"maxConnections,omitempty"`
	// maxFrontendConnections of clients to each pod. 1 to 100000. Default: 2048.
	// +optional
	// +kubebuilder:default=2048
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000
	MaxFrontendConnections int32 `json:"maxFrontendConnections,omitempty"`
	// multiplexing lets clients share connections to nodes between their transactions. Default: true.
	// +optional
	// +kubebuilder:default=true
	Multiplexing *bool `json:"multiplexing,omitempty"`
	// waitTimeout is how long a statement waits for a connection to a node: while all of them are in use, or while there
	// is no node for it. Then it fails with error 9001. 1s to 1h. Default: 30s.
	// +optional
	// +kubebuilder:default="30s"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('1h')",message="waitTimeout must be from 1s to 1h"
	WaitTimeout *metav1.Duration `json:"waitTimeout,omitempty"`
	// holdAfterInsert is how many statements a client keeps its connection for after it has inserted an AUTO_INCREMENT
	// value, ten seconds at most: LAST_INSERT_ID() finds the value there alone. A client that inserts again before gives
	// its connection back to no other client. 0 is for clients that take the value from the answer to the insert, as
	// drivers do, or ask for it in the same transaction. 0 to 100. Default: 5.
	// +optional
	// +kubebuilder:default=5
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	HoldAfterInsert *int32 `json:"holdAfterInsert,omitempty"`
}

// ProxyTLSSpec configures the proxy's certificate.
type ProxyTLSSpec struct {
	// dnsNames of the certificate, in addition to those of the Service.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:Pattern=`^(\*\.)?[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$`
	DNSNames []string `json:"dnsNames,omitempty"`
}

// GaleraProxyStatus is the observed state of a proxy.
type GaleraProxyStatus struct {
	// observedGeneration is the generation of the spec that this status describes; -1 before the operator has seen it.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration"`
	// replicas is the number of pods.
	// +optional
	Replicas int32 `json:"replicas"`
	// readyReplicas is the number of pods that take clients.
	// +optional
	ReadyReplicas int32 `json:"readyReplicas"`
	// selector selects the pods, for autoscalers.
	// +optional
	Selector string `json:"selector,omitempty"`
	// endpoint is where clients connect, as HOST:PORT.
	// +optional
	Endpoint string `json:"endpoint,omitempty"`
	// primary is the node that every pod sends writes to. Absent while they differ, or are not known.
	// +optional
	Primary string `json:"primary,omitempty"`
	// certificateSerial is the serial of the certificate that every pod shows to clients, as a handshake has found it.
	// Absent while they differ.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	CertificateSerial string `json:"certificateSerial,omitempty"`
	// clients is the number of connections of clients to all pods.
	// +optional
	Clients int64 `json:"clients"`
	// waiting is the number of clients that wait for a connection to a node.
	// +optional
	Waiting int64 `json:"waiting,omitempty"`
	// pools are the connections of all pods to each node.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Pools []ProxyPoolStatus `json:"pools,omitempty"`
	// users is the number of accounts that can log in through the proxy.
	// +optional
	Users int32 `json:"users"`
	// refusedUsers are GaleraUsers of the cluster that cannot log in through the proxy: at most 64.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	RefusedUsers []RefusedUser `json:"refusedUsers,omitempty"`
	// proof is the latest proof of both channels, by which Encrypted of the cluster counts this proxy. Absent while
	// Encrypted is not True.
	// +optional
	Proof *ProxyProof `json:"proof,omitempty"`
	// conditions are Ready, Encrypted, Reconciling and Stalled.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ProxyProof is when, and for which policy, every pod has proved both channels.
type ProxyProof struct {
	// clients is spec.tls.clients of the cluster at that time. With Required, plaintext was refused.
	Clients ClientTLS `json:"clients"`
	// provedAt is when it was proved last. It is written once a minute.
	ProvedAt metav1.Time `json:"provedAt"`
}

// ProxyPoolStatus are the connections to one node.
type ProxyPoolStatus struct {
	// name of the node.
	Name string `json:"name"`
	// role is Writer, Reader, Both, Draining, or Drained: no pod has a connection in use.
	// +kubebuilder:validation:Enum=Writer;Reader;Both;Draining;Drained
	Role string `json:"role"`
	// used and free connections.
	Used int64 `json:"used"`
	// free connections.
	Free int64 `json:"free"`
	// queries that were sent to the node since the pods began.
	Queries int64 `json:"queries"`
	// opened are connections to the node that were opened since the pods began. The fewer of them for the same queries,
	// the more the pool is worth.
	// +optional
	Opened int64 `json:"opened,omitempty"`
	// errors are connections to the node that have failed since the pods began.
	Errors int64 `json:"errors"`
	// certificateSerial is the serial of the certificate that the node shows to the pods. Absent while they differ.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	CertificateSerial string `json:"certificateSerial,omitempty"`
}

// RefusedUser is a GaleraUser that cannot log in through the proxy.
type RefusedUser struct {
	// namespace of the GaleraUser.
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace"`
	// name of the GaleraUser.
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// message explains why.
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message"`
}
