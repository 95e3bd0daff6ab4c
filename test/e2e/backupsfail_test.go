package e2e

import (
	"time"

	"filippo.io/age"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeclient "sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/test/harness"
)

var _ = Describe("A cluster whose backups fail", Label(Slow, Faults), func() {
	It("shows on one screen that a bucket is missing, and that a store is cut off", func(ctx SpecContext) {
		s3 := newNamespace(ctx, "s3")
		objects, err := harness.StartObjectStore(ctx, kube, s3)
		Expect(err).NotTo(HaveOccurred())
		c := create(ctx, harness.Build(newNamespace(ctx, "fail"), "shop", harness.Replicas(1)))
		Expect(c.WaitReady(ctx, firstReady)).To(Succeed())
		identity, err := age.GenerateX25519Identity()
		Expect(err).NotTo(HaveOccurred())
		makeStore(ctx, objects, c.Namespace, identity)
		shows := func(parts ...string) {
			GinkgoHelper()
			screen := ""
			eventually(ctx, func(o Gomega) {
				screen = kubectlGalera(ctx, c.Namespace, "status", c.Name)
				for _, part := range parts {
					o.Expect(screen).To(ContainSubstring(part))
				}
			})
			progress("kubectl galera status %s\n%s", c.Name, screen)
		}

		By("backing up to a bucket that is not there")
		store := &v1alpha1.GaleraBackupStore{}
		Expect(kube.Get(ctx, kubeclient.ObjectKey{Namespace: c.Namespace, Name: "offsite"}, store)).To(Succeed())
		wrong := &v1alpha1.GaleraBackupStore{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: "wrong"},
			Spec: *store.Spec.DeepCopy()}
		wrong.Spec.S3.Bucket = "no-such-bucket"
		Expect(kube.Create(ctx, wrong)).To(Succeed())
		first := newBackup(c, "first")
		first.Spec.StoreRef.Name = wrong.Name
		Expect(kube.Create(ctx, first)).To(Succeed())
		shows("✓ Ready", "✗ Backups", "GaleraBackupStore wrong: StoreRefused", "NoSuchBucket", "bucket no-such-bucket",
			"$ kubectl describe galerabackupstore wrong -n "+c.Namespace, "no backup is complete")

		By("backing up to one that is there")
		Expect(kube.Delete(ctx, first)).To(Succeed())
		good := newBackup(c, "good")
		Expect(kube.Create(ctx, good)).To(Succeed())
		waitBackup(ctx, good)
		shows("✓ Backups", "last backup: good")

		By("cutting the store off")
		Expect(kube.Delete(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: s3, Name: "s3"}},
			kubeclient.GracePeriodSeconds(0))).To(Succeed())
		Expect(kube.Create(ctx, newBackup(c, "later"))).To(Succeed())
		shows("✓ Ready", "✗ Backups", "StoreUnreachable", "connection refused",
			"$ kubectl describe galerabackupstore offsite -n "+c.Namespace, "last backup: good")
	}, SpecTimeout(10*time.Minute))
})
