package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// StateTransferSpec configures how a joiner gets its data. A change restarts no node: it takes effect with the
// next transfer, istWindow with the next start of each node.
//
// +kubebuilder:validation:XValidation:rule="!has(self.compression) || self.compression == 'None' || self.method == 'MariaBackup'",message="compression works with the method MariaBackup only: what rsync sends cannot be compressed on its way"
// +kubebuilder:validation:XValidation:rule="!has(self.rateLimit) || self.method == 'MariaBackup'",message="rateLimit works with the method MariaBackup only: rsync blocks its donor while it copies, and a slower copy would block it for longer"
// +kubebuilder:validation:XValidation:rule="!has(self.bufferPoolHint) || self.method == 'MariaBackup'",message="bufferPoolHint works with the method MariaBackup only: rsync copies need no preparation"
// +kubebuilder:validation:XValidation:rule="!has(self.stallTimeout) || (duration(self.stallTimeout) >= duration('1m') && duration(self.stallTimeout) <= duration('24h'))",message="stallTimeout must be between 1m and 24h"
// +kubebuilder:validation:XValidation:rule="!has(self.istWindow) || (duration(self.istWindow) >= duration('1m') && duration(self.istWindow) <= duration('720h'))",message="istWindow must be between 1m and 720h"
type StateTransferSpec struct {
	// method of SST: MariaBackup or Rsync. MariaBackup keeps the donor writable. Rsync is faster for small files,
	// but makes the donor read-only while it copies; with encryption it needs stunnel in the image.
	// Default: MariaBackup.
	// +optional
	// +kubebuilder:default=MariaBackup
	// +kubebuilder:validation:Enum=MariaBackup;Rsync
	Method string `json:"method,omitempty"`

	// parallel is the number of threads that copy files during SST, 1 to 64. With Rsync it is the number of
	// processes, which copy one database each. Default: 4.
	// +optional
	// +kubebuilder:default=4
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	Parallel int32 `json:"parallel,omitempty"`

	// donors lists the preferred donors for SST by name, best first. The other nodes follow. The primary is
	// always the last choice, listed or not. Default: no preference.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=7
	// +kubebuilder:validation:items:MaxLength=63
	Donors []string `json:"donors,omitempty"`

	// compression of SST on the network: None or Zstd. Zstd needs the program zstd in the image, and helps when
	// the network is slower than the disks. Default: None.
	// +optional
	// +kubebuilder:default=None
	// +kubebuilder:validation:Enum=None;Zstd
	Compression string `json:"compression,omitempty"`

	// rateLimit is the most a donor sends during SST, in bytes per second after compression, for instance 50Mi.
	// At least 64Ki. Default: no limit.
	// +optional
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).compareTo(quantity('64Ki')) >= 0",message="rateLimit must be at least 64Ki (bytes per second)"
	RateLimit *resource.Quantity `json:"rateLimit,omitempty"`

	// bufferPoolHint is the memory a joiner may use to prepare a received copy (mariadb-backup --prepare), for
	// instance 2Gi. That memory is free, because mariadbd has not allocated its buffer pool yet. More memory
	// speeds up the preparation if much was written during the copy. At least 16Mi. Default:
	// innodb_buffer_pool_size.
	// +optional
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).compareTo(quantity('16Mi')) >= 0",message="bufferPoolHint must be at least 16Mi"
	BufferPoolHint *resource.Quantity `json:"bufferPoolHint,omitempty"`

	// stallTimeout is how long a state transfer may make no progress. A progressing transfer is never
	// interrupted. SST fails if no progress is made for this long; IST fails only if nothing is received or applied
	// for this long. The joiner then tries again, with another donor if there is one. A donor ends SST if the
	// joiner sends nothing for this long. 1m to 24h. Default: 10m.
	// +optional
	// +kubebuilder:default="10m"
	StallTimeout *metav1.Duration `json:"stallTimeout,omitempty"`

	// istWindow is how long a node may be away and still rejoin by IST, for instance 2h. Each node computes
	// gcache.size from it and from the observed write rate when it starts; a new size never restarts a node. The
	// gcache is at least 128Mi and at most a quarter of spec.storage.size. status.members[].cache shows the
	// result. 1m to 720h. Default: none; the gcache has 128Mi.
	// +optional
	ISTWindow *metav1.Duration `json:"istWindow,omitempty"`
}
