package e2e

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/transport"
	"github.com/galera-operator/galera-operator/test/harness"
)

var _ = Describe("A benchmark of connections", Label(Slow), func() {
	It("goes through SSH, where nothing is in clear, and removes the server and its keys", func(ctx SpecContext) {
		workers, err := kube.Hosts().Workers(ctx)
		Expect(err).NotTo(HaveOccurred())
		ports := []uint16{portClients, transport.SSHPort}
		capture, err := harness.StartCapture(ctx, workers, ports, "SELECT 1")
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() { _, _ = capture.Stop() })
		b := createBenchmark(ctx, newNamespace(ctx, "bench"), func(s *v1alpha1.GaleraBenchmarkSpec) {
			s.Cluster.Template.Replicas = 1
			s.Arms = []v1alpha1.BenchmarkArm{{Name: "plain", TLS: v1alpha1.BenchmarkTLS{Clients: v1alpha1.TLSDisabled}}}
			short := &metav1.Duration{Duration: 3 * time.Second}
			s.Workloads = []v1alpha1.BenchmarkWorkload{
				{Name: "direct", Connect: &v1alpha1.ConnectWorkload{Threads: []int32{4}, Duration: short}},
				{Name: "through-ssh", Connect: &v1alpha1.ConnectWorkload{Threads: []int32{4}, Duration: short,
					Via: v1alpha1.ViaSSHTunnel}},
			}
		})
		b = waitMeasured(ctx, b, func(*v1alpha1.GaleraBenchmark) {})
		for _, r := range b.Status.Results {
			Expect(r.Figures).To(ContainElement(HaveField("Name", "connectionsPerSecond")), r.Workload)
			Expect(r.Invalid).To(BeZero(), r.Workload)
		}
		Expect(b.Status.Results).To(HaveLen(2))
		counts, err := capture.Stop()
		Expect(err).NotTo(HaveOccurred())
		Expect(counts[portClients].Markers).To(BeNumerically(">", 0), "the capture must be able to find queries")
		Expect(counts[transport.SSHPort].Bytes).To(BeNumerically(">", 100_000), "the connections went through SSH")
		Expect(counts[transport.SSHPort].Markers).To(BeZero(), "queries in clear inside SSH")
		Eventually(func() int { return tunnelParts(ctx, b.Namespace) }).WithContext(ctx).WithTimeout(shortly).Should(BeZero())
	}, SpecTimeout(6*time.Minute))
})

// tunnelParts counts what SSH servers of benchmarks have left.
func tunnelParts(ctx context.Context, namespace string) int {
	GinkgoHelper()
	servers, keys := &appsv1.DeploymentList{}, &corev1.SecretList{}
	Expect(kube.List(ctx, servers, ctrlclient.InNamespace(namespace), ctrlclient.HasLabels{v1alpha1.LabelBenchmark})).
		To(Succeed())
	Expect(kube.List(ctx, keys, ctrlclient.InNamespace(namespace), ctrlclient.HasLabels{v1alpha1.LabelBenchmark})).
		To(Succeed())
	return len(servers.Items) + len(keys.Items)
}
