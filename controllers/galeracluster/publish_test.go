package galeracluster

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// TestIdentity: a resource that was created again over its running pods keeps the name of their group; a copied ConfigMap says nothing.
func TestIdentity(t *testing.T) {
	config := func(namespace, document string) *corev1.ConfigMap {
		meta := metav1.ObjectMeta{Namespace: namespace, Name: "shop-config"}
		return &corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{agentapi.ConfigKey: document}}
	}
	const prod = `{"cluster":"shop","namespace":"prod","uid":"one","revision":"1"}`
	for name, c := range map[string]struct {
		cm             *corev1.ConfigMap
		recorded, want string
	}{
		"a new cluster":           {nil, "", ""},
		"created again":           {config("prod", prod), "", "one"},
		"recorded":                {config("prod", prod), "two", "two"},
		"a copied namespace":      {config("staging", prod), "", ""},
		"one that cannot be read": {config("prod", "?"), "", ""},
		"another cluster's name":  {config("prod", `{"cluster":"db","namespace":"prod","uid":"one"}`), "", ""},
	} {
		cluster := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "shop"}}
		cluster.Status.Identity = c.recorded
		if got := identified(cluster, published(c.cm)).Status.Identity; got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if got := published(config("staging", prod)); got.Revision != "" {
		t.Errorf("a copied configuration counts as published: %+v", got)
	}
}
