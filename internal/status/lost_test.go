package status

import (
	"testing"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// TestReplacedUnknown: a cluster that was to be emptied, and has lost whether it was, is reported, since its data may
// be its own.
func TestReplacedUnknown(t *testing.T) {
	const replaces = "4-bbbbbbbb"
	for name, tc := range map[string]struct {
		change func(c *v1alpha1.GaleraCluster)
		says   string
	}{
		"nothing is left":    {says: "Its data may have transactions that site/standby lacks"},
		"it follows another": {change: func(c *v1alpha1.GaleraCluster) { c.Spec.ReplicaOf.Replaces = "" }},
		"it has not begun":   {change: func(c *v1alpha1.GaleraCluster) { c.Status.ClusterUUID = "" }},
		"its copy is made":   {change: func(c *v1alpha1.GaleraCluster) { c.Status.Restore = &v1alpha1.RestoreStatus{} }},
		"its copy is known": {change: func(c *v1alpha1.GaleraCluster) {
			c.Status.Restore = &v1alpha1.RestoreStatus{Phase: v1alpha1.RestoreCompleted, Directory: "site/standby/bbbbbbbb"}
		}},
		"it began with a backup of itself": {change: func(c *v1alpha1.GaleraCluster) {
			c.Status.Restore = &v1alpha1.RestoreStatus{Phase: v1alpha1.RestoreCompleted, Directory: "site/n/aaaaaaaa",
				Replay: &v1alpha1.ReplayStatus{Chain: 3}}
		}, says: "compare the two"},
		"its identity shows that it was emptied": {change: func(c *v1alpha1.GaleraCluster) {
			c.Status.Identity = v1alpha1.IdentityAfter(c, replaces)
		}},
		"it is about to be emptied": {change: func(c *v1alpha1.GaleraCluster) {
			c.Status.Superseded = &v1alpha1.SupersededStatus{ID: replaces}
		}},
	} {
		in := healthy()
		c := in.Facts.Cluster
		c.UID, c.Status.ClusterUUID, c.Status.Identity = "u", "6b4c1a52-0000-11f0-a000-000000000001", "u"
		c.Spec.ReplicaOf = &v1alpha1.ReplicaOf{Replaces: replaces,
			Cluster: v1alpha1.ReplicatedCluster{Namespace: "site", Name: "standby", UID: "bbbbbbbb-1111"}}
		if tc.change != nil {
			tc.change(c)
		}
		reason := ""
		if tc.says != "" {
			reason = v1alpha1.ReasonSuperseded
		}
		reports(t, name, promotionRefused(in), reason, tc.says)
	}
}

// TestCutOff: a cluster that takes over, and may not get the transactions before that any more, is reported.
func TestCutOff(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(c *v1alpha1.GaleraCluster)
		says   string
	}{
		"its status was lost": {says: `To take over with what it has: kubectl patch galeracluster n -n site --type=merge -p ` +
			`'{"spec":{"cutover":{"gtid":"0-1-8","uid":"u"}}}'`},
		"the archive is known":   {change: func(c *v1alpha1.GaleraCluster) { c.Status.Restore = &v1alpha1.RestoreStatus{} }},
		"it has everything":      {change: func(c *v1alpha1.GaleraCluster) { c.Status.Replication.Applied = "0-1-9" }},
		"what it has is unknown": {change: func(c *v1alpha1.GaleraCluster) { c.Status.Replication.Applied = "" }},
		"it accepts writes": {change: func(c *v1alpha1.GaleraCluster) {
			c.Status.Replication.Role = v1alpha1.RoleIndependent
		}},
	} {
		in := healthy()
		c := in.Facts.Cluster
		c.Namespace, c.Name, c.UID, c.Status.ClusterUUID = "site", "n", "u", "6b4c1a52-0000-11f0-a000-000000000001"
		c.Spec.ReplicaOf, c.Spec.Cutover = &v1alpha1.ReplicaOf{}, &v1alpha1.CutoverSpec{GTID: "0-1-9", UID: "u"}
		c.Status.Replication = &v1alpha1.ReplicationStatus{Role: v1alpha1.RoleFollower, Applied: "0-1-8",
			AcceptsAfter: "0-1-9"}
		if tc.change != nil {
			tc.change(c)
		}
		reason := ""
		if tc.says != "" {
			reason = v1alpha1.ReasonPromotionUnrecorded
		}
		reports(t, name, promotionRefused(in), reason, tc.says)
	}
}
