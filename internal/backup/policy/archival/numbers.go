package archival

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// alignInterval is how long nodes keep a number that they were given. Each one leaves a gap in the numbers, and may
// cost a full backup.
const alignInterval = time.Hour

// Align returns whether the nodes are to count GTIDs from one number on, because they number transactions differently,
// and otherwise why that waits; "" when nothing is to be done. All nodes must have been compared, and be Synced: one
// that is away may have a higher number than all others.
func Align(f Facts) (align bool, why string) {
	if f.Archived == nil || f.Archived.Skew == nil {
		return false, ""
	}
	c, skew := f.Cluster, f.Archived.Skew
	switch {
	case !meta.IsStatusConditionTrue(c.Status.Conditions, v1alpha1.ConditionReady) || c.Status.Primary == "":
		return false, "waiting for the cluster to be Ready"
	case skew.Nodes != len(c.Status.Members):
		return false, fmt.Sprintf("%d of %d nodes are known", skew.Nodes, len(c.Status.Members))
	}
	for _, m := range c.Status.Members {
		if m.NodeState != string(galera.NodeSynced) || m.ComponentState != string(galera.ComponentPrimary) {
			return false, "waiting for " + m.Name + " to be Synced"
		}
	}
	if b := c.Status.Backup; b != nil && b.AlignedAt != nil && f.Now.Sub(b.AlignedAt.Time) < alignInterval {
		return false, fmt.Sprintf("they were given one number at %s, and get another one at %s: a node may be started again "+
			"and again after transactions with sql_log_bin=0", clock(b.AlignedAt),
			clock(&metav1.Time{Time: b.AlignedAt.Add(alignInterval)}))
	}
	return true, "the primary gives all of them one number"
}

// clocks is the message about clocks that differ, "" when they do not.
func (f Facts) clocks() string {
	if f.Archived == nil || f.Archived.Clocks == "" {
		return ""
	}
	return "; " + f.Archived.Clocks
}

// numbers is the message about nodes that number transactions differently, "" when they do not.
func (f Facts) numbers() string {
	if _, why := Align(f); why != "" {
		return "; nodes number transactions differently (" + f.Archived.Skew.Why + "): " + why
	}
	return ""
}
