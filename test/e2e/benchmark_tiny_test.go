package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/test/harness"
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

var _ = Describe("A benchmark", Label(Slow), func() {
	It("reports what encryption costs, of arms whose encryption was proved", func(ctx SpecContext) {
		b := createBenchmark(ctx, newNamespace(ctx, "bench"), nil)
		inClear := watchReplication(ctx, b)
		pods := 0
		b = waitMeasured(ctx, b, func(b *v1alpha1.GaleraBenchmark) {
			inClear.observe(b)
			pods += holdNoRootPassword(ctx, b, b.Name+"-db")
		})
		Expect(pods).To(BeNumerically(">", 0), "pods of Jobs that were checked")
		Expect(b.Status.Progress).To(Equal("2/2"))
		Expect(b.Status.ArmNames).To(Equal([]string{"plain", "encrypted"}))
		Expect(b.Status.Verdict).To(ContainSubstring("encrypted: "))
		Expect(b.Status.Results).To(HaveLen(2))
		for _, r := range b.Status.Results {
			Expect(r.Samples).To(BeEquivalentTo(1), r.Arm)
			Expect(r.Figures).NotTo(BeEmpty(), r.Arm)
		}
		By("having sent rows in clear with one arm, and not one with the other")
		Expect(inClear.byArm["plain"]).To(BeNumerically(">", 0), "the capture must be able to find rows")
		Expect(inClear.byArm).To(HaveKeyWithValue("encrypted", 0))
		By("keeping the raw results, and removing everything else")
		Expect(rawResults(ctx, b)).To(HaveLen(3), "two runs, and the making of the data set")
		Eventually(func() bool {
			err := kube.Get(ctx, ctrlclient.ObjectKey{Namespace: b.Namespace, Name: b.Name + "-db"}, &v1alpha1.GaleraCluster{})
			return apierrors.IsNotFound(err)
		}).WithContext(ctx).WithTimeout(shortly).Should(BeTrue(), "the private cluster goes")
	}, SpecTimeout(8*time.Minute))

	It("goes on where it was when its program and the operator are killed, and repeats a run in which a node was lost",
		Label(Faults),
		func(ctx SpecContext) {
			b := createBenchmark(ctx, newNamespace(ctx, "bench"), func(s *v1alpha1.GaleraBenchmarkSpec) {
				s.Workloads[0].OLTP.Duration = &metav1.Duration{Duration: 10 * time.Second}
			})
			killed, lost, measured := map[string]bool{}, false, map[types.UID]bool{}
			b = waitMeasured(ctx, b, func(b *v1alpha1.GaleraBenchmark) {
				run := b.Status.Run
				if run == nil {
					return
				}
				if run.Step == "Measure" && !lost && jobRuns(ctx, b, "-run-001-1") {
					lost = true
					progress("killing a database server during the run")
					Expect(kube.Cluster(b.Namespace, b.Name+"-db").Servers().Kill(ctx, b.Name+"-db-2")).To(Succeed())
				}
				if at := run.Step + " of " + run.Arm; !killed[at] {
					killed[at] = true
					maps.Copy(measured, rawResults(ctx, b))
					progress("killing the operator and the benchmarks' program at the step %s, with %d results", at, len(measured))
					Expect(kube.Operator().DeletePod(ctx)).To(Succeed())
					Expect(kube.Operator().DeleteBenchmarksPod(ctx)).To(Succeed())
				}
			})
			Expect(killed).To(And(HaveKey("Switch of plain"), HaveKey("Measure of plain"), HaveKey("Switch of encrypted"),
				HaveKey("Measure of encrypted")))
			Expect(b.Status.Progress).To(Equal("2/2"))
			Expect(len(measured)).To(BeNumerically(">=", 2), "something measured was at stake: the data set and a run")
			after := rawResults(ctx, b)
			for uid := range measured {
				Expect(after).To(HaveKey(uid), "what was measured stays measured")
			}
			Expect(after).To(HaveLen(3), "two runs, and the making of the data set")
			Expect(b.Status.InvalidRuns).To(HaveLen(1))
			Expect(b.Status.InvalidRuns[0].Index).To(BeEquivalentTo(1))
			Expect(b.Status.InvalidRuns[0].Reason).To(Or(ContainSubstring("was restarted"), ContainSubstring("left or joined"),
				ContainSubstring("did not answer")))
			Expect(b.Status.Results[0].Invalid).To(BeEquivalentTo(1))
		}, SpecTimeout(8*time.Minute))

	It("of a private cluster takes everything with it when it is deleted in the middle", func(ctx SpecContext) {
		b := createBenchmark(ctx, newNamespace(ctx, "bench"), nil)
		Eventually(func() bool {
			Expect(kube.Get(ctx, ctrlclient.ObjectKeyFromObject(b), b)).To(Succeed())
			return jobRuns(ctx, b, "-run-001-1")
		}).WithContext(ctx).WithTimeout(benchmarkTime).WithPolling(500*time.Millisecond).Should(BeTrue(), "a run begins")
		Expect(kube.Delete(ctx, b)).To(Succeed())
		Eventually(func(g Gomega) {
			for _, list := range []ctrlclient.ObjectList{&v1alpha1.GaleraClusterList{}, &batchv1.JobList{}, &corev1.PodList{},
				&corev1.PersistentVolumeClaimList{}} {
				g.Expect(kube.List(ctx, list, ctrlclient.InNamespace(b.Namespace))).To(Succeed())
				g.Expect(meta.LenList(list)).To(BeZero(), "%T", list)
			}
			for _, list := range []ctrlclient.ObjectList{&corev1.ConfigMapList{}, &corev1.SecretList{},
				&corev1.ServiceAccountList{}} {
				g.Expect(kube.List(ctx, list, ctrlclient.InNamespace(b.Namespace),
					ctrlclient.MatchingLabels{v1alpha1.LabelBenchmark: b.Name})).To(Succeed())
				g.Expect(meta.LenList(list)).To(BeZero(), "%T", list)
			}
		}).WithContext(ctx).WithTimeout(4*time.Minute).WithPolling(time.Second).Should(Succeed(), "nothing is left")
	}, SpecTimeout(10*time.Minute))

	It("of an existing cluster puts everything back when it is deleted in the middle", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		before, err := shop.Get(ctx)
		Expect(err).NotTo(HaveOccurred())
		b := createBenchmark(ctx, shop.Namespace, func(s *v1alpha1.GaleraBenchmarkSpec) {
			s.Cluster = v1alpha1.BenchmarkCluster{Ref: &v1alpha1.BenchmarkClusterRef{Name: shop.Name}}
			s.Arms = []v1alpha1.BenchmarkArm{{Name: "own"}}
		})
		Eventually(func() bool {
			Expect(kube.Get(ctx, ctrlclient.ObjectKeyFromObject(b), b)).To(Succeed())
			return jobRuns(ctx, b, "-run-001-1")
		}).WithContext(ctx).WithTimeout(benchmarkTime).WithPolling(500*time.Millisecond).Should(BeTrue(), "a run begins")
		during, err := shop.Get(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(during.Spec).To(Equal(before.Spec), "the spec is the user's")
		Expect(holdNoRootPassword(ctx, b, shop.Name)).To(BeNumerically(">", 0))
		Expect(benchmarkUsers(ctx, shop)).To(Equal(2), "the account of the Jobs, and that of their certificate")
		Expect(kube.Delete(ctx, b)).To(Succeed())
		Eventually(func() bool {
			return apierrors.IsNotFound(kube.Get(ctx, ctrlclient.ObjectKeyFromObject(b), b))
		}).WithContext(ctx).WithTimeout(3*time.Minute).WithPolling(500*time.Millisecond).Should(BeTrue(),
			"the benchmark goes")
		after, err := shop.Get(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(after.Spec).To(Equal(before.Spec))
		Expect(after.Annotations).To(Equal(before.Annotations))
		db, err := client(ctx, shop).OpenService(ctx, shop.Name)
		Expect(err).NotTo(HaveOccurred())
		defer func() { _ = db.Close() }()
		left := -1
		Expect(db.QueryRowContext(ctx, "SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name LIKE 'bench%'").
			Scan(&left)).To(Succeed())
		Expect(left).To(BeZero(), "databases of the benchmark")
		Expect(benchmarkUsers(ctx, shop)).To(BeZero(), "accounts of the benchmark")
	}, SpecTimeout(8*time.Minute))
})

// holdNoRootPassword checks all pods of a benchmark: nothing in them names the Secret of root's password, nor one with
// a key of the nodes. It returns how many there are.
func holdNoRootPassword(ctx context.Context, b *v1alpha1.GaleraBenchmark, cluster string) int {
	GinkgoHelper()
	pods := &corev1.PodList{}
	Expect(kube.List(ctx, pods, ctrlclient.InNamespace(b.Namespace),
		ctrlclient.MatchingLabels{v1alpha1.LabelBenchmark: b.Name})).To(Succeed())
	for _, p := range pods.Items {
		text, err := json.Marshal(p.Spec)
		Expect(err).NotTo(HaveOccurred())
		for _, secret := range []string{"-root", "-tls", "-issued", "-ca-pair", "-client-ca-pair"} {
			Expect(string(text)).NotTo(ContainSubstring(`"`+cluster+secret+`"`), p.Name)
		}
	}
	return len(pods.Items)
}

// benchmarkUsers counts the accounts of benchmarks in the database.
func benchmarkUsers(ctx context.Context, c *harness.Cluster) (n int) {
	GinkgoHelper()
	db, err := client(ctx, c).OpenService(ctx, c.Name)
	Expect(err).NotTo(HaveOccurred())
	defer func() { _ = db.Close() }()
	Expect(db.QueryRowContext(ctx, "SELECT COUNT(*) FROM mysql.user WHERE LEFT(User, 6) = 'bench_'").Scan(&n)).
		To(Succeed())
	return n
}

// rawResults are the records that count.
func rawResults(ctx context.Context, b *v1alpha1.GaleraBenchmark) map[types.UID]bool {
	GinkgoHelper()
	raw, out := &corev1.ConfigMapList{}, map[types.UID]bool{}
	Expect(kube.List(ctx, raw, ctrlclient.InNamespace(b.Namespace), ctrlclient.MatchingLabels{
		v1alpha1.LabelBenchmark: b.Name, v1alpha1.LabelValid: "true"})).To(Succeed())
	for _, cm := range raw.Items {
		out[cm.UID] = true
	}
	return out
}

func createBenchmark(ctx context.Context, namespace string,
	edit func(*v1alpha1.GaleraBenchmarkSpec)) *v1alpha1.GaleraBenchmark {
	GinkgoHelper()
	b := &v1alpha1.GaleraBenchmark{}
	Expect(yaml.UnmarshalStrict([]byte(tinyBenchmark), b)).To(Succeed())
	b.Namespace = namespace
	if edit != nil {
		edit(&b.Spec)
	}
	Expect(kube.Create(ctx, b)).To(Succeed())
	return b
}

// waitMeasured waits for the end of a tiny benchmark and shows its progress; visit sees every state on it.
func waitMeasured(ctx context.Context, b *v1alpha1.GaleraBenchmark,
	visit func(*v1alpha1.GaleraBenchmark)) *v1alpha1.GaleraBenchmark {
	GinkgoHelper()
	return waitMeasuredWithin(ctx, b, benchmarkTime, visit)
}

func waitMeasuredWithin(ctx context.Context, b *v1alpha1.GaleraBenchmark, limit time.Duration,
	visit func(*v1alpha1.GaleraBenchmark)) *v1alpha1.GaleraBenchmark {
	GinkgoHelper()
	last := ""
	Eventually(func() bool {
		Expect(kube.Get(ctx, ctrlclient.ObjectKeyFromObject(b), b)).To(Succeed())
		if c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionComplete); c != nil && c.Message != last {
			last = c.Message
			progress("benchmark %s: %s %s", b.Status.Progress, c.Reason, c.Message)
		}
		visit(b)
		stalled := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionStalled)
		Expect(stalled == nil || stalled.Status != metav1.ConditionTrue).To(BeTrue(), "%+v", stalled)
		return meta.IsStatusConditionTrue(b.Status.Conditions, v1alpha1.ConditionComplete)
	}).WithContext(ctx).WithTimeout(limit).WithPolling(500 * time.Millisecond).Should(BeTrue())
	progress("%s", b.Status.Verdict)
	return b
}

