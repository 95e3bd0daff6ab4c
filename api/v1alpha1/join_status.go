package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// JoinStatus is how a node came into the cluster last, or how far it has come. Progress is written every
// ten seconds at most.
type JoinStatus struct {
	// kind is IST (only what was missed), SST (a full copy) or None (nothing was missed).
	// +kubebuilder:validation:Enum=IST;SST;None
	Kind string `json:"kind,omitempty"`
	// donor is the node that gives, or gave, the data.
	// +optional
	Donor string `json:"donor,omitempty"`
	// phase of a join that goes on: Waiting (for a donor, or for its first byte), Transferring, Preparing
	// (the copy is made consistent), Applying (the database starts and catches up); empty afterwards.
	// +optional
	// +kubebuilder:validation:Enum=Waiting;Transferring;Preparing;Applying
	Phase string `json:"phase,omitempty"`
	// bytesDone is how much of a full copy has arrived, uncompressed.
	// +optional
	BytesDone *resource.Quantity `json:"bytesDone,omitempty"`
	// bytesTotal is the size of the donor's data, about as much as will arrive.
	// +optional
	BytesTotal *resource.Quantity `json:"bytesTotal,omitempty"`
	// rate is the recent rate of a running transfer, in bytes per second.
	// +optional
	Rate *resource.Quantity `json:"rate,omitempty"`
	// eta is when the transfer ends, or the node has caught up, if it goes on at this rate.
	// +optional
	ETA *metav1.Time `json:"eta,omitempty"`
	// writeSets is how many of the write-sets the node had missed it was given (IST), so far or in all.
	// +optional
	WriteSets int64 `json:"writeSets,omitempty"`
	// writeSetsBehind is how many write-sets the others are ahead while the node catches up.
	// +optional
	WriteSetsBehind int64 `json:"writeSetsBehind,omitempty"`
	// protocol is the version of TLS the stream was seen to come over, such as TLSv1.3; absent for one in clear.
	// +optional
	Protocol string `json:"protocol,omitempty"`
	// cipher is the suite the stream was seen to come with, such as TLS_AES_256_GCM_SHA384.
	// +optional
	Cipher string `json:"cipher,omitempty"`
	// message tells the above in a sentence while the join goes on.
	// +optional
	Message string `json:"message,omitempty"`
	// startedAt is when the node began to join.
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`
	// endedAt is when it had caught up.
	// +optional
	EndedAt *metav1.Time `json:"endedAt,omitempty"`
}

// CacheStatus is a node's store of past write-sets. Its figures are those of the last change of the
// node's state, or of the window.
type CacheStatus struct {
	// size of the store (gcache.size).
	Size resource.Quantity `json:"size"`
	// oldestSeqno is the oldest write-set in it: a node at this place of the history, or later, can
	// catch up.
	// +optional
	OldestSeqno int64 `json:"oldestSeqno,omitempty"`
	// window is about how long a node may be away and still catch up from this one, at the rate of
	// writes seen so far; absent while nothing, or next to nothing, was written.
	// +optional
	Window *metav1.Duration `json:"window,omitempty"`
}
