package proxy

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// TestAccountsAreBounded: a state has so many accounts at most, and a status so many refusals. The oldest come first,
// and one whose password is not published yet is neither.
func TestAccountsAreBounded(t *testing.T) {
	f := facts()
	for i := range agentapi.MaxProxyUsers + maxRefused + 5 {
		f.Users = append(f.Users, user(fmt.Sprintf("u%05d", i), func(u *v1alpha1.GaleraUser) {
			u.CreationTimestamp = metav1.NewTime(time.Unix(int64(10000-i), 0))
		}))
	}
	s, refused := State(f)
	if len(s.Users) != agentapi.MaxProxyUsers || len(refused) != maxRefused {
		t.Errorf("%d accounts, %d refused", len(s.Users), len(refused))
	}
	newest := f.Users[len(f.Users)-1].Name
	if s.Users[0].Name != newest || !strings.Contains(refused[0].Message, fmt.Sprint(agentapi.MaxProxyUsers)) {
		t.Errorf("the first is %s, want %s: %v", s.Users[0].Name, newest, refused[0])
	}
	f.Password = func(*v1alpha1.GaleraUser) string { return "" }
	if s, refused = State(f); len(s.Users)+len(refused) != 0 {
		t.Errorf("%d accounts and %d refusals without passwords", len(s.Users), len(refused))
	}
}

// TestOneAccountOfAName: of two of one age, the namespace and the name decide; one that is refused for itself gets
// its own reason, and takes no name from another.
func TestOneAccountOfAName(t *testing.T) {
	f := facts()
	app := func(namespace, name string, change func(*v1alpha1.GaleraUser)) {
		u := user(name, change)
		u.Namespace, u.Spec.Name = namespace, "app"
		f.Users = append(f.Users, u)
	}
	app("zoo", "a", nil)
	app("demo", "z", nil)
	app("demo", "y", nil)
	app("demo", "x", func(u *v1alpha1.GaleraUser) { u.Spec.Require = v1alpha1.RequireX509 })
	app("zoo", "b", func(u *v1alpha1.GaleraUser) { u.Spec.Require = v1alpha1.RequireX509 })
	s, refused := State(f)
	if len(s.Users) != 1 || len(refused) != 4 {
		t.Fatalf("%v %v", s.Users, refused)
	}
	for _, r := range refused {
		want := "demo/y has an account"
		if r.Name == "x" || r.Name == "b" {
			want = "X509"
		}
		if !strings.Contains(r.Message, want) {
			t.Errorf("%s/%s: %q lacks %q", r.Namespace, r.Name, r.Message, want)
		}
	}
}

// TestStateFollowsTheSpec: what the proxy and the cluster ask for is in the state.
func TestStateFollowsTheSpec(t *testing.T) {
	f := facts()
	s, _ := State(f)
	if !s.Multiplexing || !s.RequireTLS || s.ServerVersion != "11.8.6-MariaDB" || s.MaxConnections != 50 ||
		s.MaxFrontendConnections != 2048 || s.Mode != agentapi.ProxyReadWriteSplit || s.WaitMilliseconds != 30000 ||
		*s.HoldAfterInsert != 5 {
		t.Errorf("%+v", s)
	}
	f.Proxy.Spec.Pool.WaitTimeout = &metav1.Duration{Duration: 2500 * time.Millisecond}
	f.Proxy.Spec.Pool.HoldAfterInsert = new(int32)
	if s, _ = State(f); s.WaitMilliseconds != 2500 || *s.HoldAfterInsert != 0 {
		t.Errorf("%+v", s)
	}
	f.Proxy.Spec.Pool.Multiplexing, f.Cluster.Spec.TLS.Clients = new(false), v1alpha1.TLSPreferred
	f.Cluster.Status.Primary = "shop-2"
	f.Cluster.Status.Members[2].Version = "11.9.1-MariaDB"
	if s, _ = State(f); s.Multiplexing || s.RequireTLS || s.ServerVersion != "11.9.1-MariaDB" {
		t.Errorf("%+v", s)
	}
	f.Proxy.Spec.Pool.Multiplexing = new(true)
	for i := range f.Cluster.Status.Members {
		f.Cluster.Status.Members[i].Version = ""
	}
	if s, _ = State(f); !s.Multiplexing || s.ServerVersion == "" {
		t.Errorf("%+v", s)
	}
}

