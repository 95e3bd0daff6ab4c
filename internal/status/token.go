package status

import (
	"fmt"
	"path"
	"strings"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/validate"
)

// Withdrawn reports whether the store has it recorded that spec.cutover.token is void.
func Withdrawn(c *v1alpha1.GaleraCluster) bool {
	r, to := c.Status.Replication, c.Spec.Cutover
	return r != nil && r.Promotion != nil && r.Promotion.Withdrawn && to != nil && to.Token != nil &&
		strings.HasPrefix(r.Promotion.ID, fmt.Sprintf("%d-", to.Token.Number))
}

// tokenOf reports whether spec.cutover.token may be used: this cluster has applied everything. That stays so, and with
// it what NAME-source is asked, which compares the archive's end. why is why it is not used at all.
func tokenOf(c *v1alpha1.GaleraCluster) (ok bool, why string) {
	token, of, r := c.Spec.Cutover.Token, c.Status.Restore, c.Status.Replication
	if token.To != string(c.UID) {
		return false, fmt.Sprintf("spec.cutover.token is for the cluster with the uid %s, and this one has %s: remove "+
			"spec.cutover", token.To, c.UID)
	}
	if of == nil || of.Directory == "" || r == nil {
		return false, ""
	}
	if from := path.Base(of.Directory); !strings.HasPrefix(token.From, from) {
		return false, fmt.Sprintf("spec.cutover.token is from the cluster with the uid %s, and this one follows %s: remove "+
			"spec.cutover", token.From, of.Directory)
	}
	last, err := binlog.Parse(token.GTID)
	if err != nil {
		return false, "spec.cutover.token.gtid is no GTID: remove spec.cutover"
	}
	applied, _ := binlog.In(r.Applied, last.Domain)
	return applied.Seq >= last.Seq, "" // with more, the program is asked whether it was taken back (Ahead)
}

// Ahead is the last transaction that this cluster has of the one which has given spec.cutover.token, where that is not
// the token's, "" where it is, or less: that one has lost what this one has, or was written to since. Nothing may be
// recorded with the token then: it may have others of the same numbers, which this one lacks.
func Ahead(c *v1alpha1.GaleraCluster) string {
	if c.Spec.Cutover == nil || c.Spec.Cutover.Token == nil || c.Status.Replication == nil {
		return ""
	}
	last, err := binlog.Parse(c.Spec.Cutover.Token.GTID)
	applied, _ := binlog.In(c.Status.Replication.Applied, last.Domain)
	if err != nil || applied == last || applied.Seq < last.Seq {
		return ""
	}
	return applied.String()
}

// Orphan reports whether a record is one that was made with a token before spec.cutover was removed.
func Orphan(p *v1alpha1.PromotionRecord) bool { return p != nil && p.ID == "" && p.GTID != "" }

// orphaned reports a cluster whose spec.cutover was removed just after the store had it recorded that it takes over.
func orphaned(c *v1alpha1.GaleraCluster) *validate.Problem {
	r := c.Status.Replication
	if r == nil || !Orphan(r.Promotion) {
		return nil
	}
	return blocking(v1alpha1.ReasonCutoverRemoved, fmt.Sprintf("the store has it recorded that this cluster takes over "+
		"after %s, and spec.cutover was removed: neither this cluster nor the other one accepts writes. Set it again: %s. "+
		"Or have the other one go on (spec.overrulesPromotion there), and create this one anew", r.Promotion.GTID,
		patchCutover(c, fmt.Sprintf(`"gtid":"%s","uid":"%s"`, r.Promotion.GTID, v1alpha1.RequestUID(c)))))
}

// cutOff reports a cluster that takes over after a transaction which it has not applied, and that has lost the name of
// the archive to get that from: NAME-source goes on as it is, and where the archive continues in another line of
// history, it is not given that.
func cutOff(c *v1alpha1.GaleraCluster) *validate.Problem {
	r := c.Status.Replication
	if c.Spec.ReplicaOf == nil || r == nil || r.Role != v1alpha1.RoleFollower || c.Status.Restore != nil ||
		c.Status.ClusterUUID == "" || r.Applied == "" ||
		reachable(c.Spec.Cutover.GTID, &v1alpha1.ReplicationStatus{Applied: r.Applied}) {
		return nil
	}
	writes := "Neither this cluster nor the other one accepts writes"
	if c.Spec.Cutover.WithoutRecord {
		writes = "This cluster accepts no writes"
	}
	return blocking(v1alpha1.ReasonPromotionUnrecorded, fmt.Sprintf("this cluster takes over after %s, and has applied "+
		"%s. Its status was lost, with which archive it has followed (status.restore), so that it may not get the rest. "+
		"%s. Wait while status.replication.applied goes on%s", c.Spec.Cutover.GTID, r.Applied, writes, withApplied(c)))
}
