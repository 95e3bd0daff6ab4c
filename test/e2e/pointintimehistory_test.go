package e2e

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeclient "sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/test/harness"
)

// targetsEach is how many points each history is restored to.
const targetsEach = 5

// GALERA_HISTORIES is how many histories there are, GALERA_SEED the seed of the first; the others have those after it.
var _ = Describe("A random history", Label(Slow, Faults, Histories), func() {
	first, count := uint64(time.Now().UnixNano()%1_000_000), 2
	if n, err := strconv.ParseUint(os.Getenv("GALERA_SEED"), 10, 64); err == nil {
		first = n
	}
	if n, err := strconv.Atoi(os.Getenv("GALERA_HISTORIES")); err == nil {
		count = n
	}
	for i := range count {
		It(fmt.Sprintf("is restored to random points, row by row (%d of %d)", i+1, count), func(ctx SpecContext) {
			seed := first + uint64(i) //nolint:gosec // not negative
			progress("GALERA_SEED=%d", seed)
			AddReportEntry("GALERA_SEED", strconv.FormatUint(seed, 10))
			h := beginHistory(ctx, seed)
			h.happen(ctx)
			h.end(ctx)
			h.restoreAll(ctx)
		}, SpecTimeout(25*time.Minute))
	}
})

// randomHistory is what happens to a cluster, and what its recorder has recorded.
type randomHistory struct {
	*rand.Rand
	shop     *harness.Cluster
	recorder *harness.Recorder
	lossy    bool // a recovery has lost transactions
	backups  int
}

func beginHistory(ctx SpecContext, seed uint64) *randomHistory {
	GinkgoHelper()
	shop, _ := archivedCluster(ctx)
	recorder, err := harness.NewRecorder(ctx, shop, seed)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { _ = recorder.Stop() })
	return &randomHistory{Rand: rand.New(rand.NewPCG(seed, 1)), shop: shop, recorder: recorder} //nolint:gosec // a test
}

// happen has four of the short events, and at least one of the long ones, in a random order.
func (h *randomHistory) happen(ctx SpecContext) {
	GinkgoHelper()
	type event struct {
		name string
		do   func(context.Context)
	}
	short := []event{{"the primary's server is killed", h.failover}, {"the archiver is killed", h.killArchiver},
		{"all servers are killed", h.killAll}, {"a backup is made", h.backup}, {"a node is restarted", h.restart}}
	long := []event{{"point in time is off for a while", h.offAndOn}, {"a recovery loses transactions", h.loss}}
	h.Shuffle(len(short), func(i, j int) { short[i], short[j] = short[j], short[i] })
	h.Shuffle(len(long), func(i, j int) { long[i], long[j] = long[j], long[i] })
	events := slices.Concat(short[:4], long[:1+h.IntN(2)])
	h.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
	Expect(h.recorder.Start(ctx, "")).To(Succeed())
	for _, e := range events {
		h.more(ctx, 20+h.IntN(60))
		By(e.name)
		e.do(ctx)
	}
	h.more(ctx, 60)
}

// more waits until the recorder has recorded further transactions.
func (h *randomHistory) more(ctx context.Context, n int) {
	GinkgoHelper()
	want := h.recorder.Moments() + n
	Eventually(h.recorder.Moments).WithContext(ctx).WithTimeout(recoverTime).WithPolling(50*time.Millisecond).
		Should(BeNumerically(">=", want), "the recorder must go on")
}

func (h *randomHistory) failover(ctx context.Context) {
	GinkgoHelper()
	primary, err := h.shop.Primary(ctx)
	Expect(err).NotTo(HaveOccurred())
	Expect(h.shop.Servers().Kill(ctx, primary)).To(Succeed())
	h.more(ctx, 10)
	Expect(h.shop.WaitHealthy(ctx, recoverTime)).To(Succeed())
}

func (h *randomHistory) killArchiver(ctx context.Context) {
	GinkgoHelper()
	Expect(kube.DeleteAllOf(ctx, &corev1.Pod{}, kubeclient.InNamespace(h.shop.Namespace), kubeclient.GracePeriodSeconds(0),
		kubeclient.MatchingLabels{v1alpha1.LabelCluster: h.shop.Name, "app.kubernetes.io/component": "archiver"})).
		To(Succeed())
}

func (h *randomHistory) killAll(ctx context.Context) {
	GinkgoHelper()
	Expect(h.shop.Servers().Kill(ctx, podNames(ctx, h.shop)...)).To(Succeed())
	h.more(ctx, 10)
	Expect(h.shop.WaitHealthy(ctx, recoverTime)).To(Succeed())
}

