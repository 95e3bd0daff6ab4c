package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// GaleraUser is an account in a cluster, and a Secret with all that an application needs to connect with it.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=guser,categories=all
// +kubebuilder:printcolumn:name="Cluster",type=string,JSONPath=`.spec.clusterRef.name`
// +kubebuilder:printcolumn:name="Account",type=string,JSONPath=`.status.account`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Binding",type=string,JSONPath=`.status.binding.name`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Status",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 50 && self.metadata.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="the name becomes part of Secrets' names and of the certificate's subject: at most 50 lower-case letters, digits and '-'"
// +kubebuilder:validation:XValidation:rule="has(self.spec.name) || !(self.metadata.name in ['root', 'mysql', 'public', 'galera'])",message="this account is the server's or the operator's own: choose another name"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.authentication) || !has(self.spec.authentication.passwordSecretRef) || !(self.spec.authentication.passwordSecretRef.name in [self.metadata.name + '-password', has(self.spec.secretName) ? self.spec.secretName : self.metadata.name + '-binding'])",fieldPath=".spec.authentication.passwordSecretRef.name",message="passwordSecretRef must not be a Secret that the operator writes for this user: NAME-password and the binding"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.secretName) || self.spec.secretName != self.metadata.name + '-password'",fieldPath=".spec.secretName",message="secretName must not be NAME-password, which the operator writes for itself"
// +kubebuilder:validation:XValidation:rule="!has(self.spec.secretName) || self.spec.secretName.size() <= self.spec.clusterRef.name.size() || self.spec.secretName.substring(0, self.spec.clusterRef.name.size()) != self.spec.clusterRef.name || !self.spec.secretName.substring(self.spec.clusterRef.name.size()).matches('^-(root|tls|issued|ca-pair|client-ca-pair|user-[0-9a-f]{20})$')",fieldPath=".spec.secretName",message="secretName must not be a Secret that the cluster needs itself: CLUSTER-root, -tls, -issued, -ca-pair, -client-ca-pair and -user-…"
type GaleraUser struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired account.
	// +required
	Spec GaleraUserSpec `json:"spec"`
	// status is the observed state.
	// +optional
	// +kubebuilder:default:={"observedGeneration":-1}
	Status GaleraUserStatus `json:"status,omitempty"`
}

// GaleraUserList is a list of GaleraUser.
//
// +kubebuilder:object:root=true
type GaleraUserList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []GaleraUser `json:"items"`
}

// Values of GaleraUserSpec.
const (
	PluginNative  = "mysql_native_password"
	PluginEd25519 = "ed25519"
	PluginParsec  = "parsec"

	RequireTLS  = "TLS"
	RequireX509 = "X509"
	RequireNone = "None"

	EndpointPrimary  = "Primary"
	EndpointAny      = "Any"
	EndpointReadOnly = "ReadOnly"
	EndpointProxy    = "Proxy"
)

