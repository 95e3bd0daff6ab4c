package e2e

import (
	"os/exec"
	"strconv"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/result"
)

// What the published experiments took: each way once, with small sizes.
var _ = Describe("A benchmark of what was published", Label(Slow), func() {
	It("measures ciphers, arms without AES instructions, chosen ciphers of SSH, a VPN and clients without a query",
		func(ctx SpecContext) {
			short := &metav1.Duration{Duration: 3 * time.Second}
			b := createBenchmark(ctx, newNamespace(ctx, "bench"), func(s *v1alpha1.GaleraBenchmarkSpec) {
				s.Cluster.Template.Replicas = 1
				s.Arms = []v1alpha1.BenchmarkArm{
					{Name: "plain", TLS: v1alpha1.BenchmarkTLS{Clients: v1alpha1.TLSDisabled}},
					{Name: "in-software", TLS: v1alpha1.BenchmarkTLS{Cipher: "TLS_AES_128_GCM_SHA256"},
						CPUAcceleration: v1alpha1.AccelerationOff},
				}
				s.Workloads = []v1alpha1.BenchmarkWorkload{
					{Name: "read", OLTP: &v1alpha1.OLTPWorkload{Profile: "ReadWrite", Tables: 1, TableSize: 1000, Threads: []int32{4},
						Duration: &metav1.Duration{Duration: 6 * time.Second}, Target: "Primary"}},
					{Name: "silent", Connect: &v1alpha1.ConnectWorkload{Connections: 100, Query: v1alpha1.QueryNone}},
					{Name: "ssh", Connect: &v1alpha1.ConnectWorkload{Duration: short, Via: v1alpha1.ViaSSHTunnel,
						SSHCiphers: []string{"aes256-ctr", "aes256-cbc"}}},
					{Name: "vpn", Connect: &v1alpha1.ConnectWorkload{Duration: short, Via: v1alpha1.ViaWireGuard}},
					{Name: "cipher", Cipher: &v1alpha1.CipherWorkload{Ciphers: []string{"TLS_AES_128_GCM_SHA256", "AES-128-CTR"}}},
				}
			})
			b = waitMeasured(ctx, b, func(*v1alpha1.GaleraBenchmark) {})

			Expect(b.Status.Results).To(HaveLen(2*5+4), "ciphers are measured with the baseline alone")
			for _, name := range []string{result.FigureAverage, result.FigureSentBytes, result.FigureReplicatedBytes} {
				Expect(figureOf(b, "read", "", "in-software", name)).To(BeNumerically(">", 0), name)
			}
			Expect(figureOf(b, "read", "", "in-software", result.FigureSentBytes)).To(BeNumerically(">", 1000),
				"answers of twenty queries")
			for _, cipher := range []string{"aes256-ctr", "aes256-cbc"} {
				Expect(figureOf(b, "ssh", "ssh="+cipher, "plain", result.FigureConnectionsPerSecond)).To(BeNumerically(">", 0))
			}
			Expect(figureOf(b, "vpn", "", "plain", result.FigureConnectionsPerSecond)).To(BeNumerically(">", 0))
			with := figureOf(b, "cipher", "cipher=TLS_AES_128_GCM_SHA256,cpuAcceleration=On", "plain",
				result.FigureMegabytesPerSecond)
			without := figureOf(b, "cipher", "cipher=TLS_AES_128_GCM_SHA256,cpuAcceleration=Off", "plain",
				result.FigureMegabytesPerSecond)
			Expect(with).To(BeNumerically(">", 2*without), "the instructions are hidden")
			Expect(figureOf(b, "cipher", "cipher=AES-128-CTR,cpuAcceleration=On", "plain", "megabytesPerSecond16B")).
				To(BeNumerically(">", 0))

			for args, want := range map[string]string{"report": "aes256-cbc", "recommend": "replication: Required"} {
				out, err := exec.CommandContext(ctx, "../../bin/kubectl-galera-bench", args, b.Name, "-n", b.Namespace).
					CombinedOutput()
				Expect(err).NotTo(HaveOccurred(), "%s", out)
				Expect(string(out)).To(ContainSubstring(want))
				GinkgoWriter.Printf("%s\n", out)
			}
			svg, err := exec.CommandContext(ctx, "../../bin/kubectl-galera-bench", "report", b.Name, "-n", b.Namespace, "-o",
				"svg").CombinedOutput()
			Expect(err).NotTo(HaveOccurred(), "%s", svg)
			Expect(string(svg)).To(And(ContainSubstring("First round, CPU of all nodes: read"),
				ContainSubstring("First round, network of all nodes: read")))
		}, SpecTimeout(8*time.Minute))

	It("copies several databases by rsync, with one process and with two", func(ctx SpecContext) {
		b := createBenchmark(ctx, newNamespace(ctx, "bench"), func(s *v1alpha1.GaleraBenchmarkSpec) {
			s.Cluster.Template.Replicas = 3
			s.Arms = []v1alpha1.BenchmarkArm{{Name: "encrypted"}}
			s.Workloads = []v1alpha1.BenchmarkWorkload{{Name: "copy", StateTransfer: &v1alpha1.StateTransferWorkload{
				Databases: 2, Tables: 1, TableSize: 1000, Methods: []string{"Rsync"}, Parallel: []int32{1, 2}}}}
		})
		b = waitMeasured(ctx, b, func(*v1alpha1.GaleraBenchmark) {})
		Expect(b.Status.Results).To(HaveLen(2))
		for _, parallel := range []string{"1", "2"} {
			Expect(figureOf(b, "copy", "parallel="+parallel, "encrypted", result.FigureMegabytesPerSecond)).
				To(BeNumerically(">", 0))
		}
		Expect(b.Status.Environment.DataSets).To(HaveLen(1))
		Expect(b.Status.Environment.DataSets[0].Databases).To(BeEquivalentTo(2))
	}, SpecTimeout(8*time.Minute))
})

// figureOf is the median of a figure; 0 when there is none.
func figureOf(b *v1alpha1.GaleraBenchmark, workload, variant, arm, figure string) float64 {
	GinkgoHelper()
	for _, r := range b.Status.Results {
		if r.Workload != workload || r.Variant != variant || r.Arm != arm {
			continue
		}
		for _, f := range r.Figures {
			if f.Name == figure {
				v, err := strconv.ParseFloat(f.Median, 64)
				Expect(err).NotTo(HaveOccurred())
				return v
			}
		}
	}
	return 0
}
