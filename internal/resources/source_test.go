package resources

import (
	"strings"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// TestSourceIsMounted: a cluster that follows mounts the named keys of the Secrets and nothing else of them, as files;
// another cluster mounts none. Its configuration has no password, and another server_id than a source's default.
func TestSourceIsMounted(t *testing.T) {
	c := &v1alpha1.GaleraCluster{}
	c.Name, c.Namespace, c.UID = "shop", "demo", "6b4c1a52-0000-11f0-a000-000000000000"
	from := &v1alpha1.BootstrapExternal{Host: "db", Port: 3306, CredentialsSecretRef: v1alpha1.LocalName{Name: "old"},
		TLS: &v1alpha1.ExternalTLS{CASecretRef: v1alpha1.LocalName{Name: "old-ca"}}}
	c.Spec.BootstrapFrom = &v1alpha1.BootstrapFrom{External: from}
	mounted := func() map[string]int {
		out := map[string]int{}
		for _, v := range podSpec(c, Options{}).Volumes {
			if s := v.Secret; s != nil && (s.SecretName == "old" || s.SecretName == "old-ca") {
				out[s.SecretName] = len(s.Items)
				if s.Optional == nil || !*s.Optional {
					t.Errorf("a pod would not start without the Secret %s", s.SecretName)
				}
			}
		}
		return out
	}
	if got := mounted(); len(got) != 0 || follow(c) != nil {
		t.Errorf("a cluster that does not follow: %v", got)
	}
	from.Follow = true
	if got := mounted(); len(got) != 2 || got["old"] != 2 || got["old-ca"] != 1 {
		t.Errorf("a cluster that follows: %v", got)
	}
	from.Alternatives = []v1alpha1.ExternalHost{{Host: "db2", Port: 3307}}
	f := follow(c)
	if got := f.Sources(); len(got) != 2 || got[0].String() != "db:3306" || got[1].String() != "db2:3307" {
		t.Errorf("it may follow %v", got)
	}
	if f == nil || f.Host != "db" || f.Plain || f.Until != "" || f.ServerID < 1<<31 {
		t.Errorf("%+v", f)
	}
	c.Spec.MariaDB.Events = v1alpha1.EventsFollowPrimary
	if NodeConfig(c, 3, TLSConfig(c), Options{}).RunEvents {
		t.Error("a cluster that follows runs events")
	}
	c.Spec.Cutover = &v1alpha1.CutoverSpec{GTID: "0-1-7"} // by an earlier build
	c.Status.Replication = &v1alpha1.ReplicationStatus{Role: v1alpha1.RoleIndependent}
	if n := NodeConfig(c, 3, TLSConfig(c), Options{}); !n.RunEvents || n.Follow.Until != "0-1-7" ||
		!n.Follow.Ended {
		t.Errorf("after the cutover: %+v", n.Follow)
	}
}

// TestNoCutoverWhileEmptied: no cutover reaches the nodes of a cluster whose volumes are being removed.
func TestNoCutoverWhileEmptied(t *testing.T) {
	c := shop()
	c.Spec.BootstrapFrom = &v1alpha1.BootstrapFrom{External: &v1alpha1.BootstrapExternal{Host: "db", Follow: true}}
	c.Spec.Cutover = &v1alpha1.CutoverSpec{GTID: "0-1-7", UID: string(c.UID)}
	for phase, want := range map[string]string{v1alpha1.ReseedRefused: "0-1-7", v1alpha1.ReseedEmptying: "",
		v1alpha1.ReseedCopying: "0-1-7", v1alpha1.ReseedCompleted: "0-1-7"} {
		c.Status.Reseed = &v1alpha1.ReseedStatus{Phase: phase}
		if got := follow(c).Until; got != want {
			t.Errorf("%s: %q, want %q", phase, got, want)
		}
	}
}

// TestCutoverOfAnotherCluster: a manifest with the cutover of a cluster before has no node accept writes, and no
// channel end: the server goes on. Where nodes may have accepted writes nothing after it is applied.
func TestCutoverOfAnotherCluster(t *testing.T) {
	copied := func(c *v1alpha1.GaleraCluster) {
		c.Status.Restore = &v1alpha1.RestoreStatus{Phase: v1alpha1.RestoreCompleted}
	}
	is := func(role, after string) func(*v1alpha1.GaleraCluster) {
		return func(c *v1alpha1.GaleraCluster) {
			copied(c)
			c.Status.Replication = &v1alpha1.ReplicationStatus{Role: role, AcceptsAfter: after}
		}
	}
	for name, tc := range map[string]struct {
		uid         string
		edit        func(*v1alpha1.GaleraCluster)
		until, hold string
	}{
		"its own":                      {uid: string(shop().UID), edit: copied, until: "0-1-7"},
		"another one's":                {uid: "x", edit: copied},
		"no one's":                     {edit: copied},
		"another one's, later":         {uid: "x", edit: is(v1alpha1.RoleFollower, "")},
		"it has ended by it":           {edit: is(v1alpha1.RoleIndependent, ""), until: "0-1-7"},
		"nodes accept writes after it": {edit: is(v1alpha1.RoleFollower, "0-1-7"), until: "0-1-7"},
		"nodes accept writes after another one, which was given up": {edit: is(v1alpha1.RoleFollower, "0-1-9"),
			until: "0-1-7"},
		"its status is lost": {edit: func(*v1alpha1.GaleraCluster) {}, hold: "0-1-7"},
		"its status is lost, its identity is not": {uid: "i", until: "0-1-7",
			edit: func(c *v1alpha1.GaleraCluster) { c.Status.Identity = "i" }},
	} {
		c := shop()
		c.Spec.BootstrapFrom = &v1alpha1.BootstrapFrom{External: &v1alpha1.BootstrapExternal{Host: "db", Follow: true}}
		c.Spec.Cutover = &v1alpha1.CutoverSpec{GTID: "0-1-7", UID: tc.uid}
		tc.edit(c)
		if f := follow(c); f.Until != tc.until || f.Hold != tc.hold ||
			f.Ended != strings.HasPrefix(name, "it has ended") {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// TestFollowersBinaryLogEnds: the binary log that a cluster has because it follows a source does not fill the volume,
// and a power cut of all nodes costs no transaction.
func TestFollowersBinaryLogEnds(t *testing.T) {
	c := shop()
	if have := Settings(c); have != nil {
		t.Errorf("a cluster that does not follow: %v", have)
	}
	c.Spec.BootstrapFrom = &v1alpha1.BootstrapFrom{External: &v1alpha1.BootstrapExternal{Host: "db", Follow: true}}
	c.Spec.MariaDB.Config = map[string]v1alpha1.Setting{"max-binlog-size": {Text: "64M"}}
	have := Settings(c)
	for name, want := range map[string]string{"sync_binlog": "1", "binlog_expire_logs_seconds": "259200",
		"max-binlog-size": "64M", "max_binlog_size": ""} {
		if have[name] != want {
			t.Errorf("%s is %q instead of %q", name, have[name], want)
		}
	}
	if have["loose_max_binlog_total_size"] == "" {
		t.Error("the binary log may fill the volume")
	}
}

// TestHold: the annotation of a comparison reaches the nodes as it is. What is no position or no time holds nothing.
func TestHold(t *testing.T) {
	for _, tc := range []struct {
		of   string
		held bool
	}{
		{"now@2026-01-02T03:04:05Z", true},
		{"0-1-7@2026-01-02T03:04:05Z", true},
		{"0-1-7,3-1-9@2026-01-02T03:04:05Z", true},
		{"now", false},
		{"now@tomorrow", false},
		{"0-1@2026-01-02T03:04:05Z", false},
		{"0-1-7'; DROP@2026-01-02T03:04:05Z", false},
		{"", false},
	} {
		at, ends := hold(tc.of)
		got := agentapi.Follow{Hold: at, HoldEnds: ends}.Held()
		if want := tc.of; got != want && tc.held || got != "" && !tc.held {
			t.Errorf("%q: %q", tc.of, got)
		}
	}
}

// TestEgressToSource: the nodes of a cluster that follows may connect to the source, and to nothing else for that. With
// an address it is that one, with a name its port. It ends with the cutover.
func TestEgressToSource(t *testing.T) {
	for name, tc := range map[string]struct{ host, role, want string }{
		"a name":             {"db.example.com", v1alpha1.RoleFollower, "3307 anywhere"},
		"an address":         {"192.0.2.7", v1alpha1.RoleFollower, "3307 192.0.2.7/32"},
		"an address of IPv6": {"2001:db8::7", "", "3307 2001:db8::7/128"},
		"it is independent":  {"192.0.2.7", v1alpha1.RoleIndependent, ""},
		"several": {"192.0.2.7, db2, 192.0.2.8", v1alpha1.RoleFollower, "3307 192.0.2.7/32, 3307 anywhere, " +
			"3307 192.0.2.8/32"},
		"it follows no other": {"", "", ""},
	} {
		c := &v1alpha1.GaleraCluster{}
		c.Name, c.Namespace = "shop", "demo"
		c.Spec.NetworkPolicy.RestrictEgress = true
		if tc.host != "" {
			from := &v1alpha1.BootstrapExternal{Follow: true}
			for i, host := range strings.Split(tc.host, ", ") {
				if from.Port = 3307; i == 0 {
					from.Host = host
					continue
				}
				from.Alternatives = append(from.Alternatives, v1alpha1.ExternalHost{Host: host, Port: 3307})
			}
			c.Spec.BootstrapFrom = &v1alpha1.BootstrapFrom{External: from}
		}
		if tc.role != "" {
			c.Status.Replication = &v1alpha1.ReplicationStatus{Role: tc.role}
		}
		var rules []string
		for _, rule := range NetworkPolicy(c, Options{}).Spec.Egress {
			if len(rule.Ports) != 1 || rule.Ports[0].Port.IntValue() != 3307 {
				continue
			}
			to := "anywhere"
			if len(rule.To) == 1 {
				to = rule.To[0].IPBlock.CIDR
			}
			rules = append(rules, "3307 "+to)
		}
		if got := strings.Join(rules, ", "); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestTakingOver: a cluster that takes over applies nothing after its last transaction, and learns only once that is
// recorded that it may accept writes. One that another cluster has taken over from refuses them.
func TestTakingOver(t *testing.T) {
	c := shop()
	c.Spec.ReplicaOf, c.Spec.Cutover = &v1alpha1.ReplicaOf{}, &v1alpha1.CutoverSpec{GTID: "0-1-9", UID: string(c.UID)}
	c.Status.Replication = &v1alpha1.ReplicationStatus{Role: v1alpha1.RoleFollower}
	if f := follow(c); f.Until != "" || f.Hold != "0-1-9" || f.HoldEnds.Before(time.Now().AddDate(1000, 0, 0)) {
		t.Errorf("%+v", f)
	}
	c.Status.Replication.Promotion = &v1alpha1.PromotionRecord{ID: "1-bbbbbbbb", GTID: "0-1-9"}
	if f := follow(c); f.Until != "0-1-9" || f.Hold != "" {
		t.Errorf("%+v", f)
	}
	c = shop()
	c.Spec.MariaDB.Events = v1alpha1.EventsFollowPrimary
	of := func() agentapi.NodeConfig { return NodeConfig(c, 3, TLSConfig(c), Options{}) }
	before := of()
	c.Status.Superseded = &v1alpha1.SupersededStatus{ID: "1-bbbbbbbb"}
	n := of()
	if before.Refuse || !before.RunEvents || !n.Refuse || n.RunEvents || n.Revision == before.Revision ||
		!strings.Contains(n.SupersededBy, `"id":"1-bbbbbbbb"`) {
		t.Errorf("%+v", n)
	}
	c.Status.Superseded.Surplus, c.Status.Superseded.CountedBy = new(int64(7)), v1alpha1.CountedByLines
	if of().Revision != n.Revision {
		t.Error("nodes are given anything new for what the other cluster lacks")
	}
	c.Spec.OverrulesPromotion = "1-bbbbbbbb"
	if n := of(); n.Refuse || n.Refusal != (agentapi.Refusal{}) {
		t.Error("refuses writes though that was overruled")
	}
	c.Status.SwitchSite = &v1alpha1.SwitchSiteStatus{Number: 3, Phase: v1alpha1.SwitchOffered, From: "u"}
	if n := of(); !n.Refuse || n.Switching != 3 || n.SwitchingFrom != "u" || n.RunEvents {
		t.Errorf("another site is to take over: %+v", n)
	}
	if c.Status.SwitchSite.Phase = v1alpha1.SwitchTakenBack; of().Refuse || of().Switching != 0 {
		t.Error("refuses writes though that was taken back")
	}
}