// jobRuns reports whether the program of one of a benchmark's Jobs runs.
func jobRuns(ctx context.Context, b *v1alpha1.GaleraBenchmark, suffix string) bool {
	GinkgoHelper()
	pods := &corev1.PodList{}
	Expect(kube.List(ctx, pods, ctrlclient.InNamespace(b.Namespace),
		ctrlclient.MatchingLabels{batchv1.JobNameLabel: b.Name + suffix})).To(Succeed())
	return len(pods.Items) > 0 && pods.Items[0].Status.Phase == corev1.PodRunning
}

// armWatch counts how often a text passes in clear, by the arm that is measured.
type armWatch struct {
	capture *harness.Capture
	port    uint16
	seen    int
	byArm   map[string]int
}

// watchReplication looks for rows of the test data.
func watchReplication(ctx context.Context, b *v1alpha1.GaleraBenchmark) *armWatch {
	GinkgoHelper()
	o := b.Spec.Workloads[0].OLTP
	// Every event that changes rows begins with the name of the database.
	return watchArms(ctx, portReplication, fmt.Sprintf("bench_%dx%d", o.Tables, o.TableSize))
}

func watchArms(ctx context.Context, port uint16, text string) *armWatch {
	GinkgoHelper()
	workers, err := kube.Hosts().Workers(ctx)
	Expect(err).NotTo(HaveOccurred())
	capture, err := harness.StartCapture(ctx, workers, []uint16{port}, text)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { _, _ = capture.Stop() })
	return &armWatch{capture: capture, port: port, byArm: map[string]int{}}
}

// observe attributes what has passed since the last time; between runs no client writes.
func (w *armWatch) observe(b *v1alpha1.GaleraBenchmark) {
	now := w.capture.Counts()[w.port].Markers
	if r := b.Status.Run; r != nil && r.Step == "Measure" {
		w.byArm[r.Arm] += now - w.seen
	}
	w.seen = now
}
