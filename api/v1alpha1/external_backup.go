package v1alpha1

// Values of spec.bootstrapFrom.external.method.
const (
	MethodDump   = "Dump"
	MethodBackup = "Backup"
)

// ExternalBackup is a full backup of a whole server by mariadb-backup, of the series of spec.image. It stays as it is,
// and is none of the cluster's backups.
type ExternalBackup struct {
	// storeRef names the GaleraBackupStore in the cluster's namespace that leads to the backup. Only Jobs have its
	// credentials.
	// +required
	StoreRef LocalName `json:"storeRef"`
	// path below the store's prefix: an object with the stream of mariadb-backup --stream=mbstream, optionally compressed
	// with gzip or zstd, or a folder with the files of a --target-dir.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('/') && !self.split('/').exists(p, p == '..' || p == '.')",message="path is one below the store's prefix: write it without a leading slash, and without . and .."
	Path string `json:"path"`
}

// FromBackup returns the backup of another server that the cluster begins with, nil for none.
func (c *GaleraCluster) FromBackup() *ExternalBackup {
	if c.Spec.BootstrapFrom == nil || c.Spec.BootstrapFrom.External == nil {
		return nil
	}
	return c.Spec.BootstrapFrom.External.Backup
}
