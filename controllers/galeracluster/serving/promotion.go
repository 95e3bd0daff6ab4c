package serving

import (
	"cmp"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/status"
)

// promotion is what is recorded in the store, before a node accepts writes; nil for nothing.
func promotion(c *v1alpha1.GaleraCluster) *task.Promotion {
	if !records(c) {
		return nil
	}
	if ok, _ := status.Recordable(c); !ok {
		return nil
	}
	return &task.Promotion{Namespace: c.Namespace, Name: c.Name, UID: string(c.UID), GTID: c.Spec.Cutover.GTID}
}

// records reports whether a cluster that has started is to take over with a record.
func records(c *v1alpha1.GaleraCluster) bool {
	return c.Spec.Cutover != nil && !c.Spec.Cutover.WithoutRecord && c.Status.ClusterUUID != ""
}

// recorded is what is known of the record. What was known before stays while there is no answer about it. problem is
// what keeps the program that answers from being given what is to be recorded: it knows nothing of that then.
func recorded(c *v1alpha1.GaleraCluster, served *task.Served, problem string) *v1alpha1.PromotionRecord {
	before := c.Status.Replication.Promotion
	if !records(c) {
		return before
	}
	ok, why := status.Recordable(c)
	switch {
	case why != "" && (before == nil || before.ID == ""):
		return &v1alpha1.PromotionRecord{Message: why}
	case served == nil || !ok && problem == "":
		return before
	}
	out := &v1alpha1.PromotionRecord{Message: served.Unrecorded}
	p := served.Promotion
	if p == nil {
		out.Message = cmp.Or(out.Message, problem)
	}
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
