package api

import (
	"context"
	"os"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/experiment"
	benchobjects "github.com/galera-operator/galera-operator/internal/bench/objects"
	"github.com/galera-operator/galera-operator/internal/bench/result"
)

// init has the benchmarks' user permitted before the tests.
func init() { installed = append(installed, permitBenchmarks) }

// benchmarksName is the user of the benchmarks' program, which config/admission limits more than the operator.
const benchmarksName = "system:serviceaccount:galera-operator-system:galera-operator-benchmarks"

// asBenchmarks is the benchmarks' user with the rights of config/benchmarks alone.
func asBenchmarks(c *rest.Config) *rest.Config {
	c = impersonating(c, benchmarksName)
	c.Impersonate.Groups = []string{"system:authenticated"}
	return c
}

// permitBenchmarks gives the benchmarks' user its role.
func permitBenchmarks(ctx context.Context, c client.Client) error {
	for _, file := range []string{"role.yaml", "role_binding.yaml"} {
		text, err := os.ReadFile("../../config/benchmarks/" + file)
		if err != nil {
			return err
		}
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(text, &u.Object); err != nil {
			return err
		}
		if err := c.Create(ctx, u); err != nil {
			return err
		}
	}
	return nil
}

// policedBenchmark has a run of its own and one through a proxy.
func policedBenchmark(t *testing.T) *v1alpha1.GaleraBenchmark {
	t.Helper()
	b := &v1alpha1.GaleraBenchmark{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "x", UID: "4"}}
	b.Status.Resources = &v1alpha1.BenchmarkResources{Suffix: "abcdefghij"}
	must(t, yaml.Unmarshal([]byte(`{cluster: {ref: {name: shop}}, rounds: 1, arms: [{name: a}], client: {}, workloads: [
		{name: own, oltp: {profile: ReadOnly, threads: [1]}},
		{name: pool, connect: {threads: [1], via: PoolingProxy, proxy: {image: evil}, tlsVersions: ["1.3"],
			sessionResumption: ["Off"], latency: ["0s"]}}]}`), &b.Spec))
	return b
}

// benchmarkWorkloads renders what the benchmarks' program creates, of each kind.
func benchmarkWorkloads(t *testing.T, assigned bool) map[string]client.Object {
	t.Helper()
	b, c, all := policedBenchmark(t), policedCluster(t), map[string]client.Object{}
	images := benchobjects.Images{Operator: "operator", Client: "sysbench", Proxy: "proxy", AssignedUsers: assigned}
	for _, o := range benchobjects.Access(b, "x-run-1") {
		all[o.GetObjectKind().GroupVersionKind().Kind] = o
	}
	for _, run := range experiment.Runs(&b.Spec) {
		start := experiment.StartJob{Wire: run.Wire(1), Run: run, Data: experiment.DataSet(run.Cell)}
		p := benchobjects.Plan(b, c, start, "cluster.local")
		p.TLS = true
		j, err := benchobjects.Job(b, c, run.Wire(1), p, images)
		must(t, err)
		all["Job of "+run.Cell.Workload.Name] = j
		if p.Connect == nil {
			continue
		}
		for kind, vpn := range map[string]bool{"SSH": false, "VPN": true} {
			p.Connect.Tunnel = &result.Tunnel{VPN: vpn}
			for _, o := range benchobjects.Tunnel(b, c, j.Name, p, images) {
				if d, is := o.(*appsv1.Deployment); is {
					all[kind+" server"] = d
				}
			}
		}
	}
	if len(all) != 7 {
		t.Fatalf("%d objects", len(all))
	}
	return all
}

// TestOperatorPolicyAdmitsTheBenchmarks: whatever their program creates passes.
func TestOperatorPolicyAdmitsTheBenchmarks(t *testing.T) {
	c := policedClient(t, benchmarksName)
	for users, assigned := range map[string]bool{"fixed": false, "assigned": true} {
		for name, o := range benchmarkWorkloads(t, assigned) {
			o.SetOwnerReferences(nil) // made-up owners
			if err := c.Create(context.Background(), o, client.DryRunAll); err != nil {
				t.Errorf("%s, users %s: %v", name, users, err)
			}
		}
	}
}

// TestOperatorPolicyIsTestedWithWhatBenchmarksMake: the account and the rights that the refusals are made of are those
// of a benchmark.
func TestOperatorPolicyIsTestedWithWhatBenchmarksMake(t *testing.T) {
	want := access()
	for _, o := range benchobjects.Access(policedBenchmark(t), "x-run-1") {
		name := "benchmark's " + o.GetObjectKind().GroupVersionKind().Kind
		o.SetLabels(nil)
		o.SetOwnerReferences(nil)
		o.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
		if !equality.Semantic.DeepEqual(o, want[name]) {
			t.Errorf("%s is %+v, and %+v is tested", name, o, want[name])
		}
		delete(want, name)
	}
	if len(want) > 0 {
		t.Errorf("no benchmark makes %v", want)
	}
}
