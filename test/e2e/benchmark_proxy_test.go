package e2e

import (
	"context"
	"fmt"
	"os"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/test/harness"
)

const (
	// proxyImageVariable names an image with ProxySQL, which is the user's to choose: nothing here makes one.
	proxyImageVariable = "PROXY_IMAGE"
	// publicProxyImage is the sample's.
	publicProxyImage = "proxysql/proxysql:2.7.1"
	// pullTime is what a registry has to answer.
	pullTime = 2 * time.Minute
)

// loadProxy brings an image with ProxySQL into the local Kubernetes: the one that is named, or the public one where its
// registry answers. It skips the spec, and explains why, where it does not.
func loadProxy(ctx context.Context) (image string) {
	GinkgoHelper()
	if image = os.Getenv(proxyImageVariable); image == "" {
		image = publicProxyImage
		pulling, stop := context.WithTimeout(ctx, pullTime)
		defer stop()
		if _, err := harness.Docker(pulling, "image", "inspect", image); err != nil {
			if _, err := harness.Docker(pulling, "pull", "--quiet", image); err != nil {
				Skip(fmt.Sprintf("the image %s cannot be pulled here: %v; name another one, as in make test-e2e E2E=slow %s=NAME",
					image, err, proxyImageVariable))
			}
		}
	}
	Expect(harness.LoadOwn(ctx, image)).To(Succeed())
	return image
}

