package proxy

import (
	"maps"
	"testing"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// TestDrained: a node that is to stop counts as used until every pod that may have connections has loaded the state
// without it, and has none in use.
func TestDrained(t *testing.T) {
	f := facts()
	f.Cluster.Status.Operation = &v1alpha1.OperationStatus{Target: "shop-1"}
	s, _ := State(f)
	s.Revision = 7
	pod := func() Pod {
		r := &agentapi.ProxyReport{Revision: 7}
		for _, n := range s.Nodes {
			r.Nodes = append(r.Nodes, agentapi.ProxyPool{Name: n.Name, Free: 3})
		}
		r.Nodes[0].Used, r.Nodes[2].Used = 5, 5
		return Pod{Name: "a", Running: true, Report: r}
	}
	for name, tc := range map[string]struct {
		change func(*Pod)
		used   bool
	}{
		"it has loaded the state, and no connection is in use": {func(*Pod) {}, false},
		"it has an earlier state":                              {func(p *Pod) { p.Report.Revision = 6 }, true},
		"a statement goes on":                                  {func(p *Pod) { p.Report.Nodes[1].Used = 1 }, true},
		"it does not answer":                                   {func(p *Pod) { p.Report = nil }, true},
		"it has not been started":                              {func(p *Pod) { p.Report, p.Running = nil, false }, false},
		"it ends, and a statement goes on": {func(p *Pod) {
			p.Terminating, p.Report.Nodes[1].Used = true, 1
		}, true},
		"it ends, and does not answer": {func(p *Pod) { p.Terminating, p.Report = true, nil }, true},
		"it could not ask its ProxySQL": {func(p *Pod) {
			p.Report.Nodes, p.Report.Problem = nil, "the admin interface does not answer"
		}, true},
		"it has forgotten the node": {func(p *Pod) { p.Report.Nodes = p.Report.Nodes[:1] }, false},
	} {
		p := v1alpha1.GaleraProxy{}
		p.Spec.ClusterRef.Name = "shop"
		changed := pod()
		tc.change(&changed)
		Summary(s, []Pod{pod(), changed}, &p.Status)
		want := map[string]bool{"shop-0": true, "shop-2": true}
		if tc.used {
			want["shop-1"] = true
		}
		if got := Used("shop", []v1alpha1.GaleraProxy{p}); !maps.Equal(got, want) {
			t.Errorf("%s: %v are used", name, got)
		}
		if Draining(&p.Status) != tc.used {
			t.Errorf("%s: draining %v", name, !tc.used)
		}
		if got := Used("other", []v1alpha1.GaleraProxy{p}); len(got) > 0 {
			t.Errorf("%s: %v of another cluster", name, got)
		}
	}
}

// TestNothingIsUsedWithoutPods: a proxy without pods holds up no node that stops, and neither does an absent one.
func TestNothingIsUsedWithoutPods(t *testing.T) {
	f := facts()
	f.Terminating = map[string]bool{"shop-0": true, "shop-1": true, "shop-2": true}
	f.Cluster.Status.Primary = ""
	s, _ := State(f)
	p := v1alpha1.GaleraProxy{}
	p.Spec.ClusterRef.Name = "shop"
	Summary(s, nil, &p.Status)
	if got := Used("shop", []v1alpha1.GaleraProxy{p}); len(got) > 0 {
		t.Error(got)
	}
	if got := Used("shop", nil); len(got) > 0 {
		t.Error(got)
	}
}

// TestAPodThatEndsCounts: it is neither missing nor in the way, and its connections are counted.
func TestAPodThatEndsCounts(t *testing.T) {
	s, _ := State(facts())
	s.Revision = 7
	report := &agentapi.ProxyReport{Revision: 7, Clients: 2, Nodes: []agentapi.ProxyPool{{Name: "shop-0", Used: 1}}}
	var to v1alpha1.GaleraProxyStatus
	Summary(s, []Pod{{Report: report}, {Report: report, Terminating: true}}, &to)
	if to.Clients != 4 || to.Primary != "shop-0" || to.Pools[0].Used != 2 {
		t.Errorf("%+v", to)
	}
	if Summary(s, []Pod{{Report: report}, {Terminating: true}}, &to); to.Primary != "shop-0" {
		t.Error("a pod that ends, and does not answer, hides the primary")
	}
	if Summary(s, []Pod{{Report: report, Terminating: true}}, &to); to.Primary != "" {
		t.Error("no pod that lasts, and a primary")
	}
	if got := Lasting([]Pod{{Name: "a"}, {Name: "b", Terminating: true}}); len(got) != 1 || got[0].Name != "a" {
		t.Error(got)
	}
}
