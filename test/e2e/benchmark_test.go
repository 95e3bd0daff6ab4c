package e2e

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// tinyBenchmark measures next to nothing; everything around the measurement is real.
const tinyBenchmark = `
apiVersion: galera-operator.io/v1alpha1
kind: GaleraBenchmark
metadata: {name: tiny}
spec:
  cluster: {template: {replicas: 3, storage: {size: 1Gi}}}
  arms:
  - {name: plain, tls: {replication: Disabled}}
  - {name: encrypted, tls: {replication: Required}}
  rounds: 1
  maxFailedPercent: 50
  workloads:
  - name: write-only
    oltp: {profile: WriteOnly, tables: 1, tableSize: 1000, threads: [2], duration: 5s, warmup: 1s}
`

const benchmarkTime = 6 * time.Minute

var _ = Describe("A benchmark", func() {
	It("tells what encryption costs, of arms whose encryption was proved", Label(Slow), func(ctx SpecContext) {
		b := createBenchmark(ctx)
		b = waitMeasured(ctx, b)
		Expect(b.Status.Progress).To(Equal("2/2"))
		Expect(b.Status.Arms).To(Equal("plain, encrypted"))
		Expect(b.Status.Verdict).To(ContainSubstring("replication TLS: "))
		Expect(b.Status.Results).To(HaveLen(2))
		for _, r := range b.Status.Results {
			Expect(r.Samples).To(BeEquivalentTo(1), r.Arm)
			Expect(r.Figures).NotTo(BeEmpty(), r.Arm)
		}
		By("keeping the raw results, and removing everything else")
		raw := &corev1.ConfigMapList{}
		Expect(kube.List(ctx, raw, ctrlclient.InNamespace(b.Namespace), ctrlclient.MatchingLabels{
			v1alpha1.LabelBenchmark: b.Name, v1alpha1.LabelValid: "true"})).To(Succeed())
		Expect(raw.Items).To(HaveLen(3), "two runs, and the making of the data set")
		Eventually(func() bool {
			err := kube.Get(ctx, ctrlclient.ObjectKey{Namespace: b.Namespace, Name: b.Name + "-db"}, &v1alpha1.GaleraCluster{})
			return apierrors.IsNotFound(err)
		}).WithContext(ctx).WithTimeout(shortly).Should(BeTrue(), "the private cluster goes")
	}, SpecTimeout(8*time.Minute))

	It("goes on where it was when the operator is killed", Label(Slow), func(ctx SpecContext) {
		b := createBenchmark(ctx)
		seen := map[string]bool{}
		Eventually(func() bool {
			Expect(kube.Get(ctx, ctrlclient.ObjectKeyFromObject(b), b)).To(Succeed())
			if r := b.Status.Run; r != nil && !seen[r.Arm+r.Step] {
				seen[r.Arm+r.Step] = true
				Expect(kube.KillOperator(ctx)).To(Succeed())
			}
			return meta.IsStatusConditionTrue(b.Status.Conditions, v1alpha1.ConditionComplete)
		}).WithContext(ctx).WithTimeout(2 * benchmarkTime).WithPolling(200 * time.Millisecond).Should(BeTrue())
		progress("the operator was killed at %d steps", len(seen))
		Expect(b.Status.Progress).To(Equal("2/2"))
	}, SpecTimeout(15*time.Minute))
})

func createBenchmark(ctx context.Context) *v1alpha1.GaleraBenchmark {
	GinkgoHelper()
	b := &v1alpha1.GaleraBenchmark{}
	Expect(yaml.UnmarshalStrict([]byte(tinyBenchmark), b)).To(Succeed())
	b.Namespace = newNamespace(ctx, "bench")
	Expect(kube.Create(ctx, b)).To(Succeed())
	return b
}

// waitMeasured waits for the end and shows the way there.
func waitMeasured(ctx context.Context, b *v1alpha1.GaleraBenchmark) *v1alpha1.GaleraBenchmark {
	GinkgoHelper()
	last := ""
	Eventually(func() bool {
		Expect(kube.Get(ctx, ctrlclient.ObjectKeyFromObject(b), b)).To(Succeed())
		if c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionComplete); c != nil && c.Message != last {
			last = c.Message
			progress("benchmark %s: %s %s", b.Status.Progress, c.Reason, c.Message)
		}
		stalled := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionStalled)
		Expect(stalled == nil || stalled.Status != metav1.ConditionTrue).To(BeTrue(), "%+v", stalled)
		return meta.IsStatusConditionTrue(b.Status.Conditions, v1alpha1.ConditionComplete)
	}).WithContext(ctx).WithTimeout(benchmarkTime).WithPolling(500 * time.Millisecond).Should(BeTrue())
	progress("%s", b.Status.Verdict)
	return b
}
