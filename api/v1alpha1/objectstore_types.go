package v1alpha1

// S3Store is a bucket.
//
// +kubebuilder:validation:XValidation:rule="self.bucket == oldSelf.bucket && has(self.prefix) == has(oldSelf.prefix) && (!has(self.prefix) || self.prefix == oldSelf.prefix)",message="the bucket, prefix or claim cannot be changed, because backups are stored there: create another GaleraBackupStore"
type S3Store struct {
	// bucket is the name of an existing bucket.
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9][a-z0-9.-]*[a-z0-9]$`
	Bucket string `json:"bucket"`
	// prefix of all names in the bucket, without a slash at its beginning or end. Default: none.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:Pattern=`^([A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*)?$`
	// +kubebuilder:validation:XValidation:rule="!self.matches('(^|/)[.][.]?(/|$)')",message="must not contain '.' or '..' between slashes"
	Prefix string `json:"prefix,omitempty"`
	// endpoint of a service other than Amazon's: https://HOST[:PORT]. Default: Amazon's endpoint in the region.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^https?://[][A-Za-z0-9.:-]+/?$`
	Endpoint string `json:"endpoint,omitempty"`
	// region of the bucket. Default: us-east-1.
	// +optional
	// +kubebuilder:default=us-east-1
	// +kubebuilder:validation:MaxLength=64
	Region string `json:"region,omitempty"`
	// credentials in a Secret. Default: those of serviceAccountName's workload identity.
	// +optional
	Credentials *S3Credentials `json:"credentials,omitempty"`
	// caBundle holds the CA of the endpoint's certificate. Then no other CA is trusted. Default: the public CAs (Mozilla's
	// list).
	// +optional
	CABundle *CABundle `json:"caBundle,omitempty"`
	// forcePathStyle puts the bucket's name into the path instead of the host name. Most services other than Amazon's need
	// it. Default: false.
	// +optional
	ForcePathStyle bool `json:"forcePathStyle,omitempty"`
	// storageClass of the parts of backups, for instance STANDARD_IA or GLACIER_IR. Manifests and the archive of the
	// binary log are small and often read, and keep the bucket's. GLACIER and DEEP_ARCHIVE are refused, because their
	// objects cannot be read at once. A change applies to new objects only. Default: the bucket's.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_-]+$`
	// +kubebuilder:validation:XValidation:rule="!(self in ['GLACIER', 'DEEP_ARCHIVE'])",message="objects of this storage class have to be restored by hours before they can be read: use another one, such as GLACIER_IR"
	StorageClass string `json:"storageClass,omitempty"`
	// serverSideEncryption is what the service encrypts objects with in addition: backups are encrypted before they are
	// sent. A change applies to new objects only. Default: the bucket's.
	// +optional
	ServerSideEncryption *S3Encryption `json:"serverSideEncryption,omitempty"`
	// tags of every object, at most 10, for lifecycle rules or bills. The credentials need the right to tag objects
	// (s3:PutObjectTagging). A change applies to new objects only. Default: none.
	// +optional
	// +kubebuilder:validation:MaxProperties=10
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.size() >= 1 && k.size() <= 128 && self[k].size() <= 256)",message="a tag's key has 1 to 128 characters, its value at most 256"
	Tags map[string]string `json:"tags,omitempty"`
}

// S3Encryption is what a bucket's service encrypts objects with.
//
// +kubebuilder:validation:XValidation:rule="!has(self.kmsKeyID) || self.type != 'SSE-S3'",message="kmsKeyID goes with the types SSE-KMS and DSSE-KMS"
type S3Encryption struct {
	// type is SSE-S3 (keys of the service, AES256), SSE-KMS (keys of KMS), or DSSE-KMS (two layers with keys of KMS).
	// +required
	// +kubebuilder:validation:Enum=SSE-S3;SSE-KMS;DSSE-KMS
	Type string `json:"type"`
	// kmsKeyID is the ID, alias or ARN of the key, with SSE-KMS and DSSE-KMS. The credentials need the rights
	// kms:GenerateDataKey and kms:Decrypt for it. Default: the account's own key for S3.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9:/_-]+$`
	KMSKeyID string `json:"kmsKeyID,omitempty"`
}