// GaleraUserSpec is the desired account.
//
// +kubebuilder:validation:XValidation:rule="self.clusterRef == oldSelf.clusterRef",fieldPath=".clusterRef",message="clusterRef cannot be changed: create another GaleraUser"
// +kubebuilder:validation:XValidation:rule="has(self.name) == has(oldSelf.name) && (!has(self.name) || self.name == oldSelf.name) && self.host == oldSelf.host",fieldPath=".name",message="name and host cannot be changed: create another GaleraUser, move the application, and delete this one"
// +kubebuilder:validation:XValidation:rule="has(self.secretName) == has(oldSelf.secretName) && (!has(self.secretName) || self.secretName == oldSelf.secretName)",fieldPath=".secretName",message="secretName cannot be changed: applications mount it"
// +kubebuilder:validation:XValidation:rule="!has(self.authentication) || !has(self.authentication.none) || !self.authentication.none || self.require == 'X509'",fieldPath=".authentication",message="without a password any client could log in to this account: set require: X509"
// +kubebuilder:validation:XValidation:rule="!has(self.certificate) || self.require == 'X509'",fieldPath=".certificate",message="certificate works with require: X509 only: set that, or remove certificate"
// +kubebuilder:validation:XValidation:rule="self.endpoint != 'Proxy' || self.require != 'X509'",fieldPath=".endpoint",message="a proxy has no certificate of the user's to log in with: set require to TLS or None, or choose another endpoint"
// +kubebuilder:validation:XValidation:rule="self.endpoint != 'Proxy' || self.plugin == 'mysql_native_password'",fieldPath=".endpoint",message="a proxy logs in with mysql_native_password alone: set plugin to that, or choose another endpoint"
// +kubebuilder:validation:XValidation:rule="self.endpoint != 'Proxy' || self.host == '%'",fieldPath=".endpoint",message="the nodes would compare the proxy's address with host, not the client's: set host to %, or choose another endpoint"
type GaleraUserSpec struct {
	// clusterRef is the GaleraCluster. It cannot be changed.
	// +required
	ClusterRef ClusterReference `json:"clusterRef"`
	// name of the account: at most 80 characters. It cannot be changed. Default: metadata.name.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=80
	// +kubebuilder:validation:XValidation:rule="!(self.lowerAscii() in ['root', 'mysql', 'mariadb.sys', 'public', 'galera', 'system user', 'event_scheduler', 'unauthenticated user'])",message="this account is the server's or the operator's own: choose another name"
	// +kubebuilder:validation:XValidation:rule="!self.startsWith(' ') && !self.endsWith(' ') && self.matches(r'^[^\\x00-\\x1f\\x7f\\x{10000}-\\x{10FFFF}]+$')",message="a name cannot begin or end with a space, and cannot have control characters or characters beyond U+FFFF"
	Name string `json:"name,omitempty"`
	// host from which the account may connect: an address, a network (10.0.0.0/255.0.0.0), or a pattern with % and _, in
	// lower case. A name works only if the server resolves names, which it does not by default. It cannot be changed.
	// Default: "%", any host.
	// +optional
	// +kubebuilder:default="%"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9.:%_/-]+$`
	// +kubebuilder:validation:XValidation:rule="self == self.lowerAscii()",message="host must be in lower case, as the server keeps it"
	// +kubebuilder:validation:XValidation:rule="self.lowerAscii() != 'localhost'",message="localhost is the database's own pod: no application connects from there"
	// +kubebuilder:validation:XValidation:rule="!self.contains('/') || self.matches('^[0-9.]+/[0-9]+[.][0-9]+[.][0-9]+[.][0-9]+$')",message="MariaDB matches a network by its netmask only: write 10.1.0.0/255.255.0.0 instead of 10.1.0.0/16"
	Host string `json:"host,omitempty"`
	// authentication defines where the password comes from. Default: the operator generates one.
	// +optional
	// +kubebuilder:default={}
	Authentication AuthenticationSpec `json:"authentication,omitempty"`
	// plugin checks the password: mysql_native_password, ed25519 or parsec (MariaDB 11.6 or later). Every driver supports
	// mysql_native_password. The other two protect passwords better, but need a driver that supports them, such as
	// MariaDB's own. Default: mysql_native_password.
	// +optional
	// +kubebuilder:default=mysql_native_password
	// +kubebuilder:validation:Enum=mysql_native_password;ed25519;parsec
	Plugin string `json:"plugin,omitempty"`
	// require defines what a connection must have. TLS: encryption. X509: TLS with the certificate issued for this user.
	// None: nothing, but the cluster's spec.tls.clients may still require TLS. Default: TLS.
	// +optional
	// +kubebuilder:default=TLS
	// +kubebuilder:validation:Enum=TLS;X509;None
	Require string `json:"require,omitempty"`
	// certificate configures the certificate of require: X509.
	// +optional
	Certificate *UserCertificateSpec `json:"certificate,omitempty"`
	// grants are the account's privileges. Privileges that are not listed are revoked.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	Grants []GrantSpec `json:"grants,omitempty"`
	// roles of the account; the first one is its default role. They must exist.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=80
	// +kubebuilder:validation:items:Pattern=`^[^\x00-\x1f\x7f]+$`
	Roles []string `json:"roles,omitempty"`
	// limits of what the account may use.
	// +optional
	// +kubebuilder:default={}
	Limits UserLimits `json:"limits,omitempty"`
	// database in the binding Secret. Default: the first one that grants name.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Database string `json:"database,omitempty"`
	// endpoint selects the Service in the binding Secret. Primary: CLUSTER-primary, one node, for all applications that
	// write. Any: CLUSTER, all Synced nodes. ReadOnly: CLUSTER-readonly, the Synced nodes that are not the primary. Proxy:
	// the oldest GaleraProxy of the cluster whose mode is not ReadOnly; it needs plugin mysql_native_password, host "%",
	// and require TLS or None. Default: Primary.
	// +optional
	// +kubebuilder:default=Primary
	// +kubebuilder:validation:Enum=Primary;Any;ReadOnly;Proxy
	Endpoint string `json:"endpoint,omitempty"`
	// secretName is the name of the binding Secret, which the operator creates. It cannot be changed. Default:
	// NAME-binding.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	SecretName string `json:"secretName,omitempty"`
	// mountPath is where the application mounts the binding Secret: jdbc-url and sqlalchemy-url refer to ca.crt below it.
	// Default: /bindings/NAME.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^(/[A-Za-z0-9._-]+)+$`
	MountPath string `json:"mountPath,omitempty"`
	// deletionPolicy defines what happens to the account when this object is deleted. Delete: it is dropped, and its
	// connections are ended. Retain: it is kept; a later object of the same name takes it over. Default: Delete.
	// +optional
	// +kubebuilder:default=Delete
	// +kubebuilder:validation:Enum=Retain;Delete
	DeletionPolicy string `json:"deletionPolicy,omitempty"`
	// adopt takes over an existing account that belongs to no other GaleraUser. Its password, privileges and limits are
	// replaced by those of this object. It works in the cluster's namespace only. Default: false.
	// +optional
	Adopt bool `json:"adopt,omitempty"`
}

