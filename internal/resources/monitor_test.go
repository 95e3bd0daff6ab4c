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
	c := shop()
	for name, pod := range map[string]corev1.PodTemplateSpec{
		"a node":         StatefulSet(c, testOptions, StatefulSetState{Replicas: 3}).Spec.Template,
		"the arbitrator": Arbitrator(c, testOptions, true).Spec.Template,
	} {
		if !selector.Matches(labels.Set(pod.Labels)) {
			t.Errorf("%s is not looked at: %v", name, pod.Labels)
		}
		for _, e := range monitor.Spec.PodMetricsEndpoints {
			if !slices.ContainsFunc(pod.Spec.Containers[0].Ports, func(p corev1.ContainerPort) bool { return p.Name == e.Port }) {
				t.Errorf("%s has no port %s", name, e.Port)
			}
		}
	}
}
