package api

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// TestOverride: a cluster runs with the policy of the benchmark that has claimed it, and of no other one, and with its
// own again when that benchmark is gone, by whatever way. Its spec is never written to.
func TestOverride(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newWorld(t, "override", spec())
	w.bringUp()
	w.Eventually(w.condition("Ready")).Should(Equal("True Ready"))
	now := func() v1alpha1.GaleraClusterSpec {
		c := &v1alpha1.GaleraCluster{}
		w.Expect(w.get(c, "shop")).To(Succeed())
		return c.Spec
	}
	before := now()
	clients := func() string {
		cm, config := &corev1.ConfigMap{}, agentapi.NodeConfig{}
		w.Expect(w.get(cm, "shop-config")).To(Succeed())
		must(t, json.Unmarshal([]byte(cm.Data[agentapi.ConfigKey]), &config))
		return string(config.TLS.Clients)
	}
	w.Expect(clients()).To(Equal(v1alpha1.TLSRequired))

	b := &v1alpha1.GaleraBenchmark{ObjectMeta: metav1.ObjectMeta{Namespace: "override", Name: "guest",
		Finalizers: []string{"example.com/kept"}}}
	b.Spec.Cluster.Ref = &v1alpha1.BenchmarkClusterRef{Name: "shop", AllowPolicyChanges: true}
	b.Spec.Arms = []v1alpha1.BenchmarkArm{{Name: "plain", TLS: v1alpha1.BenchmarkTLS{Clients: v1alpha1.TLSPreferred}}}
	b.Spec.Workloads = []v1alpha1.BenchmarkWorkload{{Name: "write", OLTP: &v1alpha1.OLTPWorkload{Profile: "WriteOnly"}}}
	must(t, kube.Create(ctx, b))
	b.Status.Override = &b.Spec.Arms[0].TLS
	must(t, kube.Status().Update(ctx, b))
	w.Consistently(clients, 2*time.Second).Should(Equal(v1alpha1.TLSRequired), "it has not claimed the cluster")

	w.edit(func(c *v1alpha1.GaleraCluster) {
		c.Annotations = map[string]string{v1alpha1.AnnotationBenchmark: "guest"}
	})
	w.Eventually(clients).Should(Equal(v1alpha1.TLSPreferred))
	w.Eventually(func() *v1alpha1.TLSOverride { return w.status().TLS.Override }).
		Should(Equal(&v1alpha1.TLSOverride{Benchmark: "guest", Policy: *b.Status.Override}))
	w.Expect(now()).To(Equal(before))

	must(t, kube.Delete(ctx, b)) // its finalizer keeps it, and nothing ends the override in its status
	w.Eventually(clients).Should(Equal(v1alpha1.TLSRequired))
	w.Eventually(func() *v1alpha1.TLSOverride { return w.status().TLS.Override }).Should(BeNil())
	w.Expect(now()).To(Equal(before))
}