func (h *randomHistory) restart(ctx context.Context) {
	GinkgoHelper()
	pod, err := h.shop.Replica(ctx)
	Expect(err).NotTo(HaveOccurred())
	uid, err := h.shop.Pods().Delete(ctx, pod)
	Expect(err).NotTo(HaveOccurred())
	Expect(h.shop.Pods().WaitReplaced(ctx, pod, uid, joinTime)).To(Succeed())
	Expect(h.shop.WaitHealthy(ctx, joinTime)).To(Succeed())
}

func (h *randomHistory) backup(ctx context.Context) {
	GinkgoHelper()
	h.backups++
	b := newBackup(h.shop, fmt.Sprintf("random-%d", h.backups))
	Expect(kube.Create(ctx, b)).To(Succeed())
	waitBackup(ctx, b)
}

// offAndOn switches the archive off and on: all nodes are restarted, or none is if it was for a moment only.
func (h *randomHistory) offAndOn(ctx context.Context) {
	GinkgoHelper()
	set := func(enabled bool) {
		change(ctx, h.shop, func(s *v1alpha1.GaleraClusterSpec) { s.Backup.PointInTime.Enabled = enabled })
	}
	set(false)
	if h.IntN(3) > 0 {
		eventually(ctx, func(o Gomega) { o.Expect(status(ctx, h.shop).Backup).To(BeNil()) })
		h.more(ctx, h.IntN(200))
	}
	set(true)
}

// loss has one node serve alone, loses its volume, and approves the recovery without it.
func (h *randomHistory) loss(ctx context.Context) {
	GinkgoHelper()
	Expect(h.shop.WaitHealthy(ctx, 2*recoverTime)).To(Succeed())
	h.lossy = true
	last := h.shop.Name + "-0"
	Expect(h.recorder.Stop()).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(kube.Operator().Scale(ctx, harness.OperatorReplicas)).To(Succeed()) })
	Expect(kube.Operator().Scale(ctx, 0)).To(Succeed())
	all := h.recorder.Moments() - 1
	Expect(h.shop.Pods().ScaleSet(ctx, 1)).To(Succeed())
	Expect(h.recorder.Start(ctx, last)).To(Succeed())
	h.more(ctx, 20+h.IntN(80))
	Expect(h.recorder.Stop()).To(Succeed())

	lost := time.Now()
	Expect(h.shop.Servers().Kill(ctx, last)).To(Succeed())
	Expect(h.shop.Pods().ScaleSet(ctx, 0)).To(Succeed())
	Expect(h.shop.Volumes().DeleteClaim(ctx, last)).To(Succeed())
	Expect(h.shop.Pods().ScaleSet(ctx, 3)).To(Succeed())
	Expect(kube.Operator().Scale(ctx, harness.OperatorReplicas)).To(Succeed())
	approve(ctx, h.shop, askedApproval(ctx, h.shop))
	Expect(h.shop.WaitHealthy(ctx, 2*recoverTime)).To(Succeed())
	removeApproval(ctx, h.shop)
	Expect(h.recorder.Recovered(ctx, h.shop.Name+"-1", all, lost)).To(Succeed())
	progress("%d transactions were lost", h.recorder.Moments()-2-all)
	Expect(h.recorder.Start(ctx, "")).To(Succeed())
}

// end waits until all is archived, and a backup leads to it.
func (h *randomHistory) end(ctx context.Context) {
	GinkgoHelper()
	Expect(h.shop.WaitHealthy(ctx, 2*recoverTime)).To(Succeed())
	// A backup of a node that has written nothing since its start is no base: the recorder goes on meanwhile.
	Expect(h.shop.WaitCondition(ctx, v1alpha1.ConditionPointInTimeRecoverable, metav1.ConditionTrue,
		v1alpha1.ReasonArchiving, 3*archiveTime)).To(Succeed())
	Expect(h.recorder.Stop()).To(Succeed())
	ended := time.Now()
	Eventually(func(o Gomega) {
		s := status(ctx, h.shop).Backup
		o.Expect(s).NotTo(BeNil())
		o.Expect(s.Reason).To(Equal(v1alpha1.ReasonArchiving), s.Message)
		o.Expect(s.ArchivedThrough).NotTo(BeNil())
		o.Expect(s.ArchivedThrough.Time).To(BeTemporally(">", ended))
	}).WithContext(ctx).WithTimeout(2 * archiveTime).WithPolling(time.Second).Should(Succeed())
	s := status(ctx, h.shop).Backup
	progress("%d moments; recoverable from %s, archived through %s (%s), chain %d of %d segments", h.recorder.Moments(),
		s.RecoverableFrom, s.ArchivedThrough, s.ArchivedGTID, s.Chain, s.Segments)
}

