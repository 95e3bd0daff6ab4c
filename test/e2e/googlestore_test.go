package e2e

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	kubeclient "sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/test/harness"
)

var _ = Describe("Google Cloud Storage", Ordered, Label(Slow), func() {
	var objects *harness.GoogleStore
	var a *archived

	BeforeAll(func(ctx SpecContext) {
		var err error
		objects, err = harness.StartGoogleStore(ctx, kube, newNamespace(ctx, "google"))
		Expect(err).NotTo(HaveOccurred())
		a = &archived{shop: archivedIn(ctx, objects)}
	}, NodeTimeout(12*time.Minute))

	It("describes what it refuses", Label(Input), func(ctx SpecContext) {
		s := &v1alpha1.GaleraBackupStore{}
		Expect(kube.Get(ctx, kubeclient.ObjectKey{Namespace: a.shop.Namespace, Name: "offsite"}, s)).To(Succeed())
		expectRefusals(ctx, s, map[string]refusal{
			"nobucket": {func(s *v1alpha1.GaleraBackupStoreSpec) { s.GCS.Bucket = "no-such-bucket" },
				v1alpha1.ReasonStoreRefused, "could not be written"},
			"otherkey": {func(s *v1alpha1.GaleraBackupStoreSpec) { s.GCS.Credentials.JSONKey = "other.json" },
				v1alpha1.ReasonStoreRefused, "invalid_grant"},
			"nokey": {func(s *v1alpha1.GaleraBackupStoreSpec) { s.GCS.Credentials.JSONKey = "ca.crt" },
				v1alpha1.ReasonStoreRefused, "holds no key of a service account"},
			"wrongca": {func(s *v1alpha1.GaleraBackupStoreSpec) {
				s.GCS.CABundle = &v1alpha1.CABundle{ConfigMapName: "kube-root-ca.crt"}
			},
				v1alpha1.ReasonStoreUnreachable, "certificate signed by unknown authority"},
			"nohost": {func(s *v1alpha1.GaleraBackupStoreSpec) { s.GCS.Endpoint = "https://no-such-host.invalid" },
				v1alpha1.ReasonStoreUnreachable, "no such host"},
		})
	}, SpecTimeout(8*time.Minute))

	It("keeps a backup, which is tested by restoring it, and removed", func(ctx SpecContext) {
		b := newBackup(a.shop, "tested")
		b.Spec.Verify, b.Spec.IdentitySecretRef, b.Spec.DeletionPolicy = v1alpha1.VerifyRestore,
			&v1alpha1.SecretKey{Name: "identity"}, v1alpha1.BackupDelete
		Expect(kube.Create(ctx, b)).To(Succeed())
		waitBackup(ctx, b)
		waitVerified(ctx, b, v1alpha1.ReasonVerified, "tables were checked and are good")
		Expect(objects.Keys(ctx)).To(ContainElement(b.Status.Directory + "/" + b.Status.ID + "/manifest.json"))
		Expect(kube.Delete(ctx, b)).To(Succeed())
		Eventually(func() bool {
			return apierrors.IsNotFound(kube.Get(ctx, kubeclient.ObjectKeyFromObject(b), &v1alpha1.GaleraBackup{}))
		}).
			WithContext(ctx).WithTimeout(backupTime).WithPolling(200 * time.Millisecond).Should(BeTrue())
		Expect(objects.Keys(ctx)).NotTo(ContainElement(ContainSubstring(b.Status.ID)))
	}, SpecTimeout(10*time.Minute))

	It("keeps an archive, which is restored to a transaction, and to the latest, row by row", func(ctx SpecContext) {
		for range 2 {
			a.through(ctx, func() {})
		}
		a.restored(ctx, "")
	}, SpecTimeout(10*time.Minute))
})
