package proxy

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

func facts() Facts {
	c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Name: "shop", Namespace: "demo", UID: "cluster"}}
	c.Spec.TLS.Clients = v1alpha1.TLSRequired
	c.Status.Primary = "shop-0"
	for _, name := range []string{"shop-0", "shop-1", "shop-2"} {
		c.Status.Members = append(c.Status.Members, v1alpha1.MemberStatus{Name: name, NodeState: synced,
			ComponentState: primaryComponent, Version: "11.8.6-MariaDB"})
	}
	p := &v1alpha1.GaleraProxy{ObjectMeta: metav1.ObjectMeta{Name: "pool", Namespace: "demo"}}
	p.Spec = v1alpha1.GaleraProxySpec{Mode: v1alpha1.ProxyReadWriteSplit, Replicas: 2,
		Pool: v1alpha1.ProxyPoolSpec{MaxConnections: 50, MaxFrontendConnections: 2048, HoldAfterInsert: new(int32(5))}}
	return Facts{Proxy: p, Cluster: c, CA: "ca", ControlCA: "control",
		Addresses:  map[string]string{"shop-0": "10.0.0.1", "shop-1": "10.0.0.2", "shop-2": "10.0.0.3"},
		ServerName: func(node string) string { return node + ".svc" },
		Password:   func(*v1alpha1.GaleraUser) string { return "secret" }}
}

func user(name string, change func(*v1alpha1.GaleraUser)) v1alpha1.GaleraUser {
	u := v1alpha1.GaleraUser{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "demo", UID: "user"}}
	u.Spec = v1alpha1.GaleraUserSpec{Plugin: v1alpha1.PluginNative, Require: v1alpha1.RequireTLS, Host: "%"}
	u.Status.Account = "'" + name + "'@'%'"
	if change != nil {
		change(&u)
	}
	return u
}

