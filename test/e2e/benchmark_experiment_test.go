package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

var _ = Describe("An experiment", Label(Slow), func() {
	It("is run by one command, which leaves its report with its raw data, and removes the benchmark",
		func(ctx SpecContext) {
			namespace, folder := newNamespace(ctx, "experiment"), GinkgoT().TempDir()
			file := filepath.Join(folder, "tiny.yaml")
			Expect(os.WriteFile(file, []byte(tinyBenchmark), 0o600)).To(Succeed())
			command := exec.CommandContext(ctx, "../../hack/experiment.sh", file, folder)
			command.Env = append(os.Environ(), "NAMESPACE="+namespace)
			out, err := command.CombinedOutput()
			Expect(err).NotTo(HaveOccurred(), "%s", out)
			GinkgoWriter.Printf("%s\n", out)

			read := func(name string) string {
				text, err := os.ReadFile(filepath.Join(folder, name))
				Expect(err).NotTo(HaveOccurred())
				return string(text)
			}
			Expect(read("tiny.md")).To(And(HavePrefix("# tiny\n"), ContainSubstring("(tiny.json)"),
				ContainSubstring("| write-only | encrypted | 1 |"), ContainSubstring("- operator image: ")))
			Expect(read("tiny.csv")).To(ContainSubstring(",encrypted,write-only,"))
			Expect(read("tiny.svg")).To(ContainSubstring("First round, CPU of all nodes: write-only"))
			left := &v1alpha1.GaleraBenchmarkList{}
			Expect(kube.List(ctx, left, ctrlclient.InNamespace(namespace))).To(Succeed())
			Expect(left.Items).To(BeEmpty())

			By("computing the tables anew from the file, without a cluster")
			again, err := exec.CommandContext(ctx, "../../bin/kubectl-galera-bench", "report",
				filepath.Join(folder, "tiny.json"), "-o", "md").Output()
			Expect(err).NotTo(HaveOccurred())
			Expect(read("tiny.md")).To(ContainSubstring(string(again)))
		}, SpecTimeout(8*time.Minute))
})
