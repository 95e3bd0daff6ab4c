package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// RestoreExternal is a running MariaDB server that tables are copied from.
//
// +kubebuilder:validation:XValidation:rule="has(self.tls) != (has(self.insecure) && self.insecure)",message="name the CA of the source's certificate in tls, or set insecure: true for a connection in clear text"
type RestoreExternal struct {
	// host is the name or the address of the server.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_.:-]+$`
	Host string `json:"host"`
	// port of the server. Default: 3306.
	// +optional
	// +kubebuilder:default=3306
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`
	// credentialsSecretRef names a Secret in this namespace with the keys username and password. The account needs SELECT,
	// RELOAD, SHOW VIEW, TRIGGER and EVENT on *.*. Only the restore's Jobs mount it, in containers of the operator's
	// image. A Secret that belongs to a cluster is refused.
	// +required
	CredentialsSecretRef LocalName `json:"credentialsSecretRef"`
	// tls is how the certificate of the server is verified. Required unless insecure is true.
	// +optional
	TLS *ExternalTLS `json:"tls,omitempty"`
	// insecure connects in clear text: anyone in between can read the password's proof, and all data. Default: false.
	// +optional
	Insecure bool `json:"insecure,omitempty"`
	// connections is how many tables, or parts of large tables, are copied at the same time, 1 to 16. Default: 1, because
	// the cluster is in use.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=16
	Connections int32 `json:"connections,omitempty"`
	// rateLimit is the most that is read of the server, in bytes per second, for instance 50Mi, in the mean: of the rows'
	// values, and of the tables' size where the server computes checksums. At least 64Ki. Default: no limit.
	// +optional
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).compareTo(quantity('64Ki')) >= 0",message="rateLimit must be at least 64Ki (bytes per second)"
	RateLimit *resource.Quantity `json:"rateLimit,omitempty"`
	// resources of the container of each Job: requests and limits. With 1Gi of memory a row may have about 150 MiB in
	// columns of type LONGBLOB, LONGTEXT, MEDIUMBLOB, MEDIUMTEXT and JSON, or 100 MiB with 16 connections: larger ones
	// are refused, with the limit that they need. Default: requests of 50m cpu and 64Mi memory, limits of 1500m cpu and
	// 1Gi memory, each unless it is given here.
	// +optional
	Resources corev1.ResourceRequirements `json:"resources,omitempty"`
}

// RestoredServer is what is known of a server that tables are copied from.
type RestoredServer struct {
	// version of the server.
	// +optional
	Version string `json:"version,omitempty"`
	// plaintext reports whether the connection to it is in clear text.
	// +optional
	Plaintext bool `json:"plaintext,omitempty"`
	// findings are what keeps the tables from being copied. They are looked for again every few minutes.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Findings []ExternalFinding `json:"findings,omitempty"`
	// tables and bytes are what there is to copy, by the server's own estimate.
	// +optional
	Tables int32 `json:"tables,omitempty"`
	// +optional
	Bytes int64 `json:"bytes,omitempty"`
	// gtid is the server's position at the moment that was copied, or, before that, when it was checked. Absent without a
	// binary log.
	// +optional
	GTID string `json:"gtid,omitempty"`
	// lockedMilliseconds is for how long its commits waited. Absent when it is not known any more.
	// +optional
	LockedMilliseconds int64 `json:"lockedMilliseconds,omitempty"`
}