// TestNodes: the node behind NAME-primary is the writer, and there is never another one; readers are seen to be Synced.
func TestNodes(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Facts)
		want   map[string]string
	}{
		"all are Synced": {func(*Facts) {}, map[string]string{"shop-0": "Writer", "shop-1": "Reader", "shop-2": "Reader"}},
		"without a status they stay as they were, while their pods are there": {func(f *Facts) {
			f.Before, _ = State(*f)
			f.Cluster.Status.Members, f.Cluster.Status.Primary, f.Addresses["shop-2"] = nil, "", "10.0.0.9"
		}, map[string]string{"shop-0": "Writer", "shop-1": "Reader"}},
		"a donor is no reader": {func(f *Facts) { f.Cluster.Status.Members[1].NodeState = "Donor" },
			map[string]string{"shop-0": "Writer", "shop-1": "Draining", "shop-2": "Reader"}},
		"a node that does not answer is no reader": {func(f *Facts) { f.Cluster.Status.Members[1].NodeState = "" },
			map[string]string{"shop-0": "Writer", "shop-1": "Draining", "shop-2": "Reader"}},
		"a non-Primary node is no reader": {func(f *Facts) { f.Cluster.Status.Members[2].ComponentState = "non-Primary" },
			map[string]string{"shop-0": "Writer", "shop-1": "Reader", "shop-2": "Draining"}},
		"a node that lags is no reader": {func(f *Facts) { f.Cluster.Status.Members[1].Lagging = true },
			map[string]string{"shop-0": "Writer", "shop-1": "Draining", "shop-2": "Reader"}},
		"readers that all lag stay": {func(f *Facts) {
			f.Cluster.Status.Members[1].Lagging, f.Cluster.Status.Members[2].Lagging = true, true
		}, map[string]string{"shop-0": "Writer", "shop-1": "Reader", "shop-2": "Reader"}},
		"the last reader stays": {func(f *Facts) {
			f.Cluster.Status.Members[1].Lagging, f.Cluster.Status.Members[2].NodeState = true, "Donor"
		}, map[string]string{"shop-0": "Writer", "shop-1": "Reader", "shop-2": "Draining"}},
		"a primary that lags stays the writer": {func(f *Facts) {
			f.Cluster.Status.Members[0].Lagging, f.Cluster.Status.Members[1].Lagging = true, true
		}, map[string]string{"shop-0": "Writer", "shop-1": "Draining", "shop-2": "Reader"}},
		"without readers the writer reads": {func(f *Facts) {
			f.Cluster.Status.Members[1].NodeState, f.Cluster.Status.Members[2].NodeState = "Joining", ""
		}, map[string]string{"shop-0": "Both", "shop-1": "Draining", "shop-2": "Draining"}},
		"a primary whose state is not known stays the writer": {func(f *Facts) {
			f.Cluster.Status.Members[0].NodeState, f.Cluster.Status.Members[0].ComponentState = "", ""
		}, map[string]string{"shop-0": "Writer", "shop-1": "Reader", "shop-2": "Reader"}},
		"a node is drained before an operation restarts it": {func(f *Facts) {
			f.Cluster.Status.Operation = &v1alpha1.OperationStatus{Target: "shop-1"}
		}, map[string]string{"shop-0": "Writer", "shop-1": "Draining", "shop-2": "Reader"}},
		"a node is drained before its pod ends": {func(f *Facts) { f.Terminating = map[string]bool{"shop-2": true} },
			map[string]string{"shop-0": "Writer", "shop-1": "Reader", "shop-2": "Draining"}},
		"all are drained before the cluster is hibernated": {func(f *Facts) {
			f.Cluster.Status.Operation = &v1alpha1.OperationStatus{Type: "Hibernate"}
		}, map[string]string{"shop-0": "Both", "shop-1": "Draining", "shop-2": "Draining"}},
		"all but one are drained before they stop together": {func(f *Facts) {
			f.Cluster.Status.Operation = &v1alpha1.OperationStatus{Target: "shop-0", Step: v1alpha1.SwitchRebootstrap}
		}, map[string]string{"shop-0": "Both", "shop-1": "Draining", "shop-2": "Draining"}},
		"the primary moves": {func(f *Facts) { f.Cluster.Status.Primary = "shop-2" },
			map[string]string{"shop-0": "Reader", "shop-1": "Reader", "shop-2": "Writer"}},
		"no primary, no writer": {func(f *Facts) { f.Cluster.Status.Primary = "" },
			map[string]string{"shop-0": "Reader", "shop-1": "Reader", "shop-2": "Reader"}},
		"a node without an address is left out": {func(f *Facts) { delete(f.Addresses, "shop-2") },
			map[string]string{"shop-0": "Writer", "shop-1": "Reader"}},
	} {
		f := facts()
		tc.change(&f)
		s, _ := State(f)
		got := map[string]string{}
		for _, n := range s.Nodes {
			got[n.Name] = role(n)
		}
		if !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
		s.Revision = 1
		if err := s.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAccounts: a user that a proxy cannot log in for is named with the reason, and no password is in a state.
func TestAccounts(t *testing.T) {
	f := facts()
	old := metav1.NewTime(time.Unix(1000, 0))
	f.Users = []v1alpha1.GaleraUser{
		user("second", func(u *v1alpha1.GaleraUser) { u.Spec.Name = "app" }),
		user("app", func(u *v1alpha1.GaleraUser) {
			u.CreationTimestamp, u.Spec.Limits.MaxUserConnections = old, 3
		}),
		user("plain", func(u *v1alpha1.GaleraUser) { u.Spec.Require = v1alpha1.RequireNone }),
		user("cert", func(u *v1alpha1.GaleraUser) { u.Spec.Require = v1alpha1.RequireX509 }),
		user("parsec", func(u *v1alpha1.GaleraUser) { u.Spec.Plugin = v1alpha1.PluginParsec }),
		user("local", func(u *v1alpha1.GaleraUser) { u.Spec.Host = "10.1.%" }),
		user("new", func(u *v1alpha1.GaleraUser) { u.Status.Account = "" }),
		user("gone", func(u *v1alpha1.GaleraUser) { u.DeletionTimestamp = &old }),
		user("shop-archiver", func(u *v1alpha1.GaleraUser) {
			u.Spec.Require = v1alpha1.RequireX509
			u.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(f.Cluster,
				v1alpha1.GroupVersion.WithKind("GaleraCluster"))}
		}),
	}
	f.Users[1].CreationTimestamp = old
	for i := range f.Users {
		if f.Users[i].CreationTimestamp.IsZero() {
			f.Users[i].CreationTimestamp = metav1.NewTime(time.Unix(2000, 0))
		}
	}
	s, refused := State(f)
	hash := agentapi.NativeHash("secret")
	want := []agentapi.ProxyUser{{Name: "app", Hash: hash, TLS: true, MaxConnections: 3}, {Name: "plain", Hash: hash}}
	if !reflect.DeepEqual(s.Users, want) {
		t.Errorf("%+v", s.Users)
	}
	why := map[string]string{}
	for _, r := range refused {
		why[r.Name] = r.Message
	}
	for name, part := range map[string]string{"cert": "X509", "parsec": "parsec", "local": "10.1.%",
		"second": "demo/app"} {
		if !strings.Contains(why[name], part) {
			t.Errorf("%s: %q", name, why[name])
		}
	}
	if len(why) != 4 {
		t.Errorf("%v", why)
	}
}

