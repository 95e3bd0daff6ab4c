package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// EncryptionSpec configures encryption of what lies on disks. Encryption of connections is configured in spec.tls.
type EncryptionSpec struct {
	// atRest encrypts the data of every node on its volume.
	// +required
	AtRest AtRestSpec `json:"atRest"`
}

// AtRestSpec configures the encryption of tables, logs and temporary files by MariaDB. It may be added to a running
// cluster, and removed: nodes are restarted one at a time, and MariaDB encrypts or decrypts their data in the
// background.
type AtRestSpec struct {
	// keysSecretRef names a Secret in the cluster's namespace with the encryption keys: keys.enc, the key file of
	// MariaDB's file_key_management, encrypted by openssl enc -aes-256-cbc -md sha1, and password, which decrypts it.
	// Default: the Secret NAME-keys. The operator creates that one when nothing can be encrypted yet and it does not
	// exist, never overwrites it, and never deletes it. Without the keys neither the data nor their backups can be
	// read: keep a copy of the Secret elsewhere.
	// +optional
	KeysSecretRef *KeysSecretReference `json:"keysSecretRef,omitempty"`

	// algorithm that MariaDB encrypts with: AES_CTR or AES_CBC. Default: AES_CTR.
	// +optional
	// +kubebuilder:default=AES_CTR
	// +kubebuilder:validation:Enum=AES_CTR;AES_CBC
	Algorithm string `json:"algorithm,omitempty"`

	// gcache is where each node keeps Galera's cache of write-sets, which MariaDB cannot encrypt: Memory or Clear. Memory
	// is a volume in the host's memory, 128Mi of which count as the pod's. A node whose pod is replaced has an empty
	// cache, and cannot send other nodes what they missed (IST) from before. Clear is a file on the node's volume, in
	// clear; the condition EncryptedAtRest is False then. Default: Memory.
	// +optional
	// +kubebuilder:default=Memory
	// +kubebuilder:validation:Enum=Memory;Clear
	GCache string `json:"gcache,omitempty"`

	// rotateEvery must not be set: keys are not rotated, as MariaDB's file_key_management knows one version of each key
	// only. See docs/encryption.md#rotation-of-keys for what replaces the keys.
	// +optional
	// +kubebuilder:validation:XValidation:rule="false",message="keys cannot be rotated: MariaDB's file_key_management knows one version of each key, and encrypts logs and undo with key 1 always. Remove rotateEvery; docs/encryption.md#rotation-of-keys has what replaces the keys"
	RotateEvery *metav1.Duration `json:"rotateEvery,omitempty"`
}

// Values of AtRestSpec.GCache.
const (
	GCacheMemory = "Memory"
	GCacheClear  = "Clear"
)

// KeysSecretReference names a Secret.
type KeysSecretReference struct {
	// name of the Secret.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// AtRest returns how the cluster's data are encrypted on disks, nil when they are not.
func (c *GaleraCluster) AtRest() *AtRestSpec {
	if c.Spec.Encryption == nil {
		return nil
	}
	return &c.Spec.Encryption.AtRest
}

// Values of AtRestStatus.State.
const (
	AtRestPreparing  = "Preparing"
	AtRestOn         = "On"
	AtRestDecrypting = "Decrypting"
	AtRestOff        = "Off"
)

// AtRestState returns how far the data are switched; "" where they were never encrypted.
func (c *GaleraCluster) AtRestState() string {
	if c.Status.AtRest == nil {
		return ""
	}
	return c.Status.AtRest.State
}

// NodesHaveKeys reports whether nodes are given encryption keys.
func (c *GaleraCluster) NodesHaveKeys() bool {
	return c.AtRestState() != "" && c.AtRestState() != AtRestOff
}

// AtRestStatus is the state of the encryption of what lies on disks.
type AtRestStatus struct {
	// state is how far the data are switched. Preparing: nodes are given the keys, and write in clear. On: nodes encrypt
	// what they write, and MariaDB encrypts the rest in the background; the condition EncryptedAtRest is True when all
	// is. Decrypting: nodes write in clear, and keep the keys until nothing on their volumes needs them. Off: no node has
	// the keys; backups may still need them.
	// +optional
	// +kubebuilder:validation:Enum=Preparing;On;Decrypting;Off
	State string `json:"state,omitempty"`
	// message describes what the switch waits for. Empty when it waits for nothing.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
	// algorithm that the data are encrypted with.
	// +optional
	// +kubebuilder:validation:MaxLength=16
	Algorithm string `json:"algorithm,omitempty"`
	// secretName is the Secret with the keys. It is kept when the cluster is deleted: without it neither the data nor
	// their backups can be read.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	SecretName string `json:"secretName,omitempty"`
	// keys are those that the data are encrypted with. They are recorded once, before a node has them. Nodes refuse other
	// bytes under a number that is recorded here.
	// +optional
	// +listType=map
	// +listMapKey=id
	// +kubebuilder:validation:MaxItems=64
	Keys []EncryptionKeyStatus `json:"keys,omitempty"`
	// members is what each node's agent has seen on its volume.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Members []MemberAtRestStatus `json:"members,omitempty"`
}

// EncryptionKeyStatus describes one key.
type EncryptionKeyStatus struct {
	// id is the key's number in the key file.
	// +kubebuilder:validation:MaxLength=3
	ID string `json:"id"`
	// fingerprint distinguishes the key from others. It is an HMAC by the key, and nothing of it.
	// +kubebuilder:validation:MaxLength=64
	Fingerprint string `json:"fingerprint"`
}

// MemberAtRestStatus is what a node's agent has seen on its volume.
type MemberAtRestStatus struct {
	// name of the node's pod.
	Name string `json:"name"`
	// files is how many files with tables or logs the agent found when it read all of them.
	// +optional
	Files int64 `json:"files,omitempty"`
	// pages is how many pages of them hold something.
	// +optional
	Pages int64 `json:"pages,omitempty"`
	// clear is how many of the files are in clear, or hold pages in clear. The condition EncryptedAtRest names some.
	// +optional
	Clear int64 `json:"clear,omitempty"`
	// encrypted is how many of the files hold something encrypted.
	// +optional
	Encrypted int64 `json:"encrypted,omitempty"`
	// unknown is how many of the files are damaged, or of a form that is not known, so that nothing is concluded from
	// them. The condition EncryptedAtRest, and message of the switch, name some.
	// +optional
	Unknown int64 `json:"unknown,omitempty"`
	// fullScanTime is when all pages of all files were read last. A part of them is read each minute.
	// +optional
	FullScanTime *metav1.Time `json:"fullScanTime,omitempty"`
	// message describes what keeps the agent from knowing. Empty when it knows.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
}
