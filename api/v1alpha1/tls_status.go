package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// MemberTLSStatus is the observed encryption of one node, per channel.
type MemberTLSStatus struct {
	// replication is group communication and IST (4567, 4568).
	// +optional
	Replication *ChannelStatus `json:"replication,omitempty"`
	// stateTransfer is SST (4444). Its port is open only during an SST, so this is what the SST scripts are
	// configured to enforce.
	// +optional
	StateTransfer *ChannelStatus `json:"stateTransfer,omitempty"`
	// clients is the database port (3306).
	// +optional
	Clients *ChannelStatus `json:"clients,omitempty"`
}

// ChannelStatus is the observed encryption of one channel of one node.
type ChannelStatus struct {
	// observed is TLS, Plaintext, Mixed (both are accepted) or Unknown.
	// +kubebuilder:validation:Enum=TLS;Plaintext;Mixed;Unknown
	Observed string `json:"observed"`
	// protocol negotiated, for instance TLSv1.3.
	// +optional
	Protocol string `json:"protocol,omitempty"`
	// cipher suite negotiated, for instance TLS_AES_256_GCM_SHA384.
	// +optional
	Cipher string `json:"cipher,omitempty"`
	// serial number of the presented certificate, in hexadecimal.
	// +optional
	Serial string `json:"serial,omitempty"`
	// notAfter is the expiry of that certificate.
	// +optional
	NotAfter *metav1.Time `json:"notAfter,omitempty"`
	// plaintextRefused reports whether a connection without TLS was tried, and refused, and no client session is left that
	// may have been opened without before.
	// +optional
	PlaintextRefused bool `json:"plaintextRefused,omitempty"`
	// message describes what is wrong. Empty when all is well.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`
	// checkedAt is when this state was first observed. The agent repeats the check every half minute; observed
	// becomes Unknown if the last check is older than three minutes.
	// +optional
	CheckedAt *metav1.Time `json:"checkedAt,omitempty"`
}

// ClusterTLSStatus is the encryption in force.
type ClusterTLSStatus struct {
	// encrypted is the condition Encrypted in a word: True, False or Unknown; Partly when all that the policy asks for was
	// proved, and the policy leaves a channel without TLS, or accepts both.
	// +optional
	// +kubebuilder:validation:Enum=True;Partly;False;Unknown
	Encrypted string `json:"encrypted,omitempty"`
	// replication is the published socket mode: Plain (no TLS), Strict (TLS only), or Dynamic (accepts both, during a
	// switch).
	// +optional
	// +kubebuilder:validation:Enum=Plain;Dynamic;Strict
	Replication string `json:"replication,omitempty"`
	// serial number of the certificate published to the nodes, in hexadecimal.
	// +optional
	Serial string `json:"serial,omitempty"`
	// key is the type and size of that certificate's key, for instance ECDSA-256.
	// +optional
	Key string `json:"key,omitempty"`
	// notAfter is the expiry of that certificate.
	// +optional
	NotAfter *metav1.Time `json:"notAfter,omitempty"`
	// renewalTime is when cert-manager renews that certificate. Absent while cert-manager has reported none.
	// +optional
	RenewalTime *metav1.Time `json:"renewalTime,omitempty"`
	// switch of replication's encryption in progress.
	// +optional
	Switch *SwitchStatus `json:"switch,omitempty"`
	// lastSwitch is the last completed switch.
	// +optional
	LastSwitch *SwitchStatus `json:"lastSwitch,omitempty"`
	// step of a replacement of the CA. Settled: none is in progress. DistributingTrust: the nodes load the new CA
	// alongside the old one. RotatingCertificates: the nodes load a certificate of the new CA. AwaitingApproval:
	// spec.tls.dropOldCA is Manual, and the old CA stays trusted until you approve its removal. RemovingOldCA: nodes are
	// restarted one at a time, because a running node cannot drop a CA.
	// +optional
	// +kubebuilder:validation:Enum=Settled;DistributingTrust;RotatingCertificates;AwaitingApproval;RemovingOldCA
	Step string `json:"step,omitempty"`
	// newCAServedAfter is the earliest time at which a node presents a certificate of the new CA, while one is being
	// distributed: clients have until then to read it (spec.tls.clientTrustDelay). Absent otherwise.
	// +optional
	NewCAServedAfter *metav1.Time `json:"newCAServedAfter,omitempty"`
	// trustedCAs are the CAs that at least one node trusts, or may trust while it does not answer.
	// +optional
	// +listType=map
	// +listMapKey=fingerprint
	// +kubebuilder:validation:MaxItems=32
	TrustedCAs []TrustedCA `json:"trustedCAs,omitempty"`
	// renewals requested by the annotation galera-operator.io/renew, the last of each kind.
	// +optional
	// +listType=map
	// +listMapKey=of
	// +kubebuilder:validation:MaxItems=4
	Renewals []RenewalStatus `json:"renewals,omitempty"`
}

// TrustedCA is a CA certificate that at least one node trusts.
type TrustedCA struct {
	// fingerprint is the SHA-256 of the CA certificate, in hexadecimal.
	Fingerprint string `json:"fingerprint"`
	// subject of the certificate, for instance CN=shop Galera CA.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Subject string `json:"subject,omitempty"`
	// notAfter is the expiry of the certificate.
	// +optional
	NotAfter *metav1.Time `json:"notAfter,omitempty"`
	// state is Current for the CA of the issued certificate; Old for one that is published alongside it; Dropped for one
	// that is no longer published, but trusted by running nodes until they restart, or perhaps by one that does not
	// answer.
	// +kubebuilder:validation:Enum=Current;Old;Dropped
	State string `json:"state"`
	// publishedAt is when the CA was first seen in the ConfigMap NAME-ca, for clients to read. Absent before that.
	// +optional
	PublishedAt *metav1.Time `json:"publishedAt,omitempty"`
}

// EncryptedPartly is ClusterTLSStatus.Encrypted where the policy leaves a channel without TLS.
const EncryptedPartly = "Partly"

// Values of TrustedCA.State.
const (
	CACurrent = "Current"
	CAOld     = "Old"
	CADropped = "Dropped"
)

// SwitchStatus is a change of replication's encryption on a running cluster.
type SwitchStatus struct {
	// from is the socket mode before the switch: Plain or Strict, with the cipher suites if they are restricted.
	From string `json:"from"`
	// to is the socket mode after the switch, in the same form.
	To string `json:"to"`
	// strategy is Rolling or Rebootstrap.
	// +kubebuilder:validation:Enum=Rolling;Rebootstrap
	Strategy string `json:"strategy"`
	// startedAt is when the switch began.
	StartedAt metav1.Time `json:"startedAt"`
	// completedAt is when all nodes ran with the new encryption and were Synced.
	// +optional
	CompletedAt *metav1.Time `json:"completedAt,omitempty"`
	// outage is how long no node served, as measured by the agents, to the millisecond, for instance 2.4s; 0s if at least
	// one node always served.
	// +optional
	Outage *metav1.Duration `json:"outage,omitempty"`
	// joinsByIST is the number of nodes that last rejoined without SST.
	// +optional
	JoinsByIST int32 `json:"joinsByIST,omitempty"`
	// joinsBySST is the number of nodes that last rejoined by SST.
	// +optional
	JoinsBySST int32 `json:"joinsBySST,omitempty"`
}