// TestSame: every field of a state counts but its revision. One that did not would never reach the pods.
func TestSame(t *testing.T) {
	f := facts()
	f.Users = []v1alpha1.GaleraUser{user("app", nil)}
	s, _ := State(f)
	kind := reflect.TypeFor[agentapi.ProxyState]()
	for i := range kind.NumField() {
		other := s
		v := reflect.ValueOf(&other).Elem().Field(i)
		switch v.Kind() {
		case reflect.String:
			v.SetString("other")
		case reflect.Bool:
			v.SetBool(!v.Bool())
		case reflect.Int64, reflect.Int32:
			v.SetInt(v.Int() + 1)
		case reflect.Slice:
			v.Set(v.Slice(0, 0))
		case reflect.Pointer:
			v.Set(reflect.New(v.Type().Elem()))
		default:
			t.Fatal(v.Kind())
		}
		if same := Same(s, other); same != (kind.Field(i).Name == "Revision") {
			t.Errorf("%s: same %v", kind.Field(i).Name, same)
		}
	}
}

// TestVerdicts: a proxy is Ready when every pod runs with the state, and Encrypted when each channel was proved.
func TestVerdicts(t *testing.T) {
	f := facts()
	s, _ := State(f)
	s.Revision = 7
	now := time.Unix(1.8e9, 0)
	good := func() *agentapi.ProxyReport {
		fact := agentapi.ChannelFact{Observed: agentapi.ObservedTLS, Verified: true, PlaintextRefused: true,
			CheckedAt: now.Add(-time.Second), Serial: "0a"}
		r := &agentapi.ProxyReport{Revision: 7, Clients: 2, Waiting: 1, Frontend: fact}
		for _, n := range s.Nodes {
			r.Nodes = append(r.Nodes, agentapi.ProxyPool{Name: n.Name, Used: 1, Opened: 2, Backend: fact})
		}
		return r
	}
	for name, tc := range map[string]struct {
		change           func(pods []Pod) []Pod
		ready, encrypted string
	}{
		"all is well": {func(p []Pod) []Pod { return p }, v1alpha1.ReasonReady, v1alpha1.ReasonProved},
		"a pod does not answer": {func(p []Pod) []Pod { p[1].Report = nil; return p }, v1alpha1.ReasonProxyStarting,
			v1alpha1.ReasonNotYetProved},
		"a pod is missing": {func(p []Pod) []Pod { return p[:1] }, v1alpha1.ReasonProxyStarting, v1alpha1.ReasonProved},
		"no pod":           {func([]Pod) []Pod { return nil }, v1alpha1.ReasonProxyStarting, v1alpha1.ReasonNotYetProved},
		"an old state": {func(p []Pod) []Pod { p[0].Report.Revision = 6; return p }, v1alpha1.ReasonProxyOutdated,
			v1alpha1.ReasonNotYetProved},
		"ProxySQL does not start": {func(p []Pod) []Pod { p[0].Report.Problem = "no such file"; return p },
			v1alpha1.ReasonProxyFailing, v1alpha1.ReasonNotYetProved},
		"plaintext is accepted": {func(p []Pod) []Pod { p[1].Report.Frontend.PlaintextRefused = false; return p },
			v1alpha1.ReasonReady, v1alpha1.ReasonPlaintextAccepted},
		"another CA": {func(p []Pod) []Pod { p[1].Report.Frontend.Verified = false; return p }, v1alpha1.ReasonReady,
			v1alpha1.ReasonPeerUnverified},
		"a node of another CA": {func(p []Pod) []Pod { p[1].Report.Nodes[2].Backend.Verified = false; return p },
			v1alpha1.ReasonReady, v1alpha1.ReasonPeerUnverified},
		"a node without TLS": {func(p []Pod) []Pod {
			p[1].Report.Nodes[2].Backend.Observed = agentapi.ObservedPlaintext
			return p
		}, v1alpha1.ReasonReady, v1alpha1.ReasonPlaintextAccepted},
		"an old proof of the port": {func(p []Pod) []Pod { p[1].Report.Frontend.CheckedAt = now.Add(-time.Hour); return p },
			v1alpha1.ReasonReady, v1alpha1.ReasonNotYetProved},
		"an old proof of a node": {func(p []Pod) []Pod {
			p[0].Report.Nodes[1].Backend.CheckedAt = now.Add(-time.Hour)
			return p
		}, v1alpha1.ReasonReady, v1alpha1.ReasonNotYetProved},
		"a node in use that a pod does not know": {func(p []Pod) []Pod {
			p[1].Report.Nodes = p[1].Report.Nodes[:2]
			return p
		}, v1alpha1.ReasonReady, v1alpha1.ReasonNotYetProved},
		"a pod that could not ask its ProxySQL": {func(p []Pod) []Pod {
			p[1].Report.Nodes, p[1].Report.Problem = nil, "the admin interface does not answer"
			return p
		}, v1alpha1.ReasonProxyFailing, v1alpha1.ReasonNotYetProved},
		"a node that was not asked": {func(p []Pod) []Pod { p[1].Report.Nodes[0].Backend.Observed = ""; return p },
			v1alpha1.ReasonReady, v1alpha1.ReasonNotYetProved},
	} {
		pods := tc.change([]Pod{{Name: "a", Report: good()}, {Name: "b", Report: good()}})
		ready, encrypted := Ready(f.Proxy, s, pods, 2), Encrypted(f.Cluster, s, pods, now)
		if ready.Reason != tc.ready || encrypted.Reason != tc.encrypted ||
			ready.True != (tc.ready == v1alpha1.ReasonReady) || encrypted.True != (tc.encrypted == v1alpha1.ReasonProved) {
			t.Errorf("%s: %+v %+v", name, ready, encrypted)
		}
	}
	var to v1alpha1.GaleraProxyStatus
	Summary(s, []Pod{{Report: good()}, {Report: good()}}, &to)
	if to.Clients != 4 || to.Waiting != 2 || to.Pools[0].Opened != 4 || to.Primary != "shop-0" ||
		len(to.Pools) != 3 || to.Pools[0].Used != 2 ||
		to.CertificateSerial != "0a" || to.Pools[1].CertificateSerial != "0a" {
		t.Errorf("%+v", to)
	}
	renewed := good()
	renewed.Frontend.Serial, renewed.Nodes[1].Backend.Serial = "0b", ""
	if Summary(s, []Pod{{Report: good()}, {Report: renewed}}, &to); to.CertificateSerial != "" ||
		to.Pools[1].CertificateSerial != "" || to.Pools[2].CertificateSerial != "0a" {
		t.Errorf("pods that have seen different certificates: %+v", to)
	}
	old := good()
	old.Revision = 6
	if Summary(s, []Pod{{Report: good()}, {Report: old}}, &to); to.Primary != "" {
		t.Errorf("pods that differ name the primary %q", to.Primary)
	}
}

