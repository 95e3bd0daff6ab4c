package api

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"
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
	estimates := map[string]string{}
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
			if sets, says := strings.Contains(string(text), "innodb_flush_log_at_trx_commit: "),
				strings.Contains(string(text), "\n# innodb_flush_log_at_trx_commit is 2 on every node: "); sets != says {
				t.Errorf("innodb_flush_log_at_trx_commit is set: %t, and in the header: %t", sets, says)
			}
			_, estimate, _ := strings.Cut(summary.Progress(0, 1, 0, experiment.Estimate(&b.Spec)), ", ~") // 0/1, ~26 min left
			estimates[b.Name] = strings.TrimSuffix(estimate, " left")
			if want := "\n# Estimated time on two cores: ~" + estimates[b.Name] +
				".\n"; !strings.Contains("\n"+string(text), want) {
				t.Errorf("its header does not have the line %q", want)
			}
			if one, same := b.Spec.Arms[0], b.Spec.Arms[len(b.Spec.Arms)-1]; b.Name == "a-a" &&
				(len(b.Spec.Arms) != 2 || !equality.Semantic.DeepEqual(one.TLS, same.TLS)) {
				t.Errorf("the arms of a-a differ: %+v, %+v", one, same)
			}
			if measured := committed(t, b.Name); measured != nil &&
				!equality.Semantic.DeepEqual(defaulted(t, *measured), defaulted(t, b.Spec)) {
				t.Errorf("docs/experiments/%s is the report of another spec: measure the sample anew, or remove the report",
					b.Name)
			}
		})
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "experiments.md"))
	must(t, err)
	if n := estimatesOf(t, string(page), estimates); n < 20 {
		t.Errorf("docs/experiments.md has the estimates of %d samples", n)
	}
}

var (
	inCode = regexp.MustCompile("`([a-z0-9-]+)`")
	digits = regexp.MustCompile("[0-9]+")
)

// estimatesOf compares the tables whose last column is the estimated time with what the status will have, and returns
// how many samples their rows name. What stands in brackets is the time that it took.
func estimatesOf(t *testing.T, page string, estimates map[string]string) (n int) {
	t.Helper()
	in := false
	for line := range strings.SplitSeq(page, "\n") {
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		last := cells[len(cells)-1]
		switch {
		case !strings.HasPrefix(line, "|"):
			in = false
		case last == "estimated time":
			in = true
		case in:
			says, _, _ := strings.Cut(last, "(")
			for _, m := range inCode.FindAllStringSubmatch(line, -1) {
				want, is := estimates[m[1]]
				if !is {
					continue
				}
				n++
				number, unit, _ := strings.Cut(want, " ")
				if !slices.Contains(digits.FindAllString(says, -1), number) || !strings.Contains(says, " "+unit) {
					t.Errorf("docs/experiments.md has %[2]q for %[1]s, whose estimate is %[3]s", m[1], last, want)
				}
			}
		}
	}
	return n
}

// committed is the spec that the report of a sample was measured with; nil when there is no report.
func committed(t *testing.T, name string) *v1alpha1.GaleraBenchmarkSpec {
	t.Helper()
	raw, err := os.Open(filepath.Join("..", "..", "docs", "experiments", name+".json.gz"))
	if os.IsNotExist(err) {
		return nil
	}
	must(t, err)
	defer func() { _ = raw.Close() }()
	text, err := gzip.NewReader(raw)
	must(t, err)
	b := &v1alpha1.GaleraBenchmark{}
	must(t, json.NewDecoder(text).Decode(b))
	return &b.Spec
}

// defaulted is a spec with the defaults that the API has today.
func defaulted(t *testing.T, spec v1alpha1.GaleraBenchmarkSpec) v1alpha1.GaleraBenchmarkSpec {
	t.Helper()
	b := &v1alpha1.GaleraBenchmark{ObjectMeta: metav1.ObjectMeta{Name: "defaulted", Namespace: "default"}, Spec: spec}
	must(t, kube.Create(context.Background(), b, client.DryRunAll))
	return b.Spec
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
