package e2e

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeclient "sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/test/harness"
)

var _ = Describe("Incremental backups", Ordered, Label(Slow, Faults), func() {
	var shop *harness.Cluster
	var objects *harness.ObjectStore
	var first, second *v1alpha1.GaleraBackup
	var atSecond string

	// increment makes a backup, and waits for it.
	increment := func(ctx context.Context, name, verify string) *v1alpha1.GaleraBackup {
		GinkgoHelper()
		b := &v1alpha1.GaleraBackup{ObjectMeta: metav1.ObjectMeta{Namespace: shop.Namespace, Name: name},
			Spec: v1alpha1.GaleraBackupSpec{ClusterRef: v1alpha1.BackupClusterRef{Name: shop.Name},
				StoreRef: v1alpha1.LocalName{Name: "offsite"}, DeletionPolicy: v1alpha1.BackupDelete,
				Incremental: &v1alpha1.BackupIncremental{}, Verify: verify,
				IdentitySecretRef: &v1alpha1.SecretKey{Name: "identity"}}}
		Expect(kube.Create(ctx, b)).To(Succeed())
		waitBackup(ctx, b)
		progress("%s: %s, read from %s, %+v", name, b.Status.StoredSize, b.Status.Node, b.Status.Incremental)
		return b
	}
	// restore makes a cluster of one node.
	restore := func(ctx context.Context, name string, change func(*v1alpha1.BootstrapFrom)) *harness.Cluster {
		GinkgoHelper()
		c := sampleCluster(shop.Namespace)
		c.Name, c.Spec.Replicas = name, 1
		c.Spec.BootstrapFrom = &v1alpha1.BootstrapFrom{IdentitySecretRef: v1alpha1.SecretKey{Name: "identity"},
			Store: &v1alpha1.BootstrapStore{Name: "offsite", Cluster: shop.Name}}
		change(c.Spec.BootstrapFrom)
		return create(ctx, c)
	}

	BeforeAll(func(ctx SpecContext) {
		shop, objects = archivedCluster(ctx)
		Expect(client(ctx, shop).Exec(ctx, shop.Name+"-primary", "CREATE DATABASE kept",
			"CREATE TABLE kept.t (id INT AUTO_INCREMENT PRIMARY KEY, v TEXT)",
			"INSERT INTO kept.t (v) SELECT CONCAT(SHA2(seq, 512), SHA2(-seq, 512)) FROM kept.seq_1_to_20000")).To(Succeed())
	}, NodeTimeout(9*time.Minute))

	It("hold what has changed since the one before, and are restored, tested and verified with all they add to",
		func(ctx SpecContext) {
			cl := client(ctx, shop)
			first = increment(ctx, "first", v1alpha1.VerifyChecksum)
			Expect(first.Status.Incremental.Base).NotTo(BeEmpty(), "it adds to the backup that the archive begins with: %s",
				first.Status.Incremental.FullBecause)
			Expect(first.Status.Incremental.Depth).To(BeEquivalentTo(1))
			Expect(cl.Exec(ctx, shop.Name+"-primary", "UPDATE kept.t SET v = 'changed' WHERE id <= 100",
				"DELETE FROM kept.t WHERE id > 19900", "CREATE TABLE kept.u (id INT PRIMARY KEY, v TEXT)",
				"INSERT INTO kept.u VALUES (1, 'x')")).To(Succeed())
			second = increment(ctx, "second", v1alpha1.VerifyRestore)
			atSecond = tableSum(ctx, shop, shop.Name+"-0", "kept.t")
			Expect(second.Status.Incremental.Base).To(Equal(first.Status.ID), second.Status.Incremental.FullBecause)
			Expect(second.Status.Incremental.Depth).To(BeEquivalentTo(2))
			Expect(second.Status.Node).To(Equal(first.Status.Node))
			waitVerified(ctx, first, v1alpha1.ReasonVerified, "was read and is as it was written")
			waitVerified(ctx, second, v1alpha1.ReasonVerified, "tables were checked and are good")
		}, SpecTimeout(9*time.Minute))

	It("are restored by name, and are the base of a point in time", func(ctx SpecContext) {
		Expect(second).NotTo(BeNil())
		Expect(client(ctx, shop).Exec(ctx, shop.Name+"-primary", "INSERT INTO kept.t (v) VALUES ('later')")).To(Succeed())
		last, want := position(ctx, shop, shop.Name+"-0"), tableSum(ctx, shop, shop.Name+"-0", "kept.t")
		eventually(ctx, func(o Gomega) { o.Expect(status(ctx, shop).Backup.ArchivedGTID).To(Equal(last)) })
		byID := restore(ctx, "byid", func(b *v1alpha1.BootstrapFrom) { b.Store.ID = second.Status.ID })
		latest := restore(ctx, "latest", func(b *v1alpha1.BootstrapFrom) {
			b.PointInTime = &v1alpha1.RestorePoint{Latest: true}
		})
		Expect(byID.WaitReady(ctx, firstReady+backupTime)).To(Succeed())
		Expect(tableSum(ctx, byID, "byid-0", "kept.t")).To(Equal(atSecond))
		Expect(latest.WaitReady(ctx, firstReady+backupTime)).To(Succeed())
		Expect(tableSum(ctx, latest, "latest-0", "kept.t")).To(Equal(want))
		Expect(status(ctx, latest).Restore.ID).To(Equal(second.Status.ID))
	}, SpecTimeout(9*time.Minute))

	It("are full ones after the node has got another copy of the data", func(ctx SpecContext) {
		Expect(second).NotTo(BeNil())
		Expect(loseVolume(ctx, shop, second.Status.Node)).To(Equal("SST"))
		Expect(shop.WaitHealthy(ctx, joinTime)).To(Succeed())
		third := increment(ctx, "third", v1alpha1.VerifyNone)
		if third.Status.Incremental.Base == "" {
			Expect(third.Status.Incremental.FullBecause).NotTo(BeEmpty())
		} else { // the node is the primary by now, and an earlier backup was read from another one
			Expect(third.Status.Node).NotTo(Equal(second.Status.Node))
		}
	}, SpecTimeout(9*time.Minute))

	It("are removed in their order, the last one first", func(ctx SpecContext) {
		Expect(second).NotTo(BeNil())
		Expect(kube.Delete(ctx, first)).To(Succeed())
		eventually(ctx, func(o Gomega) {
			o.Expect(kube.Get(ctx, kubeclient.ObjectKeyFromObject(first), first)).To(Succeed())
			c := meta.FindStatusCondition(first.Status.Conditions, v1alpha1.ConditionStalled)
			o.Expect(c).NotTo(BeNil())
			o.Expect(c.Message).To(ContainSubstring("the backup second adds to it"))
		})
		Expect(objects.Keys(ctx)).To(ContainElement(first.Status.Directory + "/" + first.Status.ID + "/manifest.json"))
		Expect(kube.Delete(ctx, second)).To(Succeed())
		for _, b := range []*v1alpha1.GaleraBackup{second, first} { // a Job for each, one after the other
			Eventually(func() bool {
				return apierrors.IsNotFound(kube.Get(ctx, kubeclient.ObjectKeyFromObject(b), b.DeepCopy()))
			}).WithContext(ctx).WithTimeout(backupTime).WithPolling(time.Second).Should(BeTrue(), b.Name)
		}
		Expect(objects.Keys(ctx)).NotTo(ContainElement(ContainSubstring(first.Status.ID)))
	}, SpecTimeout(6*time.Minute))
})
