package observe

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// TestAccepting: a cluster that has lost its status goes on accepting writes, by the configuration that its nodes have,
// or by what they report when that is lost, too. What is of another cutover, or of another cluster, shows nothing, and
// nor does what one before it has left behind.
func TestAccepting(t *testing.T) {
	config := func(name, until string) agentapi.NodeConfig {
		return agentapi.NodeConfig{Cluster: name, Namespace: "site", UID: "u", Revision: "r",
			Follow: &agentapi.Follow{Until: until}}
	}
	node := func(uid, until string, live bool) Seen {
		return Seen{Live: live, Report: agentapi.Report{ChannelUntil: until,
			Cluster: agentapi.Identity{Namespace: "site", Cluster: "shop", UID: uid}}}
	}
	takes := config("shop", "0-1-9")
	for name, tc := range map[string]struct {
		config        agentapi.NodeConfig
		node          Seen
		uid, identity string
		to            string
		empty, want   bool
	}{
		"the configuration has it":           {config: takes, uid: "u", to: "u", want: true},
		"the resource was made again":        {config: takes, uid: "v", to: "u", want: true},
		"as above, and the identity is kept": {config: takes, uid: "v", identity: "u", to: "u", want: true},
		"it has another transaction":         {config: config("shop", "0-1-8"), uid: "u", to: "u"},
		"it is held":                         {config: config("shop", ""), node: node("u", "0-1-9", true), uid: "u", to: "u"},
		"it is another cluster's":            {config: config("crm", "0-1-9"), uid: "u", to: "u"},
		"it is that of one before":           {config: takes, uid: "v", identity: "v", to: "u"},
		"that of before, a cutover of now":   {config: takes, uid: "v", identity: "v", to: "v"},
		"its volumes are gone":               {config: takes, uid: "v", to: "u", empty: true},
		"the cutover is another one's":       {config: takes, uid: "u", to: "x"},
		"a cutover of an earlier build":      {config: takes, uid: "u", identity: "u", want: true},
		"as above, and nodes do not have it": {config: config("shop", ""), uid: "u", identity: "u"},
		"as above, of one before":            {config: takes, uid: "v", identity: "v"},
		"as above, and a node has it":        {node: node("u", "0-1-9", true), uid: "u", identity: "u", want: true},
		"a node has it":                      {node: node("u", "0-1-9", true), uid: "u", to: "u", want: true},
		"a node that does not answer had it": {node: node("u", "0-1-9", false), uid: "u", to: "u"},
		"a node of another cluster has it":   {node: node("x", "0-1-9", true), uid: "u", identity: "u", to: "u"},
		"a node has another transaction":     {node: node("u", "0-1-8", true), uid: "u", to: "u"},
		"nothing has it":                     {uid: "u", to: "u"},
	} {
		c := &v1alpha1.GaleraCluster{}
		c.Namespace, c.Name, c.UID, c.Status.Identity = "site", "shop", types.UID(tc.uid), tc.identity
		c.Spec.ReplicaOf, c.Spec.Cutover = &v1alpha1.ReplicaOf{}, &v1alpha1.CutoverSpec{GTID: "0-1-9", UID: tc.to}
		f := Facts{Cluster: c, Pods: map[string]*corev1.Pod{"shop-0": {}},
			Claims: map[string]*corev1.PersistentVolumeClaim{"data-shop-0": {}}}
		if tc.empty {
			f.Claims = nil
		}
		seen := map[string]Seen{"shop-0": tc.node}
		have := Accepting(f, seen, tc.config)
		if r := have.Status.Replication; (r != nil && r.AcceptsAfter == "0-1-9") != tc.want || c.Status.Replication != nil {
			t.Errorf("%s: %+v", name, r)
		}
		c.Status.Replication = &v1alpha1.ReplicationStatus{Role: v1alpha1.RoleFollower, Applied: "0-1-9"}
		if r := Accepting(f, seen, tc.config).Status.Replication; (r.AcceptsAfter != "") != tc.want || r.Applied != "0-1-9" {
			t.Errorf("%s, and the rest is known: %+v", name, r)
		}
		c.Spec.ReplicaOf, c.Spec.BootstrapFrom = nil, &v1alpha1.BootstrapFrom{
			External: &v1alpha1.BootstrapExternal{Host: "db", Follow: true}}
		own := c.OwnCutover() // it needs no record
		if r := Accepting(f, seen, tc.config).Status.Replication; (r.AcceptsAfter != "") != (tc.want && !own) {
			t.Errorf("%s, of a server: %+v", name, r)
		}
		c.Status.Restore = &v1alpha1.RestoreStatus{External: &v1alpha1.ExternalStatus{GTID: "0-1-10"}}
		if Accepting(f, seen, tc.config) != c {
			t.Errorf("%s, of a server that went on before it was copied", name)
		}
		c.Spec.BootstrapFrom = nil
		if Accepting(f, seen, tc.config) != c {
			t.Errorf("%s: it follows nothing", name)
		}
	}
}