// TestReadyWithoutPodsOrPrimary: no pods are asked for, and no primary is there to write to.
func TestReadyWithoutPodsOrPrimary(t *testing.T) {
	for name, tc := range map[string]struct {
		replicas int32
		primary  string
		mode     string
		ready    int32
		want     string
	}{
		"no pods":                    {0, "shop-0", v1alpha1.ProxyPrimary, 0, v1alpha1.ReasonScaledToZero},
		"no primary":                 {1, "", v1alpha1.ProxyPrimary, 1, v1alpha1.ReasonNoPrimaryKnown},
		"no primary, for reads only": {1, "", v1alpha1.ProxyReadOnly, 1, v1alpha1.ReasonReady},
		"all is well":                {1, "shop-0", v1alpha1.ProxyPrimary, 1, v1alpha1.ReasonReady},
		"a pod takes no clients yet": {1, "shop-0", v1alpha1.ProxyPrimary, 0, v1alpha1.ReasonProxyStarting},
	} {
		f := facts()
		f.Proxy.Spec.Replicas, f.Proxy.Spec.Mode, f.Cluster.Status.Primary = tc.replicas, tc.mode, tc.primary
		s, _ := State(f)
		got := Ready(f.Proxy, s, []Pod{{Name: "a", Report: &agentapi.ProxyReport{Revision: s.Revision}}}, tc.ready)
		if got.Reason != tc.want || got.True != (tc.want == v1alpha1.ReasonReady) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestSummaryAddsUp: the numbers of all pods are added, node by node.
func TestSummaryAddsUp(t *testing.T) {
	s, _ := State(facts())
	pod := Pod{Report: &agentapi.ProxyReport{Revision: s.Revision, Nodes: []agentapi.ProxyPool{
		{Name: "shop-1", Used: 1, Free: 2, Queries: 3, Errors: 4}}}}
	var to v1alpha1.GaleraProxyStatus
	Summary(s, []Pod{pod, {}, pod}, &to)
	got := to.Pools[1]
	if got.Used != 2 || got.Free != 4 || got.Queries != 6 || got.Errors != 8 || to.Pools[0].Used != 0 {
		t.Errorf("%+v", to.Pools)
	}
}

// TestEncryptedAsFarAsItIsAsked: a node that no statement is sent to is not to be proved, and a cluster that takes
// plaintext asks no proxy to refuse it.
func TestEncryptedAsFarAsItIsAsked(t *testing.T) {
	f := facts()
	f.Cluster.Status.Operation = &v1alpha1.OperationStatus{Target: "shop-1"}
	s, _ := State(f)
	now := time.Now()
	fact := agentapi.ChannelFact{Observed: agentapi.ObservedTLS, Verified: true, PlaintextRefused: true, CheckedAt: now}
	report := &agentapi.ProxyReport{Revision: s.Revision, Frontend: fact}
	for _, n := range s.Nodes {
		report.Nodes = append(report.Nodes, agentapi.ProxyPool{Name: n.Name, Backend: fact})
	}
	report.Nodes[1].Backend = agentapi.ChannelFact{Problem: "it is down"}
	pods := []Pod{{Name: "a", Report: report}}
	if got := Encrypted(f.Cluster, s, pods, now); !got.True {
		t.Errorf("with a node that is drained: %+v", got)
	}
	report.Frontend.PlaintextRefused = false
	if got := Encrypted(f.Cluster, s, pods, now); got.Reason != v1alpha1.ReasonPlaintextAccepted {
		t.Errorf("with plaintext: %+v", got)
	}
	f.Cluster.Spec.TLS.Clients = v1alpha1.TLSPreferred
	if got := Encrypted(f.Cluster, s, pods, now); !got.True {
		t.Errorf("of a cluster that takes plaintext: %+v", got)
	}
}

// TestLately: a proof that is not renewed counts for a while, also when the clock of another leader was ahead.
func TestLately(t *testing.T) {
	now := time.Unix(1.8e9, 0)
	for age, want := range map[time.Duration]bool{0: true, time.Minute: true, ProofLasts: true, ProofLasts + 1: false,
		-time.Minute: true, -ProofLasts - 1: false} {
		if got := Lately(&v1alpha1.ProxyProof{ProvedAt: metav1.NewTime(now.Add(-age))}, now); got != want {
			t.Errorf("after %s: %v", age, got)
		}
	}
	if Lately(nil, now) {
		t.Error("without a proof")
	}
}
