package e2e

import (
	"os"
	"os/exec"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/experiment"
)

// The samples are run as they are shipped, and their reports are printed: docs/experiments.md has what came out.
var _ = DescribeTable("A small benchmark among the samples", Label(Slow, Samples), func(ctx SpecContext, name string) {
	file, err := os.ReadFile("../../config/samples/benchmarks/" + name + ".yaml")
	Expect(err).NotTo(HaveOccurred())
	b := &v1alpha1.GaleraBenchmark{}
	first, second, has := strings.Cut(string(file), "\n---\n")
	Expect(yaml.UnmarshalStrict([]byte(first), b)).To(Succeed())
	for i := range b.Spec.Workloads {
		if alongside, _ := experiment.Through(&b.Spec.Workloads[i]); alongside != nil {
			alongside.Image = loadProxy(ctx)
		}
	}
	b.Namespace = newNamespace(ctx, "sample")
	Expect(kube.Create(ctx, b)).To(Succeed())
	if has {
		proxy := &v1alpha1.GaleraProxy{}
		Expect(yaml.UnmarshalStrict([]byte(second), proxy)).To(Succeed())
		proxy.Namespace, proxy.Spec.Image = b.Namespace, loadProxy(ctx)
		Expect(kube.Create(ctx, proxy)).To(Succeed())
	}
	visit := func(*v1alpha1.GaleraBenchmark) {}
	if b.Spec.Arms[0].TLS.Replication == v1alpha1.TLSDisabled && b.Spec.Workloads[0].OLTP != nil {
		visit = proveFirstRound(ctx, b)
	}
	b = waitMeasuredWithin(ctx, b, sampleTime, visit)

	Expect(b.Status.Results).To(HaveLen(len(experiment.Runs(&b.Spec)) / int(b.Spec.Rounds)))
	for _, r := range b.Status.Results {
		Expect(r.Samples).To(Equal(b.Spec.Rounds), "%s, %s", r.Workload, r.Arm)
		Expect(r.Figures).NotTo(BeEmpty(), "%s, %s", r.Workload, r.Arm)
	}
	if len(b.Spec.Arms) > 1 {
		Expect(b.Status.Verdict).NotTo(BeEmpty())
	}
	Expect(b.Status.Environment).NotTo(BeNil())

	report, err := exec.CommandContext(ctx, "../../bin/kubectl-galera-bench", "report", b.Name, "-n", b.Namespace, "-o",
		"md").CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), "%s", report)
	GinkgoWriter.Printf("%s\n", report)
},
	Entry("of replication", wholeTime, "replication-encryption-small"),
	Entry("of a pooling proxy", wholeTime, "pooled-connections"),
	Entry("of transactions through proxies", wholeTime, "pooled-read-write"),
	Entry("of clients", wholeTime, "client-encryption-small"),
	Entry("of connections", wholeTime, "connections-small"),
	Entry("of connections one by one", wholeTime, "connections-one-by-one-small"),
	Entry("of connections over links", wholeTime, "connections-far-small"),
	Entry("of connections through a VPN", wholeTime, "vpn-connections"),
	Entry("of few connections through a pooling proxy", wholeTime, "pooled-connections-small"),
	Entry("of answers by size", wholeTime, "result-size-small"),
	Entry("of resumption", wholeTime, "resumption-by-distance-small"),
	Entry("of key exchanges", wholeTime, "key-exchange-small"),
	Entry("of clients without AES instructions", wholeTime, "clients-without-aes-small"),
	Entry("of keys for replication", wholeTime, "replication-by-key"),
	Entry("of full copies", wholeTime, "sst-encryption-small"),
	Entry("of ways of a full copy", wholeTime, "sst-by-method-small"),
)

// proveFirstRound looks into the packets of a benchmark of replication while its first round is measured, and no
// longer, as that takes of the processors that are measured: a write is found in clear with the arm plain, and none
// with any other.
func proveFirstRound(ctx SpecContext, b *v1alpha1.GaleraBenchmark) func(*v1alpha1.GaleraBenchmark) {
	GinkgoHelper()
	inClear, done := watchReplication(ctx, b), false
	DeferCleanup(func() { Expect(done).To(BeTrue(), "the first round was checked") })
	return func(b *v1alpha1.GaleraBenchmark) {
		if done {
			return
		}
		inClear.observe(b)
		if r := b.Status.Run; r == nil || r.Round == 1 {
			return
		}
		done = true
		counts, err := inClear.capture.Stop()
		Expect(err).NotTo(HaveOccurred())
		progress("writes seen in clear in the first round, by arm: %v; %d bytes checked", inClear.byArm,
			counts[portReplication].Bytes)
		Expect(inClear.byArm["plain"]).To(BeNumerically(">", 1000), "the capture must be able to find rows")
		Expect(inClear.byArm).To(HaveKeyWithValue("encrypted", 0))
	}
}

const (
	sampleTime = 100 * time.Minute
	wholeTime  = SpecTimeout(sampleTime + 2*time.Minute)
)
