package e2e

import (
	"time"

	"filippo.io/age"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeclient "sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/test/harness"
)

var _ = Describe("A restore in trouble", Ordered, Label(Slow, Faults), func() {
	var backup *v1alpha1.GaleraBackup

	BeforeAll(func(ctx SpecContext) {
		identity, err := age.GenerateX25519Identity()
		Expect(err).NotTo(HaveOccurred())
		objects, err := harness.StartObjectStore(ctx, kube, newNamespace(ctx, "s3"))
		Expect(err).NotTo(HaveOccurred())
		shop := sharedCluster(ctx)
		makeStore(ctx, objects, shop.Namespace, identity)
		Expect(client(ctx, shop).Exec(ctx, shop.Name+"-primary", "CREATE OR REPLACE DATABASE kept",
			"CREATE TABLE kept.t (id INT PRIMARY KEY, v CHAR(64))",
			"INSERT INTO kept.t SELECT seq, SHA1(seq) FROM kept.seq_1_to_20000")).To(Succeed())
		DeferCleanup(dropShared) // its store is gone
		b := newBackup(shop, "whole")
		b.Spec.DeletionPolicy = v1alpha1.BackupDelete
		Expect(kube.Create(ctx, b)).To(Succeed())
		waitBackup(ctx, b)
		backup = b
	}, NodeTimeout(8*time.Minute))

	// from is a cluster that begins with the backup.
	from := func(name string, options ...harness.Option) *v1alpha1.GaleraCluster {
		c := harness.Build(backup.Namespace, name, options...)
		c.Spec.BootstrapFrom = &v1alpha1.BootstrapFrom{IdentitySecretRef: v1alpha1.SecretKey{Name: "identity"},
			Backup: &v1alpha1.LocalName{Name: backup.Name}}
		return c
	}

	It("with an image of an earlier series is refused, and nothing is started", Label(Input), func(ctx SpecContext) {
		Expect(harness.LoadOld(ctx)).To(Succeed())
		c := from("older")
		c.Spec.Replicas, c.Spec.Image = 1, harness.OldImage
		older := create(ctx, c)
		expectStalled(ctx, older, v1alpha1.ReasonVersionRefused, "the backup was made by MariaDB 11.8.",
			"set spec.image to that series or a later one")
		pods, err := older.Pods().List(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(pods).To(BeEmpty())
		Expect(older.Delete(ctx)).To(Succeed())
	}, SpecTimeout(6*time.Minute))

	It("waits for space on full disks, keeps its backup from deletion meanwhile, and goes on", func(ctx SpecContext) {
		disks, err := harness.CreateSmallDisks(ctx, kube, 800)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx SpecContext) { Expect(disks.Remove(ctx)).To(Succeed()) }, NodeTimeout(4*time.Minute))
		workers, err := kube.Hosts().Workers(ctx)
		Expect(err).NotTo(HaveOccurred())
		for _, w := range workers {
			Expect(disks.Fill(ctx, w)).To(Succeed())
		}
		want := tableSum(ctx, sharedCluster(ctx), "shop-0", "kept.t")
		back := create(ctx, from("back", harness.StorageClass(disks.Class), harness.Size("512Mi")))
		DeferCleanup(func(ctx SpecContext) { Expect(back.Delete(ctx)).To(Succeed()) }, NodeTimeout(4*time.Minute))
		Expect(back.WaitCondition(ctx, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonDiskFull, backupTime)).
			To(Succeed())
		progress("%s", status(ctx, back).Restore.Message)

		Expect(kube.Delete(ctx, backup)).To(Succeed())
		eventually(ctx, func(o Gomega) {
			o.Expect(kube.Get(ctx, kubeclient.ObjectKeyFromObject(backup), backup)).To(Succeed())
			c := meta.FindStatusCondition(backup.Status.Conditions, v1alpha1.ConditionStalled)
			o.Expect(c).NotTo(BeNil())
			o.Expect(c.Message).To(ContainSubstring("cluster back is being restored from it"))
		})

		for _, w := range workers {
			Expect(disks.Free(ctx, w)).To(Succeed())
		}
		Expect(back.WaitReady(ctx, firstReady+2*backupTime)).To(Succeed())
		for _, pod := range podNames(ctx, back) {
			Expect(tableSum(ctx, back, pod, "kept.t")).To(Equal(want), pod)
			expectLogin(ctx, back, pod)
		}
		eventually(ctx, func(o Gomega) {
			o.Expect(apierrors.IsNotFound(kube.Get(ctx, kubeclient.ObjectKeyFromObject(backup), backup))).To(BeTrue(),
				"it goes once no one needs it")
		})
	}, SpecTimeout(14*time.Minute))
})
