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

// TestRefusedMetadataRestartsNothing: while a key of the spec is refused the template stays what it is, whatever others
// have written into it.
func TestRefusedMetadataRestartsNothing(t *testing.T) {
	c := &v1alpha1.GaleraCluster{}
	c.Name, c.Spec.Replicas = "shop", 3
	opts := Options{PodAnnotations: []string{"vault.hashicorp.com/role"}}
	c.Spec.PodTemplate = &v1alpha1.PodTemplateSpec{Labels: map[string]string{"team": "db"},
		Annotations: map[string]string{"prometheus.io/port": "8080", "vault.hashicorp.com/role": "db"}}
	have := StatefulSet(c, opts, StatefulSetState{Replicas: 3})
	want := have.Spec.Template.Annotations[v1alpha1.AnnotationPodTemplate]
	have.Spec.Template.Annotations["kubectl.kubernetes.io/restartedAt"] = "2026-11-26T15:04:05+01:00"
	have.Spec.Template.Labels["added-by"] = "others"

	// The administrator allows one key no longer, and the user adds another one that never was.
	opts.PodAnnotations = nil
	c.Spec.PodTemplate.Labels["app"] = "payments"
	c.Spec.PodTemplate.Annotations["vault.hashicorp.com/role"] = "admin"
	again := StatefulSet(WithPodMetadata(c, have, opts), opts, StatefulSetState{Replicas: 3})
	if got := again.Spec.Template.Annotations[v1alpha1.AnnotationPodTemplate]; got != want {
		t.Errorf("another template: labels %v, annotations %v", again.Spec.Template.Labels, again.Spec.Template.Annotations)
	}
}
