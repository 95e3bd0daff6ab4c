package publish

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// TestPublished: a copied ConfigMap is no evidence of what is published here.
func TestPublished(t *testing.T) {
	config := func(namespace, document string) *corev1.ConfigMap {
		meta := metav1.ObjectMeta{Namespace: namespace, Name: "shop-config"}
		return &corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{agentapi.ConfigKey: document}}
	}
	const prod = `{"cluster":"shop","namespace":"prod","uid":"one","revision":"1"}`
	if got := Published(config("prod", prod)); got.UID != "one" {
		t.Errorf("%+v", got)
	}
	if got := Published(config("prod", "?")); got.Revision != "" {
		t.Errorf("a configuration that cannot be read counts as published: %+v", got)
	}
	if got := Published(config("staging", prod)); got.Revision != "" {
		t.Errorf("a copied configuration counts as published: %+v", got)
	}
}
