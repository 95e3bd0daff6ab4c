package galerabenchmark

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/experiment"
	"github.com/galera-operator/galera-operator/internal/bench/result"
)

// TestGaleraProxyOfARun: only one of the measured cluster counts, and only while it is Ready and proved to encrypt. One
// that is missing, or of another cluster, stalls the benchmark: only someone who acts ends that.
func TestGaleraProxyOfARun(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	b := &v1alpha1.GaleraBenchmark{ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: "ns"}}
	b.Spec.Cluster.Template = &v1alpha1.GaleraClusterSpec{}
	status := func(ready, encrypted metav1.ConditionStatus) v1alpha1.GaleraProxyStatus {
		return v1alpha1.GaleraProxyStatus{ObservedGeneration: 2, Conditions: []metav1.Condition{
			{Type: "Ready", Status: ready, Reason: "Why"}, {Type: "Encrypted", Status: encrypted, Reason: "Why"}}}
	}
	for name, tc := range map[string]struct {
		cluster string
		status  v1alpha1.GaleraProxyStatus
		want    string
		reason  string
		stalled bool
	}{
		"absent": {"", status("True", "True"), `there is no GaleraProxy "pool"`, "ProxyNotFound", true},
		"of another cluster": {"shop", status("True", "True"), `belongs to the cluster "shop"`,
			"ProxyOfAnotherCluster", true},
		"new": {"x-db", v1alpha1.GaleraProxyStatus{ObservedGeneration: -1},
			"waiting for the operator", "PreparingAccess", false},
		"seen before a change": {"x-db", v1alpha1.GaleraProxyStatus{ObservedGeneration: 1},
			"waiting for the operator", "PreparingAccess", false},
		"not ready":             {"x-db", status("False", "True"), "is not Ready: Why", "PreparingAccess", false},
		"not proved to encrypt": {"x-db", status("True", "Unknown"), "is not Encrypted: Why", "PreparingAccess", false},
		"well":                  {"x-db", status("True", "True"), "", "", false},
	} {
		kube := fake.NewClientBuilder().WithScheme(scheme)
		if tc.cluster != "" {
			p := &v1alpha1.GaleraProxy{ObjectMeta: metav1.ObjectMeta{Name: "pool", Namespace: "ns", Generation: 2},
				Spec: v1alpha1.GaleraProxySpec{ClusterRef: v1alpha1.ProxyClusterRef{Name: tc.cluster}}, Status: tc.status}
			kube = kube.WithObjects(p)
		}
		live := kube.Build()
		got, err := parts{live, live}.proxyProblem(t.Context(), b, "pool")
		if err != nil || (got.message == "") != (tc.want == "") || !strings.Contains(got.message, tc.want) ||
			got.reason != tc.reason || got.stalled != tc.stalled {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// TestRunOfAnUnprovedProxy does not count.
func TestRunOfAnUnprovedProxy(t *testing.T) {
	at := result.Sample{result.MetricStarted: 1, result.MetricView: 1, result.MetricSynced: 1}
	record := result.Record{Run: result.Run{Index: 1, Attempt: 1, Kind: result.KindConnect, Workload: "pooled"},
		Output: &result.Output{Kind: result.KindConnect, Connect: &result.ConnectResult{Connections: 5},
			Members: map[string]result.Window{"x-db-0": {Before: at, After: at}}}}
	b := &v1alpha1.GaleraBenchmark{ObjectMeta: metav1.ObjectMeta{Name: "x"}}
	b.Spec.Workloads = []v1alpha1.BenchmarkWorkload{{Name: "pooled",
		Connect: &v1alpha1.ConnectWorkload{ProxyRef: &v1alpha1.LocalName{Name: "pool"}}}}
	job := experiment.Name("x", record.Run)
	if name := proxyOf(b, job, []result.Record{record}); name != "pool" {
		t.Errorf("the proxy of the run is %q", name)
	}
	transactions := b.DeepCopy()
	transactions.Spec.Workloads[0].Connect = nil
	transactions.Spec.Workloads[0].OLTP = &v1alpha1.OLTPWorkload{ProxyRef: &v1alpha1.LocalName{Name: "pool"}}
	if name := proxyOf(transactions, job, []result.Record{record}); name != "pool" {
		t.Errorf("the proxy of transactions is %q", name)
	}
	seen := benchmarkFacts{State: experiment.State{Benchmark: b}}
	if v := verdictOf(b, seen, record); !v.Valid {
		t.Fatalf("a run without trouble: %+v", v)
	}
	seen.ProxyProblem = "it is not Encrypted"
	if v := verdictOf(b, seen, record); v.Valid || !strings.Contains(v.Reason, "it is not Encrypted") {
		t.Errorf("got %+v", v)
	}
}
