package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// GaleraDatabase is a database in a cluster.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=gdb,categories=all
// +kubebuilder:printcolumn:name="Cluster",type=string,JSONPath=`.spec.clusterRef.name`
// +kubebuilder:printcolumn:name="Database",type=string,JSONPath=`.status.name`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Status",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:validation:XValidation:rule="has(self.spec.name) || self.metadata.name.size() <= 64",message="a database's name has at most 64 characters: set spec.name"
// +kubebuilder:validation:XValidation:rule="has(self.spec.name) || !(self.metadata.name in ['mysql', 'sys'])",message="this database is the server's own: choose another name"
type GaleraDatabase struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired database.
	// +required
	Spec GaleraDatabaseSpec `json:"spec"`
	// status is the observed state.
	// +optional
	// +kubebuilder:default:={"observedGeneration":-1}
	Status GaleraDatabaseStatus `json:"status,omitempty"`
}

// GaleraDatabaseList is a list of GaleraDatabase.
//
// +kubebuilder:object:root=true
type GaleraDatabaseList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []GaleraDatabase `json:"items"`
}

// ClusterReference names a GaleraCluster.
type ClusterReference struct {
	// name of the GaleraCluster.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	Name string `json:"name"`
	// namespace of the GaleraCluster. Another namespace than this object's is accepted only if the cluster's
	// spec.allowedNamespaces selects this one. Default: this object's namespace.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$`
	Namespace string `json:"namespace,omitempty"`
}

// Values of deletionPolicy of GaleraDatabase and GaleraUser.
const (
	AccountRetain = "Retain"
	AccountDelete = "Delete"
)

// GaleraDatabaseSpec is the desired database.
//
// +kubebuilder:validation:XValidation:rule="self.clusterRef == oldSelf.clusterRef",fieldPath=".clusterRef",message="clusterRef cannot be changed: create another GaleraDatabase"
// +kubebuilder:validation:XValidation:rule="has(self.name) == has(oldSelf.name) && (!has(self.name) || self.name == oldSelf.name)",fieldPath=".name",message="name cannot be changed, because a database cannot be renamed: create another GaleraDatabase"
type GaleraDatabaseSpec struct {
	// clusterRef is the GaleraCluster. It cannot be changed.
	// +required
	ClusterRef ClusterReference `json:"clusterRef"`
	// name of the database: at most 64 characters. It cannot be changed. Default: metadata.name.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="!(self.lowerAscii() in ['mysql', 'sys', 'information_schema', 'performance_schema', 'galera_operator', 'lost+found']) && !self.startsWith('#mysql50#')",message="this database is the server's or the operator's own: choose another name"
	// +kubebuilder:validation:XValidation:rule="!self.endsWith(' ') && self.matches(r'^[^\\x00-\\x1f\\x7f\\x{10000}-\\x{10FFFF}]+$')",message="a name cannot end with a space, and cannot have control characters or characters beyond U+FFFF"
	Name string `json:"name,omitempty"`
	// characterSet is the default for new tables, for instance utf8mb4. A change does not affect existing tables. Default:
	// the server's.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_]*$`
	CharacterSet string `json:"characterSet,omitempty"`
	// collation is the default for new tables, for instance utf8mb4_unicode_ci. A change does not affect existing tables.
	// Default: that of the character set.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_]*$`
	Collation string `json:"collation,omitempty"`
	// deletionPolicy defines what happens to the database when this object is deleted. Retain: it is kept; a later object
	// of the same name takes it over. Delete: it is dropped with all its data, and GaleraUsers lose their privileges on
	// it. Default: Retain.
	// +optional
	// +kubebuilder:default=Retain
	// +kubebuilder:validation:Enum=Retain;Delete
	DeletionPolicy string `json:"deletionPolicy,omitempty"`
	// adopt takes over an existing database that belongs to no other GaleraDatabase. Its data are not changed. It works in
	// the cluster's namespace only. Default: false.
	// +optional
	Adopt bool `json:"adopt,omitempty"`
}

// GaleraDatabaseStatus is the observed state of a database.
type GaleraDatabaseStatus struct {
	// observedGeneration is the generation of the spec that this status describes; -1 before the operator has seen it.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration"`
	// name of the database in the server. Absent before it is created.
	// +optional
	Name string `json:"name,omitempty"`
	// conditions are Ready and Applied.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Cluster returns the namespace and the name of the GaleraCluster.
func (d *GaleraDatabase) Cluster() (namespace, name string) {
	return d.Spec.ClusterRef.in(d.Namespace), d.Spec.ClusterRef.Name
}

// DatabaseName returns the name of the database in the server.
func (d *GaleraDatabase) DatabaseName() string {
	if d.Spec.Name != "" {
		return d.Spec.Name
	}
	return d.Name
}

func (r ClusterReference) in(namespace string) string {
	if r.Namespace != "" {
		return r.Namespace
	}
	return namespace
}
