package resources

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// cacheShare is the part of a volume the cache of write-sets may take: one of four.
const cacheShare = 4

// stateTransfer returns how the agents are to make state transfers. What the spec leaves at its default
// is left out where it can be, so that a new field does not change the document.
func stateTransfer(c *v1alpha1.GaleraCluster) agentapi.StateTransferConfig {
	spec := c.Spec.StateTransfer
	s := agentapi.StateTransferConfig{
		Method:        spec.Method,
		Parallel:      int(spec.Parallel),
		Donors:        slices.Clone(spec.Donors),
		RateLimit:     bytesOf(spec.RateLimit),
		PrepareMemory: bytesOf(spec.BufferPoolHint),
		WindowSeconds: secondsOf(spec.ISTWindow),
	}
	if s.Method == "" {
		s.Method = "MariaBackup"
	}
	if s.Parallel == 0 {
		s.Parallel = 4
	}
	if spec.Compression == agentapi.CompressionZstd {
		s.Compression = agentapi.CompressionZstd
	}
	if stall := secondsOf(spec.StallTimeout); stall != int64(agentapi.DefaultStall/time.Second) {
		s.StallSeconds = stall
	}
	if s.WindowSeconds > 0 {
		s.CacheBudget = c.Spec.Storage.Size.Value() / cacheShare
	}
	return s
}

func bytesOf(q *resource.Quantity) int64 {
	if q == nil {
		return 0
	}
	return q.Value()
}

func secondsOf(d *metav1.Duration) int64 {
	if d == nil {
		return 0
	}
	return int64(d.Duration / time.Second)
}
