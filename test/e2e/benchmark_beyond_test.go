package e2e

import (
	"os/exec"
	"time"

	"filippo.io/age"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/result"
	"github.com/galera-operator/galera-operator/test/harness"
)

// What was never published: each once, with small sizes.
var _ = Describe("A benchmark of what was never published", Label(Slow), func() {
	It("measures answers by size, key exchanges, and resumption by version and distance", func(ctx SpecContext) {
		short := &metav1.Duration{Duration: 2 * time.Second}
		b := createBenchmark(ctx, newNamespace(ctx, "bench"), func(s *v1alpha1.GaleraBenchmarkSpec) {
			s.Cluster.Template.Replicas = 1
			s.Cluster.Template.TLS.MinVersion = "1.2"
			s.Arms = []v1alpha1.BenchmarkArm{{Name: "plain", TLS: v1alpha1.BenchmarkTLS{Clients: v1alpha1.TLSDisabled}},
				{Name: "encrypted"}}
			s.Workloads = []v1alpha1.BenchmarkWorkload{
				{Name: "answers", ResultSize: &v1alpha1.ResultSizeWorkload{Sizes: []int32{100, 10240, 1048576}, Threads: []int32{2},
					Duration: short}},
				{Name: "exchange", Connect: &v1alpha1.ConnectWorkload{Duration: short, KeyExchanges: []string{"X25519MLKEM768",
					"X25519", "P-256"}}},
				{Name: "far", Connect: &v1alpha1.ConnectWorkload{Duration: short, Threads: []int32{4},
					TLSVersions:       []string{"1.2", "1.3"},
					SessionResumption: []string{"Off", "On"}, Latency: []string{"0s", "100ms"}}},
			}
		})
		b = waitMeasuredWithin(ctx, b, 8*time.Minute, func(*v1alpha1.GaleraBenchmark) {})

		Expect(b.Status.Results).To(HaveLen(2 * (3 + 3 + 8)))
		for _, r := range b.Status.Results {
			Expect(r.Invalid).To(BeZero(), "%s %s on %s: %+v", r.Workload, r.Variant, r.Arm, b.Status.InvalidRuns)
		}
		for _, arm := range []string{"plain", "encrypted"} {
			Expect(figureOf(b, "answers", "size=1048576", arm, result.FigureSentBytes)).To(BeNumerically("~", 1<<20, 1<<18),
				"each answer crosses the wire once")
			Expect(figureOf(b, "answers", "size=100", arm, result.FigureQPS)).
				To(BeNumerically(">", figureOf(b, "answers", "size=1048576", arm, result.FigureQPS)))
		}
		p50 := func(handshake string) float64 {
			return figureOf(b, "far", handshake+",latency=100ms", "encrypted", result.FigureP50)
		}
		Expect(p50("tls=1.2,resumption=Off")).To(BeNumerically(">", p50("tls=1.3,resumption=Off")+80),
			"a handshake of TLS 1.2 waits for one round trip more")
		Expect(p50("tls=1.2,resumption=Off")).To(BeNumerically(">", p50("tls=1.2,resumption=On")+80),
			"a resumed session saves it")

		report, err := exec.CommandContext(ctx, "../../bin/kubectl-galera-bench", "report", b.Name, "-n", b.Namespace,
			"-o", "md").CombinedOutput()
		Expect(err).NotTo(HaveOccurred(), "%s", report)
		GinkgoWriter.Printf("%s\n", report)
		Expect(string(report)).To(And(ContainSubstring("size=1048576"), ContainSubstring("keyExchange=X25519MLKEM768"),
			ContainSubstring("tls=1.2,resumption=On,latency=100ms")))
	}, SpecTimeout(9*time.Minute))

	It("measures what a renewal, a restart and a promotion cost a load", func(ctx SpecContext) {
		b := createBenchmark(ctx, newNamespace(ctx, "bench"), func(s *v1alpha1.GaleraBenchmarkSpec) {
			s.Arms = []v1alpha1.BenchmarkArm{{Name: "encrypted"}}
			s.Workloads = []v1alpha1.BenchmarkWorkload{{Name: "op", Operation: &v1alpha1.OperationWorkload{
				Operations: []string{v1alpha1.OperationRestart, v1alpha1.OperationPromotion, v1alpha1.OperationRenewal}, Tables: 1,
				TableSize: 1000, Threads: 4}}}
		})
		b = waitMeasuredWithin(ctx, b, 8*time.Minute, func(*v1alpha1.GaleraBenchmark) {})
		Expect(b.Status.Results).To(HaveLen(3))
		for _, r := range b.Status.Results {
			Expect(r.Samples).To(BeEquivalentTo(1), r.Variant)
			for _, figure := range []string{result.FigureTPSBefore, result.FigureTPS, result.FigureP95Before, result.FigureP95,
				result.FigureGapBefore, result.FigureGap} {
				Expect(figureOf(b, "op", r.Variant, "encrypted", figure)).To(BeNumerically(">", 0), "%s of %s", figure, r.Variant)
			}
		}
		Expect(figureOf(b, "op", "operation=Restart", "encrypted", result.FigureSeconds)).To(BeNumerically(">", 0))
		report, err := exec.CommandContext(ctx, "../../bin/kubectl-galera-bench", "report", b.Name, "-n", b.Namespace,
			"-o", "md").CombinedOutput()
		Expect(err).NotTo(HaveOccurred(), "%s", report)
		GinkgoWriter.Printf("%s\n%+v\n", report, b.Status.InvalidRuns)
	}, SpecTimeout(9*time.Minute))

	It("measures what a switch of encryption, joins and a backup cost a load", func(ctx SpecContext) {
		ns := newNamespace(ctx, "bench")
		objects, err := harness.StartObjectStore(ctx, kube, ns)
		Expect(err).NotTo(HaveOccurred())
		identity, err := age.GenerateX25519Identity()
		Expect(err).NotTo(HaveOccurred())
		makeStore(ctx, objects, ns, identity)
		b := createBenchmark(ctx, ns, func(s *v1alpha1.GaleraBenchmarkSpec) {
			s.Arms = []v1alpha1.BenchmarkArm{{Name: "encrypted"}}
			s.Workloads = []v1alpha1.BenchmarkWorkload{{Name: "op",
				Operation: &v1alpha1.OperationWorkload{StoreRef: &v1alpha1.LocalName{Name: "offsite"},
					Operations: []string{v1alpha1.OperationBackup, v1alpha1.OperationJoinIST, v1alpha1.OperationJoinSST,
						v1alpha1.OperationSwitch}, Tables: 1, TableSize: 1000, Threads: 4}}}
		})
		b = waitMeasuredWithin(ctx, b, 13*time.Minute, func(*v1alpha1.GaleraBenchmark) {})
		GinkgoWriter.Printf("%+v\n", b.Status.InvalidRuns)
		Expect(b.Status.Results).To(HaveLen(4))
		for _, r := range b.Status.Results {
			Expect(r.Samples).To(BeEquivalentTo(1), r.Variant)
			for _, figure := range []string{result.FigureTPSBefore, result.FigureTPS, result.FigureP95Before, result.FigureP95,
				result.FigureGapBefore, result.FigureGap, result.FigureSeconds} {
				Expect(figureOf(b, "op", r.Variant, "encrypted", figure)).To(BeNumerically(">", 0), "%s of %s", figure, r.Variant)
			}
		}
		report, err := exec.CommandContext(ctx, "../../bin/kubectl-galera-bench", "report", b.Name, "-n", b.Namespace,
			"-o", "md").CombinedOutput()
		Expect(err).NotTo(HaveOccurred(), "%s", report)
		GinkgoWriter.Printf("%s\n", report)
		eventually(ctx, func(o Gomega) {
			keys, err := objects.Keys(ctx)
			o.Expect(err).NotTo(HaveOccurred())
			o.Expect(keys).NotTo(ContainElement(ContainSubstring("manifest.json")), "the backup's data went with it")
		})
	}, SpecTimeout(15*time.Minute))
})
