package e2e

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/transport"
	"github.com/galera-operator/galera-operator/test/harness"
)

// init has the port of a benchmark's SSH server dialled wherever the others are.
func init() { dialled = append(dialled, transport.SSHPort) }

var _ = Describe("NetworkPolicies that are enforced around a benchmark", Label(Wire), func() {
	It("let it through, and only its pods to its SSH server", Label(Slow), func(ctx SpecContext) {
		policies := enforce(ctx)
		namespace := newNamespace(ctx, "bench")
		people := bystanders(ctx, namespace)
		benchmarks := networkingv1.NetworkPolicyPeer{PodSelector: &metav1.LabelSelector{
			MatchLabels: map[string]string{"app.kubernetes.io/component": "benchmark"}}}
		b := createBenchmark(ctx, namespace, func(s *v1alpha1.GaleraBenchmarkSpec) {
			s.Cluster.Template.Replicas = 1
			s.Cluster.Template.NetworkPolicy.ClientsFrom = []networkingv1.NetworkPolicyPeer{benchmarks}
			s.Arms = []v1alpha1.BenchmarkArm{{Name: "plain", TLS: v1alpha1.BenchmarkTLS{Clients: v1alpha1.TLSDisabled}}}
			long := &metav1.Duration{Duration: 15 * time.Second}
			s.Workloads = []v1alpha1.BenchmarkWorkload{
				{Name: "direct", Connect: &v1alpha1.ConnectWorkload{Threads: []int32{4}, Duration: long}},
				{Name: "through-ssh", Connect: &v1alpha1.ConnectWorkload{Threads: []int32{4}, Duration: long,
					Via: v1alpha1.ViaSSHTunnel}},
			}
		})
		seen := false
		b = waitMeasured(ctx, b, func(*v1alpha1.GaleraBenchmark) {
			server, load := benchmarkPods(ctx, namespace)
			if seen || server == nil || load == nil {
				return
			}
			seen = true
			expectNothingRefused(ctx, policies, kube.Cluster(namespace, b.Name+"-db"))
			expectConnections(ctx, server, map[string][]uint16{"load": {transport.SSHPort}, "stranger": noPorts,
				"client":    noPorts,
				"elsewhere": noPorts}, withPods(people, "load", load))
			By("looking for what listens in the load generator, which no policy selects")
			Expect(harness.Listens(server)).To(ContainElement(BeEquivalentTo(transport.SSHPort)))
			Expect(harness.Listens(load)).To(BeEmpty())
		})
		Expect(seen).To(BeTrue(), "the SSH server and the load generator were not seen at the same time")
		Expect(b.Status.Results).To(HaveLen(2))
		for _, r := range b.Status.Results {
			Expect(r.Invalid).To(BeZero(), r.Workload)
		}
	}, SpecTimeout(10*time.Minute))
})

// benchmarkPods are the SSH server and the load generator of a benchmark that run, or nil.
func benchmarkPods(ctx context.Context, namespace string) (server, load *corev1.Pod) {
	GinkgoHelper()
	list := &corev1.PodList{}
	Expect(kube.List(ctx, list, ctrlclient.InNamespace(namespace), ctrlclient.HasLabels{v1alpha1.LabelBenchmark})).
		To(Succeed())
	for i := range list.Items {
		p := &list.Items[i]
		switch {
		case p.Status.Phase != corev1.PodRunning || p.Status.PodIP == "" || p.DeletionTimestamp != nil:
		case p.Labels[v1alpha1.LabelTunnel] != "":
			server = p
		default:
			load = p
		}
	}
	return server, load
}
