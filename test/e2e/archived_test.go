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

// archived is a cluster whose archive has to go on through changes.
type archived struct {
	shop    *harness.Cluster
	objects *harness.ObjectStore
	// middle is the last transaction of the first change; the others are what was written until then, and in the end.
	middle, atMiddle, atEnd string
}

// through has a client write while something is done, and waits until all of it is archived, without a gap.
func (a *archived) through(ctx context.Context, do func()) {
	GinkgoHelper()
	start := time.Now()
	w := startWriter(ctx, a.shop, harness.WriterOptions{Interval: 50 * time.Millisecond})
	do()
	stopAndCheck(ctx, w, start)
	last := position(ctx, a.shop, a.shop.Name+"-0")
	eventually(ctx, func(o Gomega) {
		s := status(ctx, a.shop).Backup
		o.Expect(s.ArchivedGTID).To(Equal(last), "%s: %s", s.Reason, s.Message)
	})
	s := status(ctx, a.shop).Backup
	Expect(s.Chain).To(BeEquivalentTo(1), "no gap: %s", s.Gap)
	for _, pod := range podNames(ctx, a.shop) {
		Expect(position(ctx, a.shop, pod)).To(Equal(last), "the GTIDs of %s", pod)
	}
	progress("archived through %s, %s, %d segments", s.ArchivedThrough, s.ArchivedGTID, s.Segments)
	var err error
	a.atEnd, err = a.shop.Data().Written(ctx, a.shop.Name+"-0")
	Expect(err).NotTo(HaveOccurred())
	if a.middle == "" {
		a.middle, a.atMiddle = last, a.atEnd
	}
}

// throughHibernation goes on when the cluster does.
func (a *archived) throughHibernation(ctx SpecContext) {
	GinkgoHelper()
	a.through(ctx, func() {
		hibernate(ctx, a.shop)
		change(ctx, a.shop, func(s *v1alpha1.GaleraClusterSpec) { s.Hibernate = false })
		Expect(a.shop.WaitHealthy(ctx, recoverTime)).To(Succeed())
		Expect(a.shop.WaitCondition(ctx, v1alpha1.ConditionPointInTimeRecoverable, metav1.ConditionTrue,
			v1alpha1.ReasonArchiving, archiveTime)).To(Succeed())
	})
}

// restored compares, row by row, what is restored to the transaction in the middle, with the image of then, and to the
// latest.
func (a *archived) restored(ctx SpecContext, imageOfThen string) {
	GinkgoHelper()
	Expect(a.atEnd).NotTo(BeEmpty())
	before := printed(ctx, a.shop, "then", "--gtid", a.middle)
	if imageOfThen != "" {
		before.Spec.Image = imageOfThen
	}
	then := create(ctx, before)
	now := create(ctx, printed(ctx, a.shop, "now", "--latest"))
	for c, want := range map[*harness.Cluster]string{then: a.atMiddle, now: a.atEnd} {
		Expect(c.WaitReady(ctx, firstReady+backupTime)).To(Succeed())
		Expect(c.Data().Written(ctx, c.Name+"-0")).To(Equal(want), c.Name)
		progress("%s: %s", c.Name, status(ctx, c).Restore.Message)
	}
}

// archivedCluster has a binary log that is archived in an S3 store, and the identity of the archive's key.
func archivedCluster(ctx SpecContext, changes ...func(*v1alpha1.GaleraClusterSpec)) (*harness.Cluster,
	*harness.ObjectStore) {
	GinkgoHelper()
	objects, err := harness.StartObjectStore(ctx, kube, newNamespace(ctx, "s3"))
	Expect(err).NotTo(HaveOccurred())
	return archivedIn(ctx, objects, changes...), objects
}

// archivedIn is one with an archive in a store.
func archivedIn(ctx SpecContext, objects placer, changes ...func(*v1alpha1.GaleraClusterSpec)) *harness.Cluster {
	GinkgoHelper()
	identity, err := age.GenerateX25519Identity()
	Expect(err).NotTo(HaveOccurred())
	ns := newNamespace(ctx, "pitr")
	makeStore(ctx, objects, ns, identity)
	c := sampleCluster(ns)
	c.Spec.Backup = &v1alpha1.ClusterBackup{StoreRef: v1alpha1.LocalName{Name: "offsite"},
		PointInTime: &v1alpha1.PointInTime{Enabled: true, Interval: &metav1.Duration{Duration: 2 * time.Second}}}
	for _, change := range changes {
		change(&c.Spec)
	}
	shop := create(ctx, c)
	Expect(shop.WaitReady(ctx, firstReady)).To(Succeed())
	Expect(shop.WaitCondition(ctx, v1alpha1.ConditionPointInTimeRecoverable, metav1.ConditionTrue,
		v1alpha1.ReasonArchiving, archiveTime)).To(Succeed())
	progress("recoverable from %s", status(ctx, shop).Backup.RecoverableFrom)
	return shop
}
