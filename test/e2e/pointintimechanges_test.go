package e2e

import (
	"context"
	"time"

	"filippo.io/age"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/test/harness"
)

var _ = Describe("The archive of a cluster that is changed", Ordered, Label(Slow, Faults), func() {
	var shop *harness.Cluster
	var objects *harness.ObjectStore
	var middle, atMiddle, atEnd string // the last transaction of the first change, and what was written until then, and in the end

	BeforeAll(func(ctx SpecContext) {
		shop, objects = archivedCluster(ctx)
	}, NodeTimeout(9*time.Minute))

	// through has a client write while something is done, and waits until all of it is archived, without a gap.
	through := func(ctx context.Context, do func()) {
		GinkgoHelper()
		start := time.Now()
		w := startWriter(ctx, shop, harness.WriterOptions{Interval: 50 * time.Millisecond})
		do()
		stopAndCheck(ctx, w, start)
		last := position(ctx, shop, shop.Name+"-0")
		eventually(ctx, func(o Gomega) {
			s := status(ctx, shop).Backup
			o.Expect(s.ArchivedGTID).To(Equal(last), "%s: %s", s.Reason, s.Message)
		})
		s := status(ctx, shop).Backup
		Expect(s.Chain).To(BeEquivalentTo(1), "no gap: %s", s.Gap)
		for _, pod := range podNames(ctx, shop) {
			Expect(position(ctx, shop, pod)).To(Equal(last), "the GTIDs of %s", pod)
		}
		progress("archived through %s, %s, %d segments", s.ArchivedThrough, s.ArchivedGTID, s.Segments)
		var err error
		atEnd, err = shop.Written(ctx, shop.Name+"-0")
		Expect(err).NotTo(HaveOccurred())
		if middle == "" {
			middle, atMiddle = last, atEnd
		}
	}

	It("goes on through a switch of TLS, there and back", func(ctx SpecContext) {
		through(ctx, func() {
			for _, to := range []v1alpha1.ReplicationTLS{v1alpha1.TLSDisabled, v1alpha1.TLSRequired} {
				switchReplication(ctx, shop, to, v1alpha1.SwitchRolling)
			}
		})
	}, SpecTimeout(10*time.Minute))

	It("goes on through a restart of every node, one after the other", func(ctx SpecContext) {
		through(ctx, func() {
			setBufferPool(ctx, shop, "167772160")
			for _, pod := range podNames(ctx, shop) {
				Eventually(func() (string, error) {
					return client(ctx, shop).QueryPod(ctx, pod, "SELECT @@innodb_buffer_pool_size")
				}).
					WithContext(ctx).WithTimeout(recoverTime).WithPolling(200*time.Millisecond).Should(Equal("167772160"), pod)
			}
			Expect(shop.WaitHealthy(ctx, joinTime)).To(Succeed())
		})
	}, SpecTimeout(10*time.Minute))

	It("goes on when nodes are added and taken away", func(ctx SpecContext) {
		through(ctx, func() {
			scale(ctx, shop, 5)
			scale(ctx, shop, 3)
		})
	}, SpecTimeout(10*time.Minute))

	It("says that the store is away, and goes on from the nodes' binary logs when it is back", func(ctx SpecContext) {
		through(ctx, func() {
			Expect(objects.CutOff(ctx)).To(Succeed())
			DeferCleanup(kube.Heal)
			Expect(shop.WaitCondition(ctx, v1alpha1.ConditionPointInTimeRecoverable, metav1.ConditionFalse, v1alpha1.ReasonStoreUnreachable, archiveTime)).To(Succeed())
			progress("the store is away: %s", status(ctx, shop).Backup.Message)
			Expect(kube.Heal(ctx)).To(Succeed())
			Expect(shop.WaitCondition(ctx, v1alpha1.ConditionPointInTimeRecoverable, metav1.ConditionTrue, v1alpha1.ReasonArchiving, archiveTime)).To(Succeed())
		})
	}, SpecTimeout(10*time.Minute))

	It("is restored to a transaction between two changes, and to the latest, row by row", func(ctx SpecContext) {
		Expect(atEnd).NotTo(BeEmpty())
		then := create(ctx, printed(ctx, shop, "then", "--gtid", middle))
		now := create(ctx, printed(ctx, shop, "now", "--latest"))
		for c, want := range map[*harness.Cluster]string{then: atMiddle, now: atEnd} {
			Expect(c.WaitReady(ctx, firstReady+backupTime)).To(Succeed())
			Expect(c.Written(ctx, c.Name+"-0")).To(Equal(want), c.Name)
			progress("%s: %s", c.Name, status(ctx, c).Restore.Message)
		}
	}, SpecTimeout(9*time.Minute))
})

// archivedCluster has a binary log that is archived, and the identity of the archive's key.
func archivedCluster(ctx SpecContext) (*harness.Cluster, *harness.ObjectStore) {
	GinkgoHelper()
	identity, err := age.GenerateX25519Identity()
	Expect(err).NotTo(HaveOccurred())
	objects, err := kube.StartObjectStore(ctx, newNamespace(ctx, "s3"))
	Expect(err).NotTo(HaveOccurred())
	ns := newNamespace(ctx, "pitr")
	makeStore(ctx, objects, ns, identity)
	c := sampleCluster(ns)
	c.Spec.Backup = &v1alpha1.ClusterBackup{StoreRef: v1alpha1.LocalName{Name: "offsite"},
		PointInTime: &v1alpha1.PointInTime{Enabled: true, Interval: &metav1.Duration{Duration: 2 * time.Second}}}
	shop := create(ctx, c)
	Expect(shop.WaitReady(ctx, firstReady)).To(Succeed())
	Expect(shop.WaitCondition(ctx, v1alpha1.ConditionPointInTimeRecoverable, metav1.ConditionTrue, v1alpha1.ReasonArchiving, archiveTime)).To(Succeed())
	progress("recoverable from %s", status(ctx, shop).Backup.RecoverableFrom)
	return shop, objects
}
