package resources

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"github.com/galera-operator/galera-operator/api/v1alpha1"
)

// TestMonitor: Prometheus is sent to every pod that has metrics of a cluster.
func TestMonitor(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "config", "prometheus", "databases.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var monitor struct {
		Spec struct {
			Selector            metav1.LabelSelector
			PodMetricsEndpoints []struct{ Port string }
		}
	}
	if err := yaml.Unmarshal(text, &monitor); err != nil {
		t.Fatal(err)
	}
	selector, err := metav1.LabelSelectorAsSelector(&monitor.Spec.Selector)
	if err != nil {
		t.Fatal(err)
	}
	c := exporting(v1alpha1.TLSRequired)
	for name, tc := range map[string]struct {
		pod   corev1.PodTemplateSpec
		ports []string
	}{
		"a node": {StatefulSet(shop(), testOptions, StatefulSetState{Replicas: 3}).Spec.Template,
			[]string{"metrics"}},
		"a node with an exporter": {StatefulSet(c, testOptions, StatefulSetState{Replicas: 3}).Spec.Template,
			[]string{"metrics", "exporter"}},
		"the arbitrator": {Arbitrator(c, testOptions, true).Spec.Template, []string{"metrics"}},
	} {
		if !selector.Matches(labels.Set(tc.pod.Labels)) {
			t.Errorf("%s is not checked: %v", name, tc.pod.Labels)
		}
		var asked []string
		for _, e := range monitor.Spec.PodMetricsEndpoints {
			if slices.ContainsFunc(slices.Concat(tc.pod.Spec.Containers, tc.pod.Spec.InitContainers),
				func(c corev1.Container) bool {
					return slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool { return p.Name == e.Port })
				}) {
				asked = append(asked, e.Port)
			}
		}
		if !slices.Equal(asked, tc.ports) {
			t.Errorf("%s is asked at %q, want %q", name, asked, tc.ports)
		}
	}
}
