package api

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/experiment"
	"github.com/galera-operator/galera-operator/internal/bench/summary"
)

// TestBenchmarkSamples: what docs/benchmarks.md recommends to apply is admitted.
func TestBenchmarkSamples(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "config", "samples", "benchmarks", "*.yaml"))
	must(t, err)
	files = slices.DeleteFunc(files, func(file string) bool { return filepath.Base(file) == "kustomization.yaml" })
	if len(files) < 40 {
		t.Errorf("only %v", files)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(t, err)
		u := &unstructured.Unstructured{}
		must(t, yaml.Unmarshal(text, &u.Object))
		u.SetNamespace("default")
		t.Run(filepath.Base(file), func(t *testing.T) {
			mustSay(t, kube.Create(context.Background(), u, client.DryRunAll), "")
			b := &v1alpha1.GaleraBenchmark{}
			must(t, runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, b))
			if d := experiment.Design(&b.Spec); !d.Balanced {
				t.Errorf("%d rounds of %d arms are not balanced", b.Spec.Rounds, len(b.Spec.Arms))
			}
			if why := experiment.Comparable(&b.Spec); why != "" {
				t.Error(why)
			}
			_, estimate, _ := strings.Cut(summary.Progress(0, 1, 0, experiment.Estimate(&b.Spec)), ", ")
			if sets, says := strings.Contains(string(text), "innodb_flush_log_at_trx_commit: "),
				strings.Contains(string(text), "\n# innodb_flush_log_at_trx_commit is 2 on every node: "); sets != says {
				t.Errorf("innodb_flush_log_at_trx_commit is set: %t, and in the header: %t", sets, says)
			}
			if want := "\n# Estimated time on two cores: " + strings.TrimSuffix(estimate, " left") +
				".\n"; !strings.Contains("\n"+string(text), want) {
				t.Errorf("its header does not have the line %q", want)
			}
		})
	}
}

// TestTwelveArms: the status of the largest number of arms can be written, and their names are printed as a person
// reads them.
func TestTwelveArms(t *testing.T) {
	ctx := context.Background()
	var arms []string
	for i := range 12 {
		arms = append(arms, fmt.Sprintf("{name: %s}", strings.Repeat("a", 30)+fmt.Sprintf("%02d", i)))
	}
	u := benchmark(t, "twelve", map[string]string{"arms": "[" + strings.Join(arms, ", ") + "]",
		"workloads": `[{name: a, oltp: {profile: ReadOnly}}]`})
	must(t, kube.Create(ctx, u))
	t.Cleanup(func() { _ = kube.Delete(ctx, u) })
	b := &v1alpha1.GaleraBenchmark{}
	must(t, kube.Get(ctx, client.ObjectKeyFromObject(u), b))
	b.Status.ArmNames, b.Status.Design = experiment.Arms(&b.Spec), experiment.Design(&b.Spec)
	b.Status.Arms = strings.Join(b.Status.ArmNames, ", ")
	must(t, kube.Status().Update(ctx, b))
	api, err := discovery.NewDiscoveryClientForConfig(config)
	must(t, err)
	text, err := api.RESTClient().Get().AbsPath("/apis", v1alpha1.GroupVersion.String(), "namespaces", b.Namespace,
		"galerabenchmarks", b.Name).SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(ctx)
	must(t, err)
	table := metav1.Table{}
	must(t, json.Unmarshal(text, &table))
	at := slices.IndexFunc(table.ColumnDefinitions, func(c metav1.TableColumnDefinition) bool { return c.Name == "Arms" })
	if at < 0 || len(table.Rows) != 1 || table.Rows[0].Cells[at] != b.Status.Arms {
		t.Errorf("printed: %s", text)
	}
}
