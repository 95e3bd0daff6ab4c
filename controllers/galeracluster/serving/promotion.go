package serving

import (
	"cmp"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// promotion is what is recorded in the store, before a node accepts writes; nil for nothing.
func promotion(c *v1alpha1.GaleraCluster) *task.Promotion {
	if c.Spec.Cutover == nil || c.Spec.Cutover.WithoutRecord || c.Status.ClusterUUID == "" || stale(c) != "" {
		return nil
	}
	return &task.Promotion{Namespace: c.Namespace, Name: c.Name, UID: string(c.UID), GTID: c.Spec.Cutover.GTID}
}

// stale is why a cutover is that of a cluster before this one, "" where it is not: a manifest that is applied anew
// names it still. The cluster that is followed has gone on since, and would refuse writes for it.
func stale(c *v1alpha1.GaleraCluster) string {
	to, of := c.Spec.Cutover, c.Status.Restore
	if to == nil || to.WithoutRecord || of == nil || of.Replay == nil {
		return ""
	}
	began, err := binlog.Parse(of.Replay.Reached)
	if err != nil {
		return ""
	}
	if at, _ := binlog.In(to.GTID, began.Domain); at.Seq == 0 || at.Seq >= began.Seq {
		return ""
	}
	return fmt.Sprintf("spec.cutover.gtid, %s, is from before %s, with which this cluster has begun: to follow, create "+
		"it anew without spec.cutover", to.GTID, of.Replay.Reached)
}

// recorded is what is known of the record. What was known before stays while there is no answer about it. problem is
// what keeps the program that answers from being given what is to be recorded: it knows nothing of that then.
func recorded(c *v1alpha1.GaleraCluster, served *task.Served, problem string) *v1alpha1.PromotionRecord {
	before := c.Status.Replication.Promotion
	if why := stale(c); why != "" && (before == nil || before.ID == "") {
		return &v1alpha1.PromotionRecord{Message: why}
	}
	if promotion(c) == nil || served == nil {
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