// TestRevision: a state that follows another is above all that pods know, whatever the clock shows.
func TestRevision(t *testing.T) {
	s, _ := State(facts())
	published := func(revision int64, primary string) agentapi.ProxyState {
		f := facts()
		f.Cluster.Status.Primary = primary
		before, _ := State(f)
		before.Revision = revision
		return before
	}
	now := time.UnixMilli(1000)
	for name, tc := range map[string]struct {
		before agentapi.ProxyState
		known  int64
		want   int64
	}{
		"the first one":                                {agentapi.ProxyState{}, 0, 1000},
		"nothing differs":                              {published(900, "shop-0"), 900, 900},
		"the primary has moved":                        {published(900, "shop-1"), 900, 1000},
		"the clock was set back":                       {published(5000, "shop-1"), 5000, 5001},
		"the clock was set back, and no pod answers":   {published(5000, "shop-1"), 0, 5001},
		"the published state was deleted":              {agentapi.ProxyState{}, 5000, 5001},
		"a pod knows a newer one, and nothing differs": {published(900, "shop-0"), 5000, 5001},
		"no pod has heard of the published one yet":    {published(900, "shop-0"), 0, 900},
		"the pods are behind":                          {published(5000, "shop-0"), 900, 5000},
	} {
		if got := Revision(tc.before, s, tc.known, now); got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
	}
}