// S3Credentials names a Secret in the store's namespace. Only the Jobs and the archiver that use the store mount it;
// database pods do not.
type S3Credentials struct {
	// secretName is the name of the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	SecretName string `json:"secretName"`
	// accessKeyIDKey is the key of the access key's ID. Default: access-key-id.
	// +optional
	// +kubebuilder:default=access-key-id
	AccessKeyIDKey string `json:"accessKeyIDKey,omitempty"`
	// secretAccessKeyKey is the key of the secret access key. Default: secret-access-key.
	// +optional
	// +kubebuilder:default=secret-access-key
	SecretAccessKeyKey string `json:"secretAccessKeyKey,omitempty"`
	// sessionTokenKey is the key of a session token. Default: none.
	// +optional
	SessionTokenKey string `json:"sessionTokenKey,omitempty"`
}

// GCSStore is a bucket of Google Cloud Storage.
//
// +kubebuilder:validation:XValidation:rule="self.bucket == oldSelf.bucket && has(self.prefix) == has(oldSelf.prefix) && (!has(self.prefix) || self.prefix == oldSelf.prefix)",message="the bucket or prefix cannot be changed, because backups are stored there: create another GaleraBackupStore"
type GCSStore struct {
	// bucket is the name of an existing bucket.
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=222
	// +kubebuilder:validation:Pattern=`^[a-z0-9][a-z0-9._-]*[a-z0-9]$`
	Bucket string `json:"bucket"`
	// prefix of all names in the bucket, without a slash at its beginning or end. Default: none.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:Pattern=`^([A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*)?$`
	// +kubebuilder:validation:XValidation:rule="!self.matches('(^|/)[.][.]?(/|$)')",message="must not contain '.' or '..' between slashes"
	Prefix string `json:"prefix,omitempty"`
	// endpoint of the service, for instance a private one: https://HOST[:PORT]. Default: Google's,
	// https://storage.googleapis.com.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^https://[][A-Za-z0-9.:-]+/?$`
	Endpoint string `json:"endpoint,omitempty"`
	// credentials in a Secret. Default: those of serviceAccountName's workload identity.
	// +optional
	Credentials *GCSCredentials `json:"credentials,omitempty"`
	// caBundle holds the CA of the endpoint's certificate. Then no other CA is trusted for it. Default: the public CAs
	// (Mozilla's list).
	// +optional
	CABundle *CABundle `json:"caBundle,omitempty"`
}

// GCSCredentials names a Secret in the store's namespace. Only the Jobs and the archiver that use the store mount it;
// database pods do not.
type GCSCredentials struct {
	// secretName is the name of the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	SecretName string `json:"secretName"`
	// jsonKey is the key of the service account's key, the JSON file that Google makes. Default: key.json.
	// +optional
	// +kubebuilder:default=key.json
	JSONKey string `json:"jsonKey,omitempty"`
}

// AzureStore is a container of Azure Blob Storage.
//
// +kubebuilder:validation:XValidation:rule="self.account == oldSelf.account && self.container == oldSelf.container && has(self.prefix) == has(oldSelf.prefix) && (!has(self.prefix) || self.prefix == oldSelf.prefix)",message="the account, container or prefix cannot be changed, because backups are stored there: create another GaleraBackupStore"
type AzureStore struct {
	// account is the name of the storage account.
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=24
	// +kubebuilder:validation:Pattern=`^[a-z0-9]+$`
	Account string `json:"account"`
	// container is the name of an existing container.
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]+(-[a-z0-9]+)*$`
	Container string `json:"container"`
	// prefix of all names in the container, without a slash at its beginning or end. Default: none.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:Pattern=`^([A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*)?$`
	// +kubebuilder:validation:XValidation:rule="!self.matches('(^|/)[.][.]?(/|$)')",message="must not contain '.' or '..' between slashes"
	Prefix string `json:"prefix,omitempty"`
	// endpoint of the account, for instance in another cloud of Azure's: https://HOST[:PORT], or
	// https://HOST[:PORT]/ACCOUNT where the service is reached by an address. Default:
	// https://ACCOUNT.blob.core.windows.net.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^https://[][A-Za-z0-9.:-]+(/[a-z0-9]+)?/?$`
	Endpoint string `json:"endpoint,omitempty"`
	// credentials in a Secret. Default: those of serviceAccountName's workload identity.
	// +optional
	Credentials *AzureCredentials `json:"credentials,omitempty"`
	// caBundle holds the CA of the endpoint's certificate. Then no other CA is trusted for it. Default: the public CAs
	// (Mozilla's list).
	// +optional
	CABundle *CABundle `json:"caBundle,omitempty"`
}

