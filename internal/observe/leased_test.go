package observe

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// TestLeased: nodes that accept writes by the lease only go on so when the status is lost, unless a person has removed
// it from there.
func TestLeased(t *testing.T) {
	config := func(uid string, lease bool) agentapi.NodeConfig {
		return agentapi.NodeConfig{Cluster: "shop", Namespace: "prod", UID: uid, Revision: "r", Lease: lease}
	}
	node := func(uid string, lease *agentapi.LeaseReport, live bool) Seen {
		return Seen{Live: live, Report: agentapi.Report{Lease: lease,
			Cluster: agentapi.Identity{Namespace: "prod", Cluster: "shop", UID: uid}}}
	}
	guarded := &agentapi.LeaseReport{Guarded: true}
	for name, tc := range map[string]struct {
		config agentapi.NodeConfig
		node   Seen
		before string
		// unwanted is a lease that is turned off, lost a status of which nothing is left.
		unwanted, lost bool
		want           string
	}{
		"the configuration has it": {config: config("u", true), want: v1alpha1.WriteLeaseStarting},
		"it is known": {config: config("u", true), before: v1alpha1.WriteLeaseEnded,
			want: v1alpha1.WriteLeaseEnded},
		"none is wanted": {config: config("u", true), unwanted: true},
		"none is wanted any more": {config: config("u", true), unwanted: true, lost: true,
			want: v1alpha1.WriteLeaseStarting},
		"an earlier one was about to end": {config: config("u", true), before: v1alpha1.WriteLeaseEnding,
			want: v1alpha1.WriteLeaseStarting},
		"it is about to end": {config: config("u", true), before: v1alpha1.WriteLeaseEnding, unwanted: true,
			want: v1alpha1.WriteLeaseEnding},
		"it is wanted again": {config: config("u", false), before: v1alpha1.WriteLeaseEnding,
			want: v1alpha1.WriteLeaseEnding},
		"it is that of one before":         {config: config("x", true)},
		"the configuration has none":       {config: config("u", false), node: node("u", guarded, true)},
		"a node has it":                    {node: node("u", guarded, true), want: v1alpha1.WriteLeaseStarting},
		"a node has heard, and needs none": {node: node("u", &agentapi.LeaseReport{Heard: true}, true)},
		"a node has none":                  {node: node("u", nil, true)},
		"a node that does not answer had":  {node: node("u", guarded, false)},
		"a node of another cluster has":    {node: node("x", guarded, true)},
		"nothing has it":                   {},
	} {
		c := &v1alpha1.GaleraCluster{}
		c.Namespace, c.Name, c.UID, c.Status.Identity, c.Status.WriteLease = "prod", "shop", types.UID("u"), "u", tc.before
		c.Spec.Backup = &v1alpha1.ClusterBackup{PointInTime: &v1alpha1.PointInTime{Enabled: true, WriteLease: !tc.unwanted}}
		if tc.lost {
			c.Status.Identity = ""
		}
		f := Facts{Cluster: c, Pods: map[string]*corev1.Pod{"shop-0": {}}}
		have := Leased(f, map[string]Seen{"shop-0": tc.node}, tc.config)
		if have.Status.WriteLease != tc.want || (have == c) != (tc.want == tc.before) || c.Status.WriteLease != tc.before {
			t.Errorf("%s: %q", name, have.Status.WriteLease)
		}
	}
}

// TestLeaseless: a lease ends, and returns, on one node after the other. The primary moves for neither, and does if its
// lease alone has ended for some time.
func TestLeaseless(t *testing.T) {
	good := func(settled bool) *agentapi.LeaseReport {
		return &agentapi.LeaseReport{Guarded: true, Heard: true, Settled: settled}
	}
	gone := func(settled bool) *agentapi.LeaseReport {
		return &agentapi.LeaseReport{Guarded: true, Ended: true, Settled: settled}
	}
	for name, tc := range map[string]struct {
		primary, other         *agentapi.LeaseReport
		wantPrimary, wantOther bool
	}{
		"none is needed":               {nil, &agentapi.LeaseReport{Heard: true}, false, false},
		"both have it":                 {good(true), good(true), false, false},
		"it begins":                    {good(false), good(false), false, true},
		"it ends at the primary first": {gone(false), good(true), false, false},
		"it ends at the other first":   {good(true), gone(false), false, true},
		"it has ended":                 {gone(true), gone(true), true, true},
		"the other has it first":       {gone(true), good(false), true, true},
		"the other alone has it":       {gone(true), good(true), true, false},
		"the primary alone has it":     {good(true), gone(true), false, true},
	} {
		if leaseless(tc.primary, v1alpha1.RolePrimary) != tc.wantPrimary ||
			leaseless(tc.other, v1alpha1.RoleReplica) != tc.wantOther {
			t.Error(name)
		}
	}
}
