package serving

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// promotion is what is recorded in the store, before a node accepts writes; nil for nothing.
func promotion(c *v1alpha1.GaleraCluster) *task.Promotion {
	if c.Spec.Cutover == nil || c.Spec.Cutover.WithoutRecord {
		return nil
	}
	return &task.Promotion{Namespace: c.Namespace, Name: c.Name, UID: string(c.UID), GTID: c.Spec.Cutover.GTID}
}

// recorded is what is known of the record. What was known before stays while there is no answer about it.
func recorded(c *v1alpha1.GaleraCluster, served *task.Served) *v1alpha1.PromotionRecord {
	before := c.Status.Replication.Promotion
	if promotion(c) == nil || served == nil {
		return before
	}
	out := &v1alpha1.PromotionRecord{Message: served.Unrecorded}
	p := served.Promotion
	switch {
	case p == nil && before != nil && (before.ID != "" || out.Message == ""):
		return before
	case p == nil && out.Message == "": // the program has not begun
		return nil
	case p == nil:
		return out
	case p.UID != string(c.UID):
		out.LostTo = p.Namespace + "/" + p.Name
	}
	out.ID, out.GTID = p.ID(), p.GTID
	if !p.At.IsZero() {
		out.RecordedAt = new(metav1.NewTime(p.At.Truncate(time.Second)))
	}
	return out
}
