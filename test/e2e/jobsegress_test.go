package e2e

import (
	"context"
	"slices"
	"strconv"
	"time"

	"filippo.io/age"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/test/harness"
)

var _ = Describe("Jobs of backups whose egress is limited", Label(Slow, Wire), func() {
	It("connect to the store that jobsEgressTo names, and to nothing else", func(ctx SpecContext) {
		policies := enforce(ctx)
		identity, err := age.GenerateX25519Identity()
		Expect(err).NotTo(HaveOccurred())
		storeNamespace, namespace := newNamespace(ctx, "s3"), newNamespace(ctx, "egress")
		objects, err := harness.StartObjectStore(ctx, kube, storeNamespace)
		Expect(err).NotTo(HaveOccurred())
		spec := sampleCluster(namespace)
		spec.Spec.Replicas = 1
		spec.Spec.NetworkPolicy.RestrictEgress = true
		spec.Spec.NetworkPolicy.JobsEgressTo = podsIn(storeNamespace)
		shop := create(ctx, spec)
		Expect(shop.WaitReady(ctx, firstReady)).To(Succeed())
		makeStore(ctx, objects, namespace, identity)

		backup := func(name string) *v1alpha1.GaleraBackup {
			b := &v1alpha1.GaleraBackup{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
				Spec: v1alpha1.GaleraBackupSpec{ClusterRef: v1alpha1.BackupClusterRef{Name: shop.Name},
					StoreRef: v1alpha1.LocalName{Name: "offsite"}, Verify: v1alpha1.VerifyRestore,
					IdentitySecretRef: &v1alpha1.SecretKey{Name: "identity"}}}
			Expect(kube.Create(ctx, b)).To(Succeed())
			return b
		}
		admitted := backup("admitted")
		waitBackup(ctx, admitted)
		waitVerified(ctx, admitted, v1alpha1.ReasonVerified, "tables were checked and are good")
		expectNothingRefused(ctx, policies, shop)

		By("naming another namespace")
		allowJobs(ctx, shop, podsIn("elsewhere"))
		Expect(policies.Settle(ctx, time.Minute)).To(Succeed())
		refused := backup("refused")
		eventually(ctx, func(o Gomega) {
			o.Expect(storeRefusals(ctx, policies, objects)).NotTo(BeEmpty())
		})
		Expect(kube.Get(ctx, ctrlclient.ObjectKeyFromObject(refused), refused)).To(Succeed())
		Expect(refused.Status.Phase).NotTo(Equal(v1alpha1.BackupCompleted))

		By("naming the store again")
		allowJobs(ctx, shop, podsIn(storeNamespace))
		waitBackup(ctx, refused)
	}, SpecTimeout(12*time.Minute))
})

// podsIn are all pods of a namespace.
func podsIn(namespace string) []networkingv1.NetworkPolicyPeer {
	return []networkingv1.NetworkPolicyPeer{{NamespaceSelector: &metav1.LabelSelector{
		MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}}}}
}

// allowJobs changes where Jobs may connect to, and waits for the policy.
func allowJobs(ctx context.Context, c *harness.Cluster, to []networkingv1.NetworkPolicyPeer) {
	GinkgoHelper()
	change(ctx, c, func(s *v1alpha1.GaleraClusterSpec) { s.NetworkPolicy.JobsEgressTo = to })
	eventually(ctx, func(o Gomega) {
		policy := &networkingv1.NetworkPolicy{}
		o.Expect(kube.Get(ctx, ctrlclient.ObjectKey{Namespace: c.Namespace, Name: c.Name + "-jobs"}, policy)).To(Succeed())
		o.Expect(policy.Spec.Egress[len(policy.Spec.Egress)-1].To).To(Equal(to))
	})
}

// storeRefusals lists whose packets to the store were dropped.
func storeRefusals(ctx context.Context, policies *harness.Enforcement, objects *harness.ObjectStore) []harness.Refusal {
	GinkgoHelper()
	refused, err := policies.Refusals(ctx)
	Expect(err).NotTo(HaveOccurred())
	return slices.DeleteFunc(refused, func(r harness.Refusal) bool {
		return r.To != objects.PodIP() || r.Port != strconv.Itoa(harness.StorePort)
	})
}
