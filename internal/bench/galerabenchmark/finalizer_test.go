package galerabenchmark

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// TestTheFinalizerGoesWithItsReason: as long as there is something to put back it stays, and nothing brings it back
// after.
func TestTheFinalizerGoesWithItsReason(t *testing.T) {
	for name, marked := range map[string]bool{"nothing to restore": false, "a mark to take away": true} {
		p := newPlay(t, 0)
		ref := &v1alpha1.GaleraBenchmark{ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: "ns"}}
		p.must(p.kube.Get(p.Context(), client.ObjectKeyFromObject(ref), ref))
		ref.Spec.Cluster, ref.Finalizers = v1alpha1.BenchmarkCluster{Ref: &v1alpha1.BenchmarkClusterRef{Name: "shop"}},
			[]string{"others/own", benchmarkFinalizer}
		p.must(p.kube.Update(p.Context(), ref))
		ref.Status.CompletedAt = &metav1.Time{Time: p.now}
		p.must(p.kube.Status().Update(p.Context(), ref))
		shop := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Name: "shop", Namespace: "ns"}}
		if marked {
			shop.Annotations = map[string]string{v1alpha1.AnnotationBenchmark: "x"}
		}
		p.must(p.kube.Create(p.Context(), shop))
		for range 3 {
			p.pass()
		}
		p.must(p.kube.Get(p.Context(), client.ObjectKeyFromObject(ref), ref))
		if held := len(ref.Finalizers) == 2; held != marked || ref.Finalizers[0] != "others/own" {
			t.Errorf("%s: %v", name, ref.Finalizers)
		}
	}
}
