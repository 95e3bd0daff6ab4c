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

const (
	// diskMarker stands in rows, and must not stand on a disk.
	diskMarker = "disk-marker-e8a05d"
	// proofTime is how long the agents may take to read all files for the first time.
	proofTime = 2 * time.Minute
)

// atRest encrypts what lies on disks.
func atRest(s *v1alpha1.GaleraClusterSpec) {
	s.Encryption = &v1alpha1.EncryptionSpec{AtRest: v1alpha1.AtRestSpec{}}
}

// writeMarker writes rows that are looked for on the disk.
func writeMarker(ctx SpecContext, c *harness.Cluster) {
	GinkgoHelper()
	Expect(client(ctx, c).Exec(ctx, c.Name+"-primary", "CREATE OR REPLACE DATABASE marked",
		"CREATE TABLE marked.t (id INT PRIMARY KEY, v CHAR(64), KEY (v))",
		"INSERT INTO marked.t SELECT seq, CONCAT('"+diskMarker+"', seq) FROM marked.seq_1_to_2000")).To(Succeed())
}

var _ = Describe("Encryption at rest", Label(Core, AtRest), func() {
	It("leaves nothing of a row on the host's disk, and is proved; without it the row is found", func(ctx SpecContext) {
		plain := sharedCluster(ctx)
		writeMarker(ctx, plain)
		v, err := plain.Volumes().Of(ctx, plain.Name+"-0")
		Expect(err).NotTo(HaveOccurred())
		eventually(ctx, func(o Gomega) { // a log is written once in a second
			o.Expect(v.Search(ctx, diskMarker)).NotTo(BeEmpty(), "the search finds nothing where nothing is encrypted")
		})

		shop := create(ctx, harness.Build(makeNamespace(ctx, "atrest"), "shop", harness.Replicas(1), atRest))
		DeferCleanup(func(ctx SpecContext) { removeNamespace(ctx, shop.Namespace) }, NodeTimeout(4*time.Minute))
		Expect(shop.WaitReady(ctx, firstReady)).To(Succeed())
		writeMarker(ctx, shop)
		Expect(shop.WaitCondition(ctx, v1alpha1.ConditionEncryptedAtRest, metav1.ConditionTrue, v1alpha1.ReasonProved,
			proofTime)).To(Succeed())
		v, err = shop.Volumes().Of(ctx, shop.Name+"-0")
		Expect(err).NotTo(HaveOccurred())
		hibernate(ctx, shop) // what was in memory is on the disk
		Expect(v.Search(ctx, diskMarker)).To(BeEmpty())
		s := status(ctx, shop)
		Expect(s.AtRest.Keys).To(HaveLen(1))
	}, SpecTimeout(12*time.Minute))
})

var _ = Describe("A backup of a cluster that is encrypted at rest", Ordered, Label(Slow, AtRest), func() {
	It("is verified and restored with the keys, and refused without them", func(ctx SpecContext) {
		identity, err := age.GenerateX25519Identity()
		Expect(err).NotTo(HaveOccurred())
		ns := newNamespace(ctx, "atrest")
		objects, err := harness.StartObjectStore(ctx, kube, ns)
		Expect(err).NotTo(HaveOccurred())
		shop := create(ctx, harness.Build(ns, "shop", atRest))
		Expect(shop.WaitReady(ctx, firstReady)).To(Succeed())
		writeMarker(ctx, shop)
		want := tableSum(ctx, shop, shop.Name+"-0", "marked.t")
		makeStore(ctx, objects, ns, identity)
		b := &v1alpha1.GaleraBackup{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "first"},
			Spec: v1alpha1.GaleraBackupSpec{ClusterRef: v1alpha1.BackupClusterRef{Name: shop.Name},
				StoreRef: v1alpha1.LocalName{Name: "offsite"},
				Verify:   v1alpha1.VerifyRestore, IdentitySecretRef: &v1alpha1.SecretKey{Name: "identity"}}}
		Expect(kube.Create(ctx, b)).To(Succeed())
		waitBackup(ctx, b)
		waitVerified(ctx, b, v1alpha1.ReasonVerified, "tables were checked and are good")

		By("restoring without the keys")
		from := &v1alpha1.BootstrapFrom{IdentitySecretRef: v1alpha1.SecretKey{Name: "identity"},
			Store: &v1alpha1.BootstrapStore{Name: "offsite", Cluster: shop.Name}}
		bare := harness.Build(ns, "bare", harness.Replicas(1))
		bare.Spec.BootstrapFrom = from
		Expect(create(ctx, bare).WaitCondition(ctx, v1alpha1.ConditionStalled, metav1.ConditionTrue,
			v1alpha1.ReasonKeyNeeded, backupTime)).To(Succeed())

		By("restoring with the keys, under another name")
		again := harness.Build(ns, "again", harness.Replicas(1), atRest)
		again.Spec.BootstrapFrom = from
		again.Spec.Encryption.AtRest.KeysSecretRef = &v1alpha1.KeysSecretReference{Name: "shop-keys"}
		restored := create(ctx, again)
		Expect(restored.WaitReady(ctx, firstReady+backupTime)).To(Succeed())
		Expect(tableSum(ctx, restored, restored.Name+"-0", "marked.t")).To(Equal(want))
		Expect(restored.WaitCondition(ctx, v1alpha1.ConditionEncryptedAtRest, metav1.ConditionTrue, v1alpha1.ReasonProved,
			proofTime)).To(Succeed())

		By("deleting the Secret of a running cluster")
		var keys corev1.Secret
		Expect(kube.Get(ctx, kubeclient.ObjectKey{Namespace: ns, Name: "shop-keys"}, &keys)).To(Succeed())
		Expect(kube.Delete(ctx, &keys)).To(Succeed())
		Expect(shop.WaitCondition(ctx, v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonKeysMissing,
			2*time.Minute)).To(Succeed())
		keys.ResourceVersion, keys.UID = "", ""
		Expect(kube.Create(ctx, &keys)).To(Succeed())
		Expect(shop.WaitCondition(ctx, v1alpha1.ConditionStalled, metav1.ConditionFalse, v1alpha1.ReasonHealthy,
			2*time.Minute)).To(Succeed())
		pod, err := shop.Replica(ctx)
		Expect(err).NotTo(HaveOccurred())
		_, err = shop.Pods().Delete(ctx, pod)
		Expect(err).NotTo(HaveOccurred())
		Expect(shop.WaitReady(ctx, recoverTime)).To(Succeed())
	}, SpecTimeout(15*time.Minute))
})
