package resources

import (
	"slices"
	"testing"

	"github.com/galera-operator/galera-operator/api/v1alpha1"
)

// TestRefusedPodMetadata: only what is listed passes, and a listed beginning is one of a whole domain.
func TestRefusedPodMetadata(t *testing.T) {
	opts := Options{PodLabels: []string{"example.org/", "tier"}, PodAnnotations: []string{"k8s.v1.cni.cncf.io/networks",
		"log*"}}
	for _, tc := range []struct {
		key               string
		label, annotation bool // allowed
	}{
		{"team", true, false},
		{"team.example.org/x", false, false},
		{"tier", true, false},
		{"tiers", false, false},
		{"app", false, false},
		{"example.org/app", true, false},
		{"evil.example.org/app", false, false},
		{"prometheus.io/scrape", false, true},
		{"sidecar.istio.io/inject", true, true},
		{"sidecar.istio.io/userVolume", false, false},
		{"azure.workload.identity/use", false, false},
		{"iam.amazonaws.com/role", false, false},
		{"vault.hashicorp.com/agent-inject", false, false},
		{"container.apparmor.security.beta.kubernetes.io/mariadb", false, false},
		{"k8s.v1.cni.cncf.io/networks", false, true},
		{"k8s.v1.cni.cncf.io/networks-status", false, false},
		{"logging", false, true},
	} {
		c := &v1alpha1.GaleraCluster{}
		set := map[string]string{tc.key: "x"}
		c.Spec.PodTemplate = &v1alpha1.PodTemplateSpec{Labels: set, Annotations: set}
		labels, annotations := RefusedPodMetadata(c, opts)
		if slices.Contains(labels, tc.key) == tc.label || slices.Contains(annotations, tc.key) == tc.annotation {
			t.Errorf("%s: labels refused %v, annotations refused %v", tc.key, labels, annotations)
		}
	}
	if labels, annotations := RefusedPodMetadata(&v1alpha1.GaleraCluster{}, Options{}); labels != nil ||
		annotations != nil {
		t.Errorf("%v and %v of no template", labels, annotations)
	}
}