// AuthenticationSpec defines where a password comes from.
//
// +kubebuilder:validation:XValidation:rule="(has(self.passwordSecretRef) ? 1 : 0) + (has(self.generated) && self.generated ? 1 : 0) + (has(self.none) && self.none ? 1 : 0) <= 1",message="set at most one of passwordSecretRef, generated and none"
type AuthenticationSpec struct {
	// passwordSecretRef names a Secret in this namespace with the password. After a change the account accepts the old and
	// the new password for overlap.
	// +optional
	PasswordSecretRef *PasswordKey `json:"passwordSecretRef,omitempty"`
	// generated lets the operator generate the password. The annotation galera-operator.io/renew: password@WORD requests a
	// new one; each WORD takes effect once. Default: true, if neither passwordSecretRef nor none is set.
	// +optional
	Generated bool `json:"generated,omitempty"`
	// none gives the account no password: its certificate is enough. Needs require: X509. Default: false.
	// +optional
	None bool `json:"none,omitempty"`
	// overlap is how long the old password is still accepted after the binding Secret has the new one. 1s to 720h.
	// Default: 1h.
	// +optional
	// +kubebuilder:default="1h"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('720h')",message="overlap must be from 1s to 720h"
	Overlap *metav1.Duration `json:"overlap,omitempty"`
}

// PasswordKey is a key of a Secret in the same namespace.
type PasswordKey struct {
	// name of the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// key in the Secret. Default: password.
	// +optional
	// +kubebuilder:default=password
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key,omitempty"`
}

// UserCertificateSpec configures a user's certificate.
type UserCertificateSpec struct {
	// duration is how long the certificate is valid. At least 1h. It is renewed after two thirds of that time. Default:
	// 2160h.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1h')",message="duration must be at least 1h: cert-manager issues nothing shorter"
	Duration *metav1.Duration `json:"duration,omitempty"`
	// privateKey is the type and size of the key. Default: ECDSA with 256 bits.
	// +optional
	// +kubebuilder:default={}
	PrivateKey PrivateKeySpec `json:"privateKey,omitempty"`
}

