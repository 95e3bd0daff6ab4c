package status

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// TestWithinMaxLag: where NAME-readonly leads to no node, a condition and an event say so, with where data are still to
// be had. Without a limit, and once the cluster is independent, there is none.
func TestWithinMaxLag(t *testing.T) {
	for name, tc := range map[string]struct {
		seconds int64
		before  *v1alpha1.LagStatus
		edit    func(*v1alpha1.GaleraCluster)
		want    string
		says    string
		event   string
	}{
		"within": {seconds: 3, before: &v1alpha1.LagStatus{}, want: "True WithinMaxLag",
			says: "they are at most 2m (spec.readOnlyService.maxLag) behind db"},
		"unknown for a moment": {seconds: -1, before: &v1alpha1.LagStatus{}, want: "True WithinMaxLag",
			says: "It ends if it is not known for 15s how far"},
		"over": {seconds: 121, before: &v1alpha1.LagStatus{}, want: "False LagExceeded",
			says: "n-readonly leads to no node until the cluster was at most 1m behind for 15s. Clients that may read older " +
				"data find it at n.", event: "LagExceeded"},
		"catches up": {seconds: 61, before: &v1alpha1.LagStatus{Exceeded: true}, want: "False LagExceeded",
			says: "catches up"},
		"unknown": {seconds: -1, before: &v1alpha1.LagStatus{Exceeded: true}, want: "False LagUnknown",
			says: "n-0 does not receive and apply anything"},
		"without a limit": {seconds: 121, before: &v1alpha1.LagStatus{Exceeded: true},
			edit: func(c *v1alpha1.GaleraCluster) { c.Spec.ReadOnlyService.MaxLag = nil }},
		"independent": {seconds: -1, before: &v1alpha1.LagStatus{Exceeded: true},
			edit: func(c *v1alpha1.GaleraCluster) { c.Status.Replication.Role = v1alpha1.RoleIndependent }},
	} {
		in := healthy()
		c := in.Facts.Cluster
		c.Name = "n"
		c.Spec.ReadOnlyService.MaxLag = &metav1.Duration{Duration: 2 * time.Minute}
		c.Spec.BootstrapFrom = &v1alpha1.BootstrapFrom{External: &v1alpha1.BootstrapExternal{Host: "db", Follow: true}}
		c.Status.Replication = &v1alpha1.ReplicationStatus{Role: v1alpha1.RoleFollower, Lag: tc.before}
		c.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionWithinMaxLag, Status: metav1.ConditionTrue}}
		if tc.before.Exceeded {
			c.Status.Conditions[0].Status = metav1.ConditionFalse
		}
		if tc.edit != nil {
			tc.edit(c)
		}
		channel := &agentapi.ChannelState{Connected: true, Applying: true}
		if tc.seconds >= 0 {
			channel.SecondsBehind = &tc.seconds
		}
		for i, m := range in.Snapshot.Members {
			seen := in.Seen[m.Name]
			seen.Report.Following, seen.Report.Channel = &agentapi.Following{Applied: "0-1-8"}, agentapi.TaskOff
			if i == 0 {
				seen.Report.Following.Channel, seen.Report.Channel = channel, agentapi.TaskOn
			}
			in.Seen[m.Name] = seen
		}
		before := *c.Status.DeepCopy()
		Update(&c.Status, in)
		got, message := "", ""
		if v := meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionWithinMaxLag); v != nil {
			got, message = string(v.Status)+" "+v.Reason, v.Message
		}
		if got != tc.want || !strings.Contains(message, tc.says) || (c.Status.Replication.Lag == nil) != (tc.want == "") {
			t.Errorf("%s: %q %q, %+v", name, got, message, c.Status.Replication.Lag)
		}
		event := ""
		for _, e := range Events(before, c.Status) {
			if strings.Contains(e.Message, v1alpha1.ConditionWithinMaxLag) {
				event = e.Reason
			}
		}
		if event != tc.event {
			t.Errorf("%s: event %q", name, event)
		}
	}
}
