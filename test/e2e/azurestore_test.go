package e2e

import (
	"time"

	"filippo.io/age"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	kubeclient "sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/test/harness"
)

var _ = Describe("Azure Blob Storage", Ordered, Label(Slow), func() {
	var objects *harness.AzureStore
	var identity *age.X25519Identity

	BeforeAll(func(ctx SpecContext) {
		var err error
		identity, err = age.GenerateX25519Identity()
		Expect(err).NotTo(HaveOccurred())
		objects, err = harness.StartAzureStore(ctx, kube, newNamespace(ctx, "azure"))
		Expect(err).NotTo(HaveOccurred())
		makeStore(ctx, objects, sharedCluster(ctx).Namespace, identity)
		DeferCleanup(dropShared) // its store is gone
	}, NodeTimeout(8*time.Minute))

	It("describes what it refuses", Label(Input), func(ctx SpecContext) {
		s := &v1alpha1.GaleraBackupStore{}
		Expect(kube.Get(ctx, kubeclient.ObjectKey{Namespace: sharedCluster(ctx).Namespace, Name: "offsite"}, s)).To(Succeed())
		expectRefusals(ctx, s, map[string]refusal{
			"nocontainer": {func(s *v1alpha1.GaleraBackupStoreSpec) { s.Azure.Container = "no-such-container" },
				v1alpha1.ReasonStoreRefused, "ContainerNotFound"},
			"otherkey": {func(s *v1alpha1.GaleraBackupStoreSpec) { s.Azure.Credentials.AccountKeyKey = "other-key" },
				v1alpha1.ReasonStoreRefused, "AuthorizationFailure"},
			"nokey": {func(s *v1alpha1.GaleraBackupStoreSpec) { s.Azure.Credentials.AccountKeyKey = "ca.crt" },
				v1alpha1.ReasonStoreRefused, "holds no key of a storage account"},
			"wrongca": {func(s *v1alpha1.GaleraBackupStoreSpec) {
				s.Azure.CABundle = &v1alpha1.CABundle{ConfigMapName: "kube-root-ca.crt"}
			},
				v1alpha1.ReasonStoreUnreachable, "certificate signed by unknown authority"},
			"nohost": {func(s *v1alpha1.GaleraBackupStoreSpec) { s.Azure.Endpoint = "https://no-such-host.invalid" },
				v1alpha1.ReasonStoreUnreachable, "no such host"},
		})
	}, SpecTimeout(8*time.Minute))

	It("keeps a backup, which brings the cluster back, row by row, when everything else is gone", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		Expect(client(ctx, shop).Exec(ctx, shop.Name+"-primary", "CREATE OR REPLACE DATABASE kept",
			"CREATE TABLE kept.t (id INT PRIMARY KEY, v CHAR(64))",
			"INSERT INTO kept.t SELECT seq, SHA1(seq) FROM kept.seq_1_to_20000")).To(Succeed())
		want := tableSum(ctx, shop, shop.Name+"-0", "kept.t")
		b := newBackup(shop, "kept")
		Expect(kube.Create(ctx, b)).To(Succeed())
		waitBackup(ctx, b)
		Expect(objects.Keys(ctx)).To(ContainElement(b.Status.Directory + "/" + b.Status.ID + "/manifest.json"))
		dropShared(ctx)
		ns := newNamespace(ctx, "restored")
		makeStore(ctx, objects, ns, identity)
		c := sampleCluster(ns)
		c.Spec.BootstrapFrom = &v1alpha1.BootstrapFrom{IdentitySecretRef: v1alpha1.SecretKey{Name: "identity"},
			Store: &v1alpha1.BootstrapStore{Name: "offsite", Namespace: b.Namespace, Cluster: b.Spec.ClusterRef.Name}}
		back := create(ctx, c)
		Expect(back.WaitReady(ctx, firstReady+backupTime)).To(Succeed())
		Expect(status(ctx, back).Restore.ID).To(Equal(b.Status.ID))
		for _, pod := range podNames(ctx, back) {
			Expect(tableSum(ctx, back, pod, "kept.t")).To(Equal(want), pod)
			expectLogin(ctx, back, pod)
		}
		progress("%s", status(ctx, back).Restore.Message)
	}, SpecTimeout(15*time.Minute))
})