// TestOnlyCounts: every field of a status but the numbers that change all the time has it written at once.
func TestOnlyCounts(t *testing.T) {
	base := v1alpha1.GaleraProxyStatus{Primary: "shop-0", Clients: 1, Proof: &v1alpha1.ProxyProof{
		Clients: v1alpha1.TLSRequired},
		Pools: []v1alpha1.ProxyPoolStatus{{Name: "shop-0", Role: "Writer", Used: 1, Queries: 10}}}
	for name, tc := range map[string]struct {
		change func(*v1alpha1.GaleraProxyStatus)
		counts bool
	}{
		"clients":    {func(s *v1alpha1.GaleraProxyStatus) { s.Clients = 9 }, true},
		"queries":    {func(s *v1alpha1.GaleraProxyStatus) { s.Pools[0].Queries++ }, true},
		"errors":     {func(s *v1alpha1.GaleraProxyStatus) { s.Pools[0].Errors++ }, true},
		"used":       {func(s *v1alpha1.GaleraProxyStatus) { s.Pools[0].Used, s.Pools[0].Free = 0, 1 }, true},
		"the role":   {func(s *v1alpha1.GaleraProxyStatus) { s.Pools[0].Role = "Draining" }, false},
		"a node":     {func(s *v1alpha1.GaleraProxyStatus) { s.Pools = append(s.Pools, v1alpha1.ProxyPoolStatus{}) }, false},
		"primary":    {func(s *v1alpha1.GaleraProxyStatus) { s.Primary = "" }, false},
		"users":      {func(s *v1alpha1.GaleraProxyStatus) { s.Users++ }, false},
		"ready pods": {func(s *v1alpha1.GaleraProxyStatus) { s.ReadyReplicas++ }, false},
		"conditions": {func(s *v1alpha1.GaleraProxyStatus) { s.Conditions = []metav1.Condition{{Type: "Ready"}} }, false},
		"when it was proved": {func(s *v1alpha1.GaleraProxyStatus) {
			s.Proof = &v1alpha1.ProxyProof{Clients: v1alpha1.TLSRequired, ProvedAt: metav1.Now()}
		}, true},
		"what was proved": {func(s *v1alpha1.GaleraProxyStatus) {
			s.Proof = &v1alpha1.ProxyProof{Clients: v1alpha1.TLSPreferred}
		}, false},
		"nothing is proved": {func(s *v1alpha1.GaleraProxyStatus) { s.Proof = nil }, false},
	} {
		next := *base.DeepCopy()
		tc.change(&next)
		if got := OnlyCounts(base, next); got != tc.counts {
			t.Errorf("%s: only counts %v", name, got)
		}
		if base.Pools[0].Queries != 10 {
			t.Fatal("the comparison changes a status")
		}
	}
}

// TestNeverTwoWriters: whatever is reported of the members, a published state has one writer at most, which is the
// primary; who is not seen to be Synced reads nothing that another one could.
func TestNeverTwoWriters(t *testing.T) {
	states := []string{"Synced", "Donor", "Joined", "Joining", "", "Disconnected"}
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 45))
		f := facts()
		f.Cluster.Status.Primary = []string{"", "shop-0", "shop-1", "shop-2", "gone-7"}[r.IntN(5)]
		for i := range f.Cluster.Status.Members {
			m := &f.Cluster.Status.Members[i]
			m.NodeState, m.ComponentState = states[r.IntN(len(states))], []string{"Primary", "non-Primary", ""}[r.IntN(3)]
			if r.IntN(4) == 0 {
				delete(f.Addresses, m.Name)
			}
		}
		if r.IntN(2) == 0 {
			f.Cluster.Status.Operation = &v1alpha1.OperationStatus{Target: f.Cluster.Status.Members[r.IntN(3)].Name}
		}
		s, _ := State(f)
		s.Revision = 1
		if err := s.Check(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		writers := 0
		for _, n := range s.Nodes {
			var m v1alpha1.MemberStatus
			for _, m = range f.Cluster.Status.Members {
				if m.Name == n.Name {
					break
				}
			}
			healthy := m.NodeState == "Synced" && m.ComponentState == "Primary"
			leaving := f.Cluster.Status.Operation != nil && f.Cluster.Status.Operation.Target == n.Name
			switch {
			case n.Writer && n.Name != f.Cluster.Status.Primary:
				t.Fatalf("seed %d: %s is written to, and the primary is %q", seed, n.Name, f.Cluster.Status.Primary)
			case n.Reader && !n.Writer && (!healthy || leaving):
				t.Fatalf("seed %d: %s reads in the state %+v, leaving: %v", seed, n.Name, m, leaving)
			case n.Writer:
				writers++
			}
		}
		if writers > 1 {
			t.Fatalf("seed %d: %d writers", seed, writers)
		}
	}
}
