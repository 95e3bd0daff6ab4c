package resources

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/galera-operator/galera-operator/api/v1alpha1"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestGolden shows in a review what a change of code does to every object.
func TestGolden(t *testing.T) {
	for name, c := range map[string]*v1alpha1.GaleraCluster{
		"default":    shop(),
		"everything": everything(),
		"plaintext":  plaintext(),
		"arbitrator": withArbitrator(),
	} {
		t.Run(name, func(t *testing.T) {
			got := manifests(t, c)
			file := filepath.Join("testdata", name+".yaml")
			if *update {
				if err := os.WriteFile(file, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%s differs from what is rendered; if that is meant, run: go test ./internal/resources -update\n%s",
					file, firstDifference(string(want), string(got)))
			}
		})
	}
}

// TestRenderingIsDeterministic: an object that differs from one pass to the next would be written
// again and again.
func TestRenderingIsDeterministic(t *testing.T) {
	first := manifests(t, everything())
	for range 20 {
		if !bytes.Equal(first, manifests(t, everything())) {
			t.Fatal("the same cluster was rendered in two ways")
		}
	}
}

// TestInputIsNotShared: a change of a rendered object must not change the cluster.
func TestInputIsNotShared(t *testing.T) {
	c := everything()
	sts := StatefulSet(c, testOptions, pods(c, 5))
	sts.Spec.Template.Spec.NodeSelector["disk"] = "changed"
	sts.Spec.Template.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchExpressions[0].Values[0] = "changed"
	sts.Spec.Template.Spec.Containers[0].Resources.Limits["cpu"] = sts.Spec.Template.Spec.Containers[0].Resources.Limits["memory"]
	PrimaryService(c, PodName(c, 0)).Annotations["example.org/internal"] = "changed"
	PrimaryService(c, PodName(c, 0)).Spec.LoadBalancerSourceRanges[0] = "changed"
	NetworkPolicy(c, testOptions).
		Spec.Ingress[3].From[0].NamespaceSelector.MatchLabels["kubernetes.io/metadata.name"] = "changed"
	if !bytes.Equal(manifests(t, c), manifests(t, everything())) {
		t.Error("a rendered object shares memory with the spec")
	}
}

func manifests(t *testing.T, c *v1alpha1.GaleraCluster) []byte {
	t.Helper()
	var out bytes.Buffer
	for _, object := range render(c, testOptions) {
		doc, err := yaml.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		out.WriteString("---\n")
		out.Write(doc)
	}
	return out.Bytes()
}

func firstDifference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(w), len(g)) {
		if w[i] != g[i] {
			return "- " + w[i] + "\n+ " + g[i]
		}
	}
	return "one has more lines than the other"
}
