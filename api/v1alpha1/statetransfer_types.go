package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// StateTransferSpec is how a node that joins gets the data. None of it needs a restart: a change holds
// for the next transfer, and istWindow for the next start of each node.
//
// +kubebuilder:validation:XValidation:rule="!has(self.compression) || self.compression == 'None' || self.method == 'MariaBackup'",message="compression works with the method MariaBackup only: what rsync sends cannot be compressed on its way"
// +kubebuilder:validation:XValidation:rule="!has(self.rateLimit) || self.method == 'MariaBackup'",message="rateLimit works with the method MariaBackup only: rsync blocks its donor while it copies, and a slower copy would block it for longer"
// +kubebuilder:validation:XValidation:rule="!has(self.bufferPoolHint) || self.method == 'MariaBackup'",message="bufferPoolHint works with the method MariaBackup only: rsync copies need no preparation"
// +kubebuilder:validation:XValidation:rule="!has(self.stallTimeout) || (duration(self.stallTimeout) >= duration('1m') && duration(self.stallTimeout) <= duration('24h'))",message="stallTimeout must be between 1m and 24h"
// +kubebuilder:validation:XValidation:rule="!has(self.istWindow) || (duration(self.istWindow) >= duration('1m') && duration(self.istWindow) <= duration('720h'))",message="istWindow must be between 1m and 720h"
type StateTransferSpec struct {
	// method of full state transfers. MariaBackup keeps the donor usable. Rsync is faster for small
	// files but makes the donor read-only while it copies; encrypted, it needs stunnel in the image.
	// Default: MariaBackup.
	// +optional
	// +kubebuilder:default=MariaBackup
	// +kubebuilder:validation:Enum=MariaBackup;Rsync
	Method string `json:"method,omitempty"`

	// parallel is the number of threads that copy files, or with the method Rsync of processes that copy a database
	// each, 1 to 64. Default: 4.
	// +optional
	// +kubebuilder:default=4
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	Parallel int32 `json:"parallel,omitempty"`

	// donors are nodes that are asked first for a full copy, by name, in this order. The others follow,
	// and the node behind NAME-primary comes last, listed here or not. Default: none is preferred.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=7
	// +kubebuilder:validation:items:MaxLength=63
	Donors []string `json:"donors,omitempty"`

	// compression of a full copy on its way: None, or Zstd, which needs the program zstd in the image and
	// is worth it when the network is slower than the disks. Default: None.
	// +optional
	// +kubebuilder:default=None
	// +kubebuilder:validation:Enum=None;Zstd
	Compression string `json:"compression,omitempty"`

	// rateLimit is the most a donor sends in a second, in bytes (for instance 50Mi), after compression.
	// At least 64Ki. Default: no limit.
	// +optional
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).compareTo(quantity('64Ki')) >= 0",message="rateLimit must be at least 64Ki (bytes per second)"
	RateLimit *resource.Quantity `json:"rateLimit,omitempty"`

	// bufferPoolHint is the memory a joining node may use to make a received copy consistent (for
	// instance 2Gi). It is free then, as mariadbd has not taken its buffer pool yet; more of it makes the
	// preparation faster after a copy during which much was written. At least 16Mi. Default: as
	// innodb_buffer_pool_size.
	// +optional
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).compareTo(quantity('16Mi')) >= 0",message="bufferPoolHint must be at least 16Mi"
	BufferPoolHint *resource.Quantity `json:"bufferPoolHint,omitempty"`

	// stallTimeout is how long a full copy may make no progress at all, or none of the write-sets a node has
	// missed may come, before the transfer is given up and begun anew, from another donor where there is one.
	// One that goes on may take as long as it takes. Write-sets that have come may, too, unless for so long nothing
	// comes over their connection and none is applied. A donor ends a copy to a joiner from which nothing comes for so long.
	// 1m to 24h. Default: 10m.
	// +optional
	// +kubebuilder:default="10m"
	StallTimeout *metav1.Duration `json:"stallTimeout,omitempty"`

	// istWindow is how long a node may be away and still get only what it missed (for instance 2h). Each
	// node makes its cache of write-sets (gcache.size) that large, by the rate of writes it has seen, when
	// it starts: a change of the size never restarts a node. The cache gets a quarter of spec.storage.size
	// at most, and is never smaller than 128Mi. status.members[].cache tells what came of it.
	// 1m to 720h. Default: none; the cache has 128Mi.
	// +optional
	ISTWindow *metav1.Duration `json:"istWindow,omitempty"`
}
