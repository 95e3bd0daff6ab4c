package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// JoinStatus describes a node's last or current join. Progress is updated every ten seconds at most.
type JoinStatus struct {
	// kind is IST (only the missed write-sets), SST (a full copy) or None (no write-set was missed).
	// +kubebuilder:validation:Enum=IST;SST;None
	Kind string `json:"kind,omitempty"`
	// donor is the node that sends, or sent, the data.
	// +optional
	Donor string `json:"donor,omitempty"`
	// phase of a running join: Waiting (for a donor, or for its first byte), Transferring, Preparing
	// (mariadb-backup --prepare) or Applying (the server starts and applies write-sets). Empty after the join.
	// +optional
	// +kubebuilder:validation:Enum=Waiting;Transferring;Preparing;Applying
	Phase string `json:"phase,omitempty"`
	// bytesDone is the number of bytes of an SST received so far, uncompressed.
	// +optional
	BytesDone *resource.Quantity `json:"bytesDone,omitempty"`
	// bytesTotal is the size of the donor's data, an estimate of the bytes an SST sends.
	// +optional
	BytesTotal *resource.Quantity `json:"bytesTotal,omitempty"`
	// rate is the recent rate of a running transfer, in bytes per second.
	// +optional
	Rate *resource.Quantity `json:"rate,omitempty"`
	// eta is when the transfer will end, or the node will have caught up, at the present rate.
	// +optional
	ETA *metav1.Time `json:"eta,omitempty"`
	// writeSets is the number of missed write-sets the node has received by IST.
	// +optional
	WriteSets int64 `json:"writeSets,omitempty"`
	// writeSetsBehind is the number of write-sets the node has yet to apply to catch up.
	// +optional
	WriteSetsBehind int64 `json:"writeSetsBehind,omitempty"`
	// protocol is the observed TLS version of the transfer, for instance TLSv1.3. Absent without encryption.
	// +optional
	Protocol string `json:"protocol,omitempty"`
	// cipher is the observed cipher suite of the transfer, for instance TLS_AES_256_GCM_SHA384.
	// +optional
	Cipher string `json:"cipher,omitempty"`
	// message sums up a running join in one sentence.
	// +optional
	Message string `json:"message,omitempty"`
	// startedAt is when the node began to join.
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`
	// endedAt is when the node had caught up.
	// +optional
	EndedAt *metav1.Time `json:"endedAt,omitempty"`
}

// CacheStatus describes a node's gcache. It is updated when the node's state, the size or the window changes.
type CacheStatus struct {
	// size of the gcache (gcache.size).
	Size resource.Quantity `json:"size"`
	// oldestSeqno is the oldest write-set in the gcache. A joiner that misses only later write-sets can get IST
	// from this node.
	// +optional
	OldestSeqno int64 `json:"oldestSeqno,omitempty"`
	// window is an estimate of how long a node may be away and still get IST from this one, at the observed write
	// rate. Absent while almost nothing is written.
	// +optional
	Window *metav1.Duration `json:"window,omitempty"`
}
