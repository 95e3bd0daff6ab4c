package e2e

import (
	"os"
	"os/exec"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/matrix"
)

// The samples are run as they are shipped, and their reports are printed: docs/benchmarks.md has what came out.
var _ = DescribeTable("A small benchmark among the samples", Label(Slow, Samples), func(ctx SpecContext, name string) {
	file, err := os.ReadFile("../../config/samples/benchmarks/" + name + ".yaml")
	Expect(err).NotTo(HaveOccurred())
	b := &v1alpha1.GaleraBenchmark{}
	Expect(yaml.UnmarshalStrict(file, b)).To(Succeed())
	b.Namespace = newNamespace(ctx, "sample")
	Expect(kube.Create(ctx, b)).To(Succeed())
	b = waitMeasuredWithin(ctx, b, sampleTime, func(*v1alpha1.GaleraBenchmark) {})

	Expect(b.Status.Results).To(HaveLen(len(b.Spec.Arms) * len(matrix.Cells(&b.Spec))))
	for _, r := range b.Status.Results {
		Expect(r.Samples).To(Equal(b.Spec.Rounds), "%s, %s", r.Workload, r.Arm)
		Expect(r.Figures).NotTo(BeEmpty(), "%s, %s", r.Workload, r.Arm)
	}
	Expect(b.Status.Verdict).NotTo(BeEmpty())
	Expect(b.Status.Environment).NotTo(BeNil())

	report, err := exec.CommandContext(ctx, "../../bin/kubectl-galera", "bench", "report", b.Name, "-n", b.Namespace, "-o", "md").CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), "%s", report)
	GinkgoWriter.Printf("%s\n", report)
},
	Entry("of replication", wholeTime, "replication-encryption-small"),
	Entry("of clients", wholeTime, "client-encryption-small"),
	Entry("of connections", wholeTime, "connections-small"),
	Entry("of full copies", wholeTime, "sst-encryption-small"),
)

const (
	sampleTime = 30 * time.Minute
	wholeTime  = SpecTimeout(sampleTime + 2*time.Minute)
)