// AzureCredentials names a Secret in the store's namespace. Only the Jobs and the archiver that use the store mount it;
// database pods do not.
//
// +kubebuilder:validation:XValidation:rule="!has(self.accountKeyKey) || !has(self.sasTokenKey)",message="name at most one of accountKeyKey and sasTokenKey"
type AzureCredentials struct {
	// secretName is the name of the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	SecretName string `json:"secretName"`
	// accountKeyKey is the key of the storage account's key. Default: account-key, without sasTokenKey.
	// +optional
	// +kubebuilder:validation:MinLength=1
	AccountKeyKey string `json:"accountKeyKey,omitempty"`
	// sasTokenKey is the key of a token (shared access signature) for the container that may read, add, create, write,
	// delete and list. Default: none.
	// +optional
	// +kubebuilder:validation:MinLength=1
	SASTokenKey string `json:"sasTokenKey,omitempty"`
}

// Values of S3Encryption.
const (
	EncryptionSSES3   = "SSE-S3"
	EncryptionSSEKMS  = "SSE-KMS"
	EncryptionDSSEKMS = "DSSE-KMS"
)

// CABundle is a file with CA certificates in PEM, in a Secret or a ConfigMap of the store's namespace.
//
// +kubebuilder:validation:XValidation:rule="has(self.secretName) != has(self.configMapName)",message="name exactly one of secretName and configMapName"
type CABundle struct {
	// secretName is the name of a Secret.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	SecretName string `json:"secretName,omitempty"`
	// configMapName is the name of a ConfigMap.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ConfigMapName string `json:"configMapName,omitempty"`
	// key in the Secret or ConfigMap. Default: ca.crt.
	// +optional
	// +kubebuilder:default=ca.crt
	Key string `json:"key,omitempty"`
}

// VolumeStore is a volume.
//
// +kubebuilder:validation:XValidation:rule="self.claimName == oldSelf.claimName",message="the bucket, prefix or claim cannot be changed, because backups are stored there: create another GaleraBackupStore"
type VolumeStore struct {
	// claimName is the name of a PersistentVolumeClaim. Jobs on several hosts need the access mode ReadWriteMany.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ClaimName string `json:"claimName"`
}

// Kinds of a StoreLocation.
const (
	StoreS3     = "S3"
	StoreGCS    = "GCS"
	StoreAzure  = "Azure"
	StoreVolume = "Volume"
)

// StoreLocation is where data lie, as the GaleraBackupStore named it when they were written. Different spellings of one
// endpoint are one location.
type StoreLocation struct {
	// kind is S3, GCS, Azure or Volume.
	// +kubebuilder:validation:Enum=S3;GCS;Azure;Volume
	Kind string `json:"kind"`
	// endpoint of the service. Absent for Amazon's, Google's and Azure's own.
	// +optional
	Endpoint string `json:"endpoint,omitempty"`
	// bucket, or ACCOUNT/CONTAINER of Azure.
	// +optional
	Bucket string `json:"bucket,omitempty"`
	// prefix of all names in the bucket.
	// +optional
	Prefix string `json:"prefix,omitempty"`
	// claim is the PersistentVolumeClaim of a volume.
	// +optional
	Claim string `json:"claim,omitempty"`
}

// CredentialsSecret is the name of the Secret with the credentials, "" for none.
func (s *GaleraBackupStoreSpec) CredentialsSecret() string {
	switch {
	case s.S3 != nil && s.S3.Credentials != nil:
		return s.S3.Credentials.SecretName
	case s.GCS != nil && s.GCS.Credentials != nil:
		return s.GCS.Credentials.SecretName
	case s.Azure != nil && s.Azure.Credentials != nil:
		return s.Azure.Credentials.SecretName
	}
	return ""
}

// CA is where the CA of the endpoint's certificate is, nil for the public ones.
func (s *GaleraBackupStoreSpec) CA() *CABundle {
	switch {
	case s.S3 != nil:
		return s.S3.CABundle
	case s.GCS != nil:
		return s.GCS.CABundle
	case s.Azure != nil:
		return s.Azure.CABundle
	}
	return nil
}