// TestIndependentAgain: a cluster that has taken over, and has lost its status while its nodes accept writes by a lease
// only, or refuse them for another site, does not follow again: both would be given up.
func TestIndependentAgain(t *testing.T) {
	refuses := agentapi.Refusal{Switching: 3}
	for name, tc := range map[string]struct {
		of         agentapi.NodeConfig // with Follow.Until where none is given
		node, want bool
		server     bool   // a server was followed
		replaces   string // the cluster has begun anew
	}{
		"it has a lease":    {of: agentapi.NodeConfig{Lease: true}, want: true},
		"it refuses writes": {of: agentapi.NodeConfig{Refuse: true, Refusal: refuses}, want: true},
		"all have accepted writes": {of: agentapi.NodeConfig{Follow: &agentapi.Follow{Until: "0-1-9", Ended: true}},
			want: true},
		"all have, after another cutover": {of: agentapi.NodeConfig{Follow: &agentapi.Follow{Until: "0-1-8", Ended: true}}},
		"a node has a lease":              {of: agentapi.NodeConfig{Lease: true}, node: true, want: true},
		"a node refuses writes": {of: agentapi.NodeConfig{Refuse: true, Refusal: refuses}, node: true,
			want: true},
		"it has followed a server":          {of: agentapi.NodeConfig{Lease: true}, server: true, want: true},
		"nothing but the cutover":           {},
		"nothing but the cutover of a node": {node: true},
		"a server's cutover":                {server: true},
		"the lease of another cutover": {of: agentapi.NodeConfig{Lease: true,
			Follow: &agentapi.Follow{Until: "0-1-8"}}},
		"as above, of before it has begun anew": {of: agentapi.NodeConfig{UID: "x", Lease: true}, replaces: "4-bbbbbbbb"},
	} {
		for _, of := range []*v1alpha1.ReplicationStatus{nil, {Role: v1alpha1.RoleFollower, AcceptsAfter: "0-1-9"}} {
			c := &v1alpha1.GaleraCluster{Status: v1alpha1.GaleraClusterStatus{Replication: of}}
			c.Namespace, c.Name, c.UID = "site", "shop", "u"
			c.Spec.ReplicaOf = &v1alpha1.ReplicaOf{Replaces: tc.replaces}
			c.Spec.Cutover = &v1alpha1.CutoverSpec{GTID: "0-1-9", UID: "u"}
			if tc.server {
				c.Spec.ReplicaOf, c.Spec.Cutover.UID = nil, ""
				c.Spec.BootstrapFrom = &v1alpha1.BootstrapFrom{External: &v1alpha1.BootstrapExternal{Follow: true}}
			}
			f := Facts{Cluster: c, Pods: map[string]*corev1.Pod{"shop-0": {}},
				Claims: map[string]*corev1.PersistentVolumeClaim{"data-shop-0": {}}}
			n := tc.of
			n.Cluster, n.Namespace, n.Revision = "shop", "site", "r"
			if n.UID == "" {
				n.UID = "u"
			}
			if n.Follow == nil {
				n.Follow = &agentapi.Follow{Until: "0-1-9"}
			}
			seen := map[string]Seen{}
			if tc.node {
				seen["shop-0"] = Seen{Live: true, Report: agentapi.Report{Cluster: n.Identity(), Refusal: n.Refused(),
					ChannelUntil: n.Follow.Until, Lease: &agentapi.LeaseReport{Guarded: n.Lease}}}
				n = agentapi.NodeConfig{}
			}
			have := Accepting(f, seen, n)
			if have.Follows() == tc.want || c.Status.Replication != of || of != nil && of.Role != v1alpha1.RoleFollower {
				t.Errorf("%s: %+v", name, have.Status.Replication)
			}
			if tc.want && !have.TakesOver() {
				t.Errorf("%s: nodes do not accept writes", name)
			}
		}
	}
}