// randomTarget is a point, what may be restored there, and whether a refusal is a defect.
type randomTarget struct {
	point   v1alpha1.RestorePoint
	name    string
	moments []int
	must    bool
}

// targets are the latest transaction, a time the status calls recoverable, and random times and GTIDs.
func (h *randomHistory) targets(s *v1alpha1.ArchiveStatus) (out []randomTarget) {
	moments := h.recorder.History().Moments
	out = append(out, randomTarget{v1alpha1.RestorePoint{Latest: true}, "latest", []int{len(moments) - 1}, true})
	from, through := s.RecoverableFrom.Unix(), s.ArchivedThrough.Unix()
	out = append(out, h.at(from+h.Int64N(min(through-from+1, 2)), s), h.at(from+h.Int64N(through-from+1), s))
	begun := moments[0].Begin.Unix()
	for len(out) < targetsEach {
		if i := h.IntN(len(moments)); h.IntN(3) > 0 && moments[i].GTID != "" {
			out = append(out, randomTarget{v1alpha1.RestorePoint{GTID: moments[i].GTID}, moments[i].GTID,
				h.recorder.History().Of(moments[i].GTID),
				moments[i].Begin.After(s.RecoverableFrom.Time.Add(time.Second)) && h.recorder.History().Advances(i)})
		} else {
			out = append(out, h.at(begun+h.Int64N(through-begun+1), s))
		}
	}
	return out
}

func (h *randomHistory) at(second int64, s *v1alpha1.ArchiveStatus) randomTarget {
	t := metav1.NewTime(time.Unix(second, 0))
	return randomTarget{v1alpha1.RestorePoint{Time: t.UTC().Format(time.RFC3339)}, t.UTC().Format(time.RFC3339),
		h.recorder.History().At(t.Time),
		!t.Before(s.RecoverableFrom) && !s.ArchivedThrough.Before(&t)}
}

// restoreAll restores to random points, two at a time, and compares every row.
func (h *randomHistory) restoreAll(ctx SpecContext) {
	GinkgoHelper()
	targets := h.targets(status(ctx, h.shop).Backup)
	hibernate(ctx, h.shop) // it needs the processors no more
	restores := make([]*harness.Cluster, len(targets))
	for i, t := range targets {
		c := sampleCluster(h.shop.Namespace)
		c.Name, c.Spec.Replicas = fmt.Sprintf("restored-%d", i), 1
		c.Spec.BootstrapFrom = &v1alpha1.BootstrapFrom{IdentitySecretRef: v1alpha1.SecretKey{Name: "identity"},
			PointInTime: &t.point,
			Store:       &v1alpha1.BootstrapStore{Name: "offsite", Cluster: h.shop.Name}}
		restores[i] = create(ctx, c)
	}
	var wrong []string
	for i, t := range targets {
		refused := outcomeOf(ctx, restores[i])
		switch {
		case refused != "" && t.must:
			wrong = append(wrong, t.name+" was refused, and the status calls it recoverable: "+refused)
			continue
		case refused != "":
			progress("%s is refused: %s", t.name, refused)
			continue
		}
		have, err := restores[i].Data().Recorded(ctx, restores[i].Name+"-0")
		Expect(err).NotTo(HaveOccurred())
		if err := h.recorder.History().Compare(have, t.moments); err != nil {
			wrong = append(wrong, fmt.Sprintf("%s: %v (%s)", t.name, err, status(ctx, restores[i]).Restore.Message))
			continue
		}
		progress("%s holds one of the moments %v", t.name, t.moments)
	}
	Expect(wrong).To(BeEmpty())
}

// outcomeOf waits until a restore is complete, or refused, and returns why it is.
func outcomeOf(ctx context.Context, c *harness.Cluster) (refused string) {
	GinkgoHelper()
	Expect(kube.Until(ctx, "the restore "+c.Name, firstReady+backupTime, func(ctx context.Context) (bool, string, error) {
		have, err := c.Get(ctx)
		if err != nil {
			return false, "", err
		}
		r := have.Status.Restore
		refused = ""
		if r != nil && r.Phase == v1alpha1.RestoreFailed && r.Reason == v1alpha1.ReasonPointInTimeUnavailable {
			refused = cmp.Or(r.Message, r.Reason)
		}
		return refused != "" || harness.Ready(have), harness.Summary(have), nil
	})).To(Succeed())
	return refused
}
