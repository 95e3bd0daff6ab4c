package serving

import (
	"cmp"
	"encoding/json"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/status"
)

// Promotion is what is recorded in the store, before a node accepts writes; nil for nothing.
func Promotion(c *v1alpha1.GaleraCluster) *task.Promotion {
	if !records(c) {
		return nil
	}
	if ok, _ := status.Recordable(c); !ok {
		return nil
	}
	out := &task.Promotion{Namespace: c.Namespace, Name: c.Name, UID: string(c.UID), GTID: c.Spec.Cutover.GTID}
	if token := c.Spec.Cutover.Token; token != nil {
		out.Number = uint64(token.Number) //nolint:gosec // records are counted from one on
	}
	return out
}

// asked is what the program is asked to record with a token, "" for nothing: it is not started anew for it.
func asked(c *v1alpha1.GaleraCluster, s *v1alpha1.GaleraBackupStore) string {
	p := Promotion(c)
	if p == nil || p.Number == 0 {
		return ""
	}
	of := task.Recording{Promotion: *p, SingleWriter: s.Spec.SingleWriter, Ahead: status.Ahead(c)}
	if token := c.Spec.Cutover.Token; of.Ahead == "" { // a program of an earlier release finds no segment 0
		of.Segment, of.Checksum = uint64(token.Segment), token.Checksum //nolint:gosec // numbered from one on
	}
	text, _ := json.Marshal(of) // nothing of it can fail
	return string(text)
}

// records reports whether a cluster that has started is to take over with a record.
func records(c *v1alpha1.GaleraCluster) bool {
	return c.Spec.Cutover != nil && !c.Spec.Cutover.WithoutRecord && c.Status.ClusterUUID != ""
}

// urgent reports whether clients wait for this cluster to take over with a token, which nothing is known to be against.
func urgent(c *v1alpha1.GaleraCluster) bool {
	if to := c.Spec.Cutover; to == nil || to.Token == nil || c.TakesOver() || status.Withdrawn(c) {
		return false
	}
	r := c.Status.Replication
	return r == nil || r.Promotion == nil || r.Promotion.LostTo == "" && r.Promotion.Message == ""
}

// Recorded is what is known of the record. What was known before stays while there is no answer about it. problem is
// what keeps the program that answers from being given what is to be recorded: it knows nothing of that then.
func Recorded(c *v1alpha1.GaleraCluster, served *task.Served, problem string) *v1alpha1.PromotionRecord {
	before := c.Status.Replication.Promotion
	if c.Spec.Cutover == nil {
		return orphan(c, served)
	}
	if !records(c) {
		return before
	}
	served = ofToken(c, served)
	if before != nil && (before.Withdrawn && !status.Withdrawn(c) || status.Orphan(before)) {
		before = nil // that was another token, or spec.cutover is set again
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
	case p == nil && served.Waits && (before == nil || before.ID == ""): // what has failed before does not any more
		return nil
	case p == nil && before != nil && (before.ID != "" || out.Message == ""):
		return before
	case p == nil && out.Message == "": // the program has not begun
		return nil
	case p == nil:
		return out
	case p.Withdrawn:
		out.Withdrawn = true
	case p.UID != string(c.UID):
		out.LostTo = p.Namespace + "/" + p.Name
	}
	out.ID, out.GTID = p.ID(), p.GTID
	if !p.At.IsZero() {
		out.RecordedAt = new(metav1.NewTime(p.At.Truncate(time.Second)))
	}
	return out
}

// orphan is the record of this cluster that the store has though spec.cutover, which had a token, was removed; nil for
// none. It has no ID: if spec.cutover is set again, it has to be found in the store again, as a person may have
// overruled it.
func orphan(c *v1alpha1.GaleraCluster, served *task.Served) *v1alpha1.PromotionRecord {
	before, gtid := c.Status.Replication.Promotion, ""
	if before != nil && before.LostTo == "" && !before.Withdrawn {
		gtid = before.GTID
	}
	if served != nil && served.Promotion != nil {
		gtid = ""
		if p := served.Promotion; p.UID == string(c.UID) && !p.Withdrawn {
			gtid = p.GTID
		}
	}
	if gtid == "" {
		return nil
	}
	return &v1alpha1.PromotionRecord{GTID: gtid, Message: "spec.cutover was removed after that was recorded"}
}

// ofToken leaves out the record of this cluster, or one that is withdrawn, that a program answers with that was asked
// with another token.
func ofToken(c *v1alpha1.GaleraCluster, served *task.Served) *task.Served {
	if served == nil || served.Promotion == nil {
		return served
	}
	token, p := c.Spec.Cutover.Token, served.Promotion
	switch {
	case token != nil && p.Number == uint64(token.Number): //nolint:gosec // records are counted from one on
		return served
	case !p.Withdrawn && (token == nil || p.UID != string(c.UID)):
		return served
	}
	out := *served
	out.Promotion = nil
	return &out
}