var _ = Describe("A benchmark of connections through a pooling proxy", Label(Slow), func() {
	It("speaks with the nodes what the arm says, and leaves nothing of the proxy", func(ctx SpecContext) {
		image := loadProxy(ctx)
		b := createBenchmark(ctx, newNamespace(ctx, "bench"), func(s *v1alpha1.GaleraBenchmarkSpec) {
			s.Cluster.Template.Replicas = 1
			s.Arms = []v1alpha1.BenchmarkArm{
				{Name: "plain", TLS: v1alpha1.BenchmarkTLS{Clients: v1alpha1.TLSDisabled}},
				{Name: "encrypted", TLS: v1alpha1.BenchmarkTLS{Clients: v1alpha1.TLSRequired}},
			}
			s.Workloads = []v1alpha1.BenchmarkWorkload{{Name: "pooled", Connect: &v1alpha1.ConnectWorkload{
				Threads: []int32{4}, Duration: &metav1.Duration{Duration: 5 * time.Second},
				Via: v1alpha1.ViaPoolingProxy, Proxy: &v1alpha1.BenchmarkProxy{Image: image},
			}}}
		})
		inClear := watchArms(ctx, portClients, "SELECT 1")
		b = waitMeasured(ctx, b, inClear.observe)
		Expect(b.Status.Results).To(HaveLen(2))
		for _, r := range b.Status.Results {
			Expect(r.Samples).To(BeEquivalentTo(1), r.Arm)
			for _, figure := range []string{"connectionsPerSecond", "backendConnectionsPercent", "proxyCPUMicros"} {
				Expect(r.Figures).To(ContainElement(HaveField("Name", figure)), r.Arm)
			}
		}
		Expect(inClear.byArm["plain"]).To(BeNumerically(">", 0), "the capture must be able to find queries")
		Expect(inClear.byArm).To(HaveKeyWithValue("encrypted", 0))
		Eventually(func() []corev1.Secret {
			left := &corev1.SecretList{}
			Expect(kube.List(ctx, left, ctrlclient.InNamespace(b.Namespace), ctrlclient.HasLabels{v1alpha1.LabelBenchmark})).
				To(Succeed())
			return left.Items
		}).WithContext(ctx).WithTimeout(shortly).Should(BeEmpty(), "configurations of the proxy")
	}, SpecTimeout(8*time.Minute))

	It("goes through the Service of a GaleraProxy, which is proved to encrypt", func(ctx SpecContext) {
		image := loadProxy(ctx)
		namespace := newNamespace(ctx, "bench")
		b := createBenchmark(ctx, namespace, func(s *v1alpha1.GaleraBenchmarkSpec) {
			s.Cluster.Template.Replicas = 1
			s.Arms = []v1alpha1.BenchmarkArm{
				{Name: "plain", TLS: v1alpha1.BenchmarkTLS{Clients: v1alpha1.TLSDisabled}},
				{Name: "encrypted", TLS: v1alpha1.BenchmarkTLS{Clients: v1alpha1.TLSRequired}},
			}
			connect := v1alpha1.ConnectWorkload{Threads: []int32{4}, Duration: &metav1.Duration{Duration: 5 * time.Second}}
			pooled := connect
			pooled.Via, pooled.ProxyRef = v1alpha1.ViaGaleraProxy, &v1alpha1.LocalName{Name: "pool"}
			s.Workloads = []v1alpha1.BenchmarkWorkload{{Name: "direct", Connect: &connect}, {Name: "pooled", Connect: &pooled}}
		})
		proxy := &v1alpha1.GaleraProxy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "pool"},
			Spec: v1alpha1.GaleraProxySpec{ClusterRef: v1alpha1.ProxyClusterRef{Name: b.Name + "-db"}, Replicas: 1,
				Image: image}}
		Expect(kube.Create(ctx, proxy)).To(Succeed())
		b = waitMeasured(ctx, b, func(*v1alpha1.GaleraBenchmark) {})
		Expect(b.Status.Results).To(ConsistOf(
			And(HaveField("Workload", "direct"), HaveField("Arm", "plain")),
			And(HaveField("Workload", "direct"), HaveField("Arm", "encrypted")),
			And(HaveField("Workload", "pooled"), HaveField("Arm", "encrypted"),
				HaveField("Figures", ContainElement(HaveField("Name", "backendConnectionsPercent"))))))
	}, SpecTimeout(8*time.Minute))

	It("measures transactions through both kinds of proxy, and what these use", func(ctx SpecContext) {
		image := loadProxy(ctx)
		namespace := newNamespace(ctx, "bench")
		b := createBenchmark(ctx, namespace, func(s *v1alpha1.GaleraBenchmarkSpec) {
			s.Cluster.Template.Replicas = 1
			s.Arms = []v1alpha1.BenchmarkArm{{Name: "encrypted"}}
			direct := v1alpha1.OLTPWorkload{Profile: "ReadWrite", Tables: 1, TableSize: 10000, Threads: []int32{1, 60},
				Duration: &metav1.Duration{Duration: 5 * time.Second}, Target: "Primary"}
			alongside, service := direct, direct
			alongside.Via, alongside.Proxy = v1alpha1.ViaPoolingProxy, &v1alpha1.BenchmarkProxy{Image: image}
			service.Via, service.ProxyRef = v1alpha1.ViaGaleraProxy, &v1alpha1.LocalName{Name: "pool"}
			s.Workloads = []v1alpha1.BenchmarkWorkload{{Name: "direct", OLTP: &direct}, {Name: "alongside", OLTP: &alongside},
				{Name: "service", OLTP: &service}}
		})
		Expect(kube.Create(ctx, &v1alpha1.GaleraProxy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "pool"},
			Spec: v1alpha1.GaleraProxySpec{ClusterRef: v1alpha1.ProxyClusterRef{Name: b.Name + "-db"}, Replicas: 1,
				Image: image}})).To(Succeed())
		b = waitMeasured(ctx, b, func(*v1alpha1.GaleraBenchmark) {})
		Expect(b.Status.Results).To(HaveLen(6))
		for _, r := range b.Status.Results {
			progress("%s %s: %v", r.Workload, r.Variant, r.Figures)
			used := ContainElements(HaveField("Name", "proxyCPUMicros"), HaveField("Name", "proxyMemoryMiB"))
			if r.Workload == "direct" {
				used = Not(ContainElement(HaveField("Name", HavePrefix("proxy"))))
			}
			Expect(r.Figures).To(used, r.Workload+" "+r.Variant)
		}
	}, SpecTimeout(8*time.Minute))
})
