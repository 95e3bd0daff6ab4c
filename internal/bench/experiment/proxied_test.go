package experiment

import (
	"strings"
	"testing"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

func proxied() *v1alpha1.GaleraBenchmarkSpec {
	s := spec()
	s.Cluster.Template = &v1alpha1.GaleraClusterSpec{Replicas: 1}
	s.Arms = []v1alpha1.BenchmarkArm{{Name: "plain", TLS: v1alpha1.BenchmarkTLS{Clients: v1alpha1.TLSDisabled}},
		{Name: "encrypted"}}
	connect := v1alpha1.ConnectWorkload{Threads: []int32{1}, TLSVersions: []string{"1.3"},
		SessionResumption: []string{"Off"}, Latency: []string{"0s"}}
	direct, pooled := connect, connect
	pooled.Via, pooled.ProxyRef = v1alpha1.ViaGaleraProxy, &v1alpha1.LocalName{Name: "pool"}
	s.Workloads = []v1alpha1.BenchmarkWorkload{{Name: "direct", Connect: &direct}, {Name: "pooled", Connect: &pooled}}
	return s
}

// TestGaleraProxiesAreMeasuredWithTLS: one speaks TLS with the nodes in any case, so that an arm without TLS for
// clients has no such run, and nothing of one to be compared.
func TestGaleraProxiesAreMeasuredWithTLS(t *testing.T) {
	testTLSOnly(t, proxied())
	s := proxied()
	direct, pooled := &s.Workloads[0], &s.Workloads[1]
	direct.Connect, direct.OLTP = nil, &v1alpha1.OLTPWorkload{Threads: []int32{1}}
	pooled.Connect, pooled.OLTP = nil, &v1alpha1.OLTPWorkload{Threads: []int32{1}, Via: v1alpha1.ViaGaleraProxy,
		ProxyRef: &v1alpha1.LocalName{Name: "pool"}}
	testTLSOnly(t, s)
}

func testTLSOnly(t *testing.T, s *v1alpha1.GaleraBenchmarkSpec) {
	t.Helper()
	runs := map[string]int{}
	for i, r := range Runs(s) {
		runs[r.Arm.Name+" "+r.Cell.Workload.Name]++
		if r.Index != i+1 {
			t.Errorf("run %d has the number %d", i+1, r.Index)
		}
	}
	if runs["plain pooled"] != 0 || runs["encrypted pooled"] != 3 || runs["plain direct"] != 3 || len(runs) != 3 {
		t.Errorf("got %v", runs)
	}
	of := v1alpha1.BenchmarkCell{Workload: "pooled", Arm: "encrypted"}
	direct, plain := "direct", "plain"
	s.Compare = []v1alpha1.BenchmarkCompare{{Of: of, With: v1alpha1.BenchmarkCellPart{Workload: &direct}}}
	if why := Comparable(s); why != "" {
		t.Error(why)
	}
	s.Compare[0].With = v1alpha1.BenchmarkCellPart{Arm: &plain}
	if why := Comparable(s); !strings.Contains(why, `is not measured against the arm "plain"`) {
		t.Errorf("got %q", why)
	}
	if why := Proxies(s, s.Cluster.Template.TLS); why != "" {
		t.Error(why)
	}
	if s.Arms = s.Arms[:1]; !strings.Contains(Proxies(s, s.Cluster.Template.TLS), "no arm has TLS for clients") {
		t.Error("a proxy without any arm is not refused")
	}
}

// TestOperationsCanBeCompared with each other, and by arm, by the names of their variants.
func TestOperationsCanBeCompared(t *testing.T) {
	s := spec()
	s.Workloads = []v1alpha1.BenchmarkWorkload{{Name: "ops", Operation: &v1alpha1.OperationWorkload{Threads: 1, Tables: 1,
		TableSize: 1, Operations: []string{v1alpha1.OperationRestart, v1alpha1.OperationPromotion}}}}
	other, arm := "operation=Promotion", "a"
	of := v1alpha1.BenchmarkCell{Workload: "ops", Variant: "operation=Restart", Arm: "b"}
	s.Compare = []v1alpha1.BenchmarkCompare{{Of: of, With: v1alpha1.BenchmarkCellPart{Variant: &other}},
		{Of: of, With: v1alpha1.BenchmarkCellPart{Arm: &arm}}}
	if why := Comparable(s); why != "" || len(Pairs(s)) != 2 {
		t.Errorf("%q, %d pairs", why, len(Pairs(s)))
	}
}
