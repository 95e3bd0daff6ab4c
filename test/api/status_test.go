package api

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// TestNotYetObserved: a resource that no operator has seen is not taken for a finished one.
func TestNotYetObserved(t *testing.T) {
	ctx := context.Background()
	must(t, kube.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "not-observed"}}))
	c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "not-observed", Name: "shop"}, Spec: spec()}
	must(t, kube.Create(ctx, c))
	must(t, kube.Get(ctx, client.ObjectKeyFromObject(c), c))
	if got := c.Status.ObservedGeneration; got != -1 {
		t.Errorf("a cluster that was never seen has observedGeneration %d, want -1", got)
	}
}