// GrantSpec grants privileges on a database, a table or columns.
//
// +kubebuilder:validation:XValidation:rule="!has(self.table) || self.table == '*' || has(self.database) && self.database != '*'",message="a table needs the name of its database"
// +kubebuilder:validation:XValidation:rule="!has(self.columns) || self.columns.size() == 0 || has(self.table) && self.table != '*'",message="columns need the name of their table"
// +kubebuilder:validation:XValidation:rule="!has(self.columns) || self.columns.size() == 0 || self.privileges.all(p, p.upperAscii() in ['SELECT', 'INSERT', 'UPDATE', 'REFERENCES'])",message="only SELECT, INSERT, UPDATE and REFERENCES can be granted on columns"
type GrantSpec struct {
	// privileges as in GRANT, for instance SELECT or CREATE TEMPORARY TABLES, or ALL PRIVILEGES.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=32
	// +kubebuilder:validation:items:Pattern=`^[A-Za-z]+( [A-Za-z]+)*$`
	Privileges []string `json:"privileges"`
	// database by name; % and _ are no wildcards. "*" stands for all databases, and for global privileges. Default: "*".
	// +optional
	// +kubebuilder:default="*"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Database string `json:"database,omitempty"`
	// table by name. "*" stands for all tables. Default: "*".
	// +optional
	// +kubebuilder:default="*"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Table string `json:"table,omitempty"`
	// columns of the table. Default: all columns.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=64
	Columns []string `json:"columns,omitempty"`
	// withGrantOption lets the account grant these privileges to other accounts. Default: false.
	// +optional
	WithGrantOption bool `json:"withGrantOption,omitempty"`
}

// UserLimits limit what an account may use. 0 means no limit. Each node counts separately.
type UserLimits struct {
	// maxUserConnections is the number of simultaneous connections. Default: 0, no limit.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxUserConnections int32 `json:"maxUserConnections,omitempty"`
	// maxConnectionsPerHour is how often the account may connect per hour. Default: 0, no limit.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxConnectionsPerHour int32 `json:"maxConnectionsPerHour,omitempty"`
	// maxQueriesPerHour is how many statements the account may send per hour. Default: 0, no limit.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxQueriesPerHour int32 `json:"maxQueriesPerHour,omitempty"`
	// maxUpdatesPerHour is how many statements that change data the account may send per hour. Default: 0, no limit.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MaxUpdatesPerHour int32 `json:"maxUpdatesPerHour,omitempty"`
	// maxStatementTime ends statements that take longer than this, in whole milliseconds. 1ms to 8760h. Default: no limit.
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1ms') && duration(self) <= duration('8760h')",message="maxStatementTime must be from 1ms to 8760h"
	MaxStatementTime *metav1.Duration `json:"maxStatementTime,omitempty"`
}

// GaleraUserStatus is the observed state of an account.
type GaleraUserStatus struct {
	// observedGeneration is the generation of the spec that this status describes; -1 before the operator has seen it.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration"`
	// account in the server, as 'NAME'@'HOST'. Absent before it is created.
	// +optional
	Account string `json:"account,omitempty"`
	// binding is the Secret for the application. The field follows the Service Binding specification for Kubernetes.
	// +optional
	Binding *BindingStatus `json:"binding,omitempty"`
	// renewed are the tokens of the annotation galera-operator.io/renew that have taken effect.
	// +optional
	Renewed string `json:"renewed,omitempty"`
	// passwordChangedAt is when the binding Secret got its present password.
	// +optional
	PasswordChangedAt *metav1.Time `json:"passwordChangedAt,omitempty"`
	// oldPasswordUntil is when the old password will be refused. Absent when only one password is accepted.
	// +optional
	OldPasswordUntil *metav1.Time `json:"oldPasswordUntil,omitempty"`
	// certificateNotAfter is the expiry of the certificate in the binding Secret.
	// +optional
	CertificateNotAfter *metav1.Time `json:"certificateNotAfter,omitempty"`
	// conditions are Ready, Applied, PasswordRotated, and, while the cluster has a GaleraProxy, Proxied.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// BindingStatus names a binding Secret.
type BindingStatus struct {
	// name of the Secret.
	Name string `json:"name"`
}

// Cluster returns the namespace and the name of the GaleraCluster.
func (u *GaleraUser) Cluster() (namespace, name string) {
	return u.Spec.ClusterRef.in(u.Namespace), u.Spec.ClusterRef.Name
}

// AccountName returns the name of the account in the server.
func (u *GaleraUser) AccountName() string {
	if u.Spec.Name != "" {
		return u.Spec.Name
	}
	return u.Name
}

// BindingName returns the name of the binding Secret.
func (u *GaleraUser) BindingName() string {
	if u.Spec.SecretName != "" {
		return u.Spec.SecretName
	}
	return u.Name + "-binding"
}
