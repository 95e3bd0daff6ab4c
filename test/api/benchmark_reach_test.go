package api

import (
	"context"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/experiment"
	benchobjects "github.com/galera-operator/galera-operator/internal/bench/objects"
	"github.com/galera-operator/galera-operator/internal/bench/result"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// TestReachOfBenchmarkSpecs: what a pod could be given in addition to its image is no field.
func TestReachOfBenchmarkSpecs(t *testing.T) {
	refuseFields(t, func(field string) map[string]*unstructured.Unstructured {
		key, _, _ := strings.Cut(field, ":")
		return map[string]*unstructured.Unstructured{
			"GaleraBenchmark": benchmark(t, "reach",
				map[string]string{key: strings.TrimSpace(strings.TrimPrefix(field, key+":"))}),
			"cluster.ref": benchmark(t, "reach", map[string]string{"cluster": `{ref: {name: shop, ` + field + `}}`}),
			"client":      benchmark(t, "reach", map[string]string{"client": `{` + field + `}`}),
		}
	})
}

// TestReachOfBenchmarkStatus: what the benchmarks' program has written down is not the writer's of a spec.
func TestReachOfBenchmarkStatus(t *testing.T) {
	b := benchmark(t, "presets", map[string]string{"suspend": "true"})
	must(t, unstructured.SetNestedMap(b.Object, map[string]any{"suffix": "known", "account": true}, "status", "resources"))
	expectNoStatus(t, b)
}

// TestReachOfBenchmarksEndsAtTheirNamespace: a cluster of that name elsewhere is not the one.
func TestReachOfBenchmarksEndsAtTheirNamespace(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	must(t, kube.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "reach-elsewhere"}}))
	c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "reach-elsewhere", Name: "far"}}
	c.Spec.Replicas, c.Spec.Storage.Size = 1, oneGi
	must(t, kube.Create(ctx, c))
	s := perform(t, benchmark(t, "reaches", map[string]string{"cluster": `{ref: {name: far}}`,
		"workloads": oneWrite}))
	s.waitFor("the complaint", stalledFor(v1alpha1.ReasonClusterNotFound, `no GaleraCluster "far" in this namespace`))
	before := c.DeepCopy()
	must(t, kube.Get(ctx, client.ObjectKeyFromObject(c), c))
	if !equality.Semantic.DeepEqual(before, c) {
		t.Errorf("changed to %+v", c)
	}
}

// podsWithUserImages are those of every kind that is made for these resources, with images of the writer's choice.
func podsWithUserImages(t *testing.T) (b *v1alpha1.GaleraBenchmark, c *v1alpha1.GaleraCluster,
	all map[string]corev1.PodTemplateSpec) {
	t.Helper()
	c, nodes := nodesWithUserImage(t)
	b = policedBenchmark(t)
	b.Spec.Client.Image = "evil"
	images := benchobjects.Images{Operator: "operator", Client: "evil", Proxy: "evil"}
	all = map[string]corev1.PodTemplateSpec{"nodes": nodes}
	for _, run := range experiment.Runs(&b.Spec) {
		p := benchobjects.Plan(b, c, experiment.StartJob{Wire: run.Wire(1), Run: run, Data: experiment.DataSet(run.Cell)},
			"cluster.local")
		job, err := benchobjects.Job(b, c, run.Wire(1), p, images)
		must(t, err)
		all["Job of "+run.Cell.Workload.Name] = job.Spec.Template
		if p.Connect == nil {
			continue
		}
		p.Connect.Tunnel = &result.Tunnel{}
		for _, o := range benchobjects.Tunnel(b, c, job.Name, p, images) {
			if d, is := o.(*appsv1.Deployment); is {
				all["SSH server"] = d.Spec.Template
			}
		}
	}
	if len(all) != 4 {
		t.Fatalf("%d kinds of pods", len(all))
	}
	return b, c, all
}

// TestReachOfBenchmarkImages: an image of the writer's choice runs with nothing it could leave its container by, and
// with no token but the one that writes a benchmark's result.
func TestReachOfBenchmarkImages(t *testing.T) {
	_, _, all := podsWithUserImages(t)
	for name, template := range all {
		mayHaveToken := ""
		if strings.HasPrefix(name, "Job") {
			mayHaveToken = benchobjects.ClientContainer
		}
		expectConfined(t, name, template.Spec, mayHaveToken)
	}
}

// TestReachOfBenchmarkPods: none is taken for a node, neither by Services nor by the policy of the network, and none
// has a Secret of the cluster.
func TestReachOfBenchmarkPods(t *testing.T) {
	b, c, all := podsWithUserImages(t)
	policy := resources.NetworkPolicy(c, resources.Options{})
	node, err := metav1.LabelSelectorAsSelector(&policy.Spec.PodSelector)
	must(t, err)
	own := []string{benchobjects.BindingName(benchobjects.CertificateName(b)), benchobjects.ProxyName("x-run-002-1"),
		benchobjects.TunnelName("x-run-002-1"), benchobjects.ProxyName("x-run-001-1"), benchobjects.TunnelName("x-run-001-1")}
	for name, template := range all {
		is := labels.Set(template.Labels)
		taken := node.Matches(is) || labels.SelectorFromSet(resources.Selector(c)).Matches(is)
		if taken != (name == "nodes") {
			t.Errorf("%s is taken for a node: %t", name, taken)
		}
		if name == "nodes" {
			continue
		}
		for _, v := range template.Spec.Volumes {
			if v.Secret != nil && !slices.Contains(own, v.Secret.SecretName) {
				t.Errorf("%s mounts the Secret %s", name, v.Secret.SecretName)
			}
		}
		for _, container := range slices.Concat(template.Spec.InitContainers, template.Spec.Containers) {
			for _, e := range container.Env {
				if e.ValueFrom != nil && (e.ValueFrom.SecretKeyRef == nil ||
					e.ValueFrom.SecretKeyRef.Name != benchobjects.BindingName(benchobjects.AccountName(b))) {
					t.Errorf("%s takes %s from %+v", name, e.Name, e.ValueFrom)
				}
			}
		}
	}
}
