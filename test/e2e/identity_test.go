package e2e

import (
	"context"
	"time"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/test/harness"
)

var _ = Describe("The identity of a cluster", Label(Slow, Faults), func() {
	It("is found in its running nodes when the resource and the ConfigMap were lost", func(ctx SpecContext) {
		shop := create(ctx, sampleCluster(newNamespace(ctx, "again")))
		Expect(shop.WaitReady(ctx, firstReady)).To(Succeed())
		before := status(ctx, shop)
		runs, err := shop.Pods().Runs(ctx)
		Expect(err).NotTo(HaveOccurred())
		start := time.Now()
		w := startWriter(ctx, shop, harness.WriterOptions{})

		By("deleting the resource, but not what belongs to it, and the ConfigMap")
		have, err := shop.Get(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(kube.Delete(ctx, have, ctrlclient.PropagationPolicy(metav1.DeletePropagationOrphan))).To(Succeed())
		eventually(ctx, func(o Gomega) {
			_, err := shop.Get(ctx)
			o.Expect(ctrlclient.IgnoreNotFound(err)).NotTo(HaveOccurred())
			o.Expect(err).To(HaveOccurred(), "the resource is still there")
		})
		Expect(kube.Delete(ctx, configMap(shop))).To(Succeed())
		shop = create(ctx, sampleCluster(shop.Namespace))

		Expect(shop.WaitHealthy(ctx, recoverTime)).To(Succeed())
		Expect(status(ctx, shop).Identity).To(Equal(before.Identity))
		expectHistory(ctx, shop, before.ClusterUUID)
		after, err := shop.Pods().Runs(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(after).To(Equal(runs), "the runs of the containers")

		By("letting a node find its group again")
		pod, err := shop.Replica(ctx)
		Expect(err).NotTo(HaveOccurred())
		old, err := shop.Pods().Delete(ctx, pod)
		Expect(err).NotTo(HaveOccurred())
		Expect(shop.Pods().WaitReplaced(ctx, pod, old, joinTime)).To(Succeed())
		Expect(shop.WaitHealthy(ctx, joinTime)).To(Succeed())
		expectAlone(ctx, shop)
		stopAndCheck(ctx, w, start)
	}, SpecTimeout(12*time.Minute))

	It("keeps a namespace that was copied with the resource from beginning empty", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		copied, err := shop.CopyTo(ctx, newNamespace(ctx, "staging"))
		Expect(err).NotTo(HaveOccurred())
		copied = create(ctx, sampleCluster(copied.Namespace))
		expectStalled(ctx, copied, v1alpha1.ReasonIdentityUnknown, "spec.bootstrapFrom", shop.Namespace+"/"+shop.Name)
		expectAlone(ctx, shop)

		By("doing what the condition says for an empty cluster")
		Expect(kube.Delete(ctx, configMap(copied))).To(Succeed())
		Expect(copied.WaitReady(ctx, firstReady)).To(Succeed())
		Expect(status(ctx, copied).ClusterUUID).NotTo(Equal(status(ctx, shop).ClusterUUID))
		expectAlone(ctx, shop)
		expectAlone(ctx, copied)
	}, SpecTimeout(10*time.Minute))

	It("names a member of the component that is none of its nodes", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		image, err := kube.Operator().DefaultImage(ctx)
		Expect(err).NotTo(HaveOccurred())
		var name string
		var stalled *metav1.Condition
		Expect(shop.Peers().WithArbitrator(ctx, image, func(stranger string) error {
			name = stranger
			err := shop.WaitCondition(ctx, v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonForeignMembers,
				4*time.Minute)
			if err == nil {
				stalled, err = shop.Condition(ctx, v1alpha1.ConditionStalled)
			}
			return err
		})).To(Succeed())
		Expect(stalled.Message).To(ContainSubstring(name))
		Expect(shop.WaitHealthy(ctx, joinTime)).To(Succeed())
	}, SpecTimeout(10*time.Minute))

	It("keeps two clusters of one name and one issuer apart, though the name of a node leads to the other's",
		func(ctx SpecContext) {
			issuer := clusterIssuer(ctx)
			var both []*harness.Cluster
			for _, prefix := range []string{"one", "two"} {
				c := sampleCluster(newNamespace(ctx, prefix))
				c.Spec.TLS.IssuerRef = &v1alpha1.IssuerReference{Kind: "ClusterIssuer", Name: issuer}
				both = append(both, create(ctx, c))
			}
			for _, c := range both {
				Expect(c.WaitReady(ctx, firstReady)).To(Succeed())
			}
			shop, other := both[0], both[1]
			start := time.Now()
			w := startWriter(ctx, shop, harness.WriterOptions{})

			By("letting the name of a node that is away lead to the other cluster's")
			node, err := shop.Replica(ctx)
			Expect(err).NotTo(HaveOccurred())
			forged, err := other.Pod(ctx, node)
			Expect(err).NotTo(HaveOccurred())
			Expect(kube.Create(ctx, leadTo(shop, node, forged.Status.PodIP))).To(Succeed())
			for _, pod := range podNames(ctx, shop) {
				old, err := shop.Pods().Delete(ctx, pod)
				Expect(err).NotTo(HaveOccurred())
				Expect(shop.Pods().WaitReplaced(ctx, pod, old, joinTime)).To(Succeed())
				Expect(shop.WaitHealthy(ctx, joinTime)).To(Succeed())
				expectAlone(ctx, shop)
				expectAlone(ctx, other)
			}
			stopAndCheck(ctx, w, start)
		}, SpecTimeout(15*time.Minute))
})

// configMap is the one with the nodes' configuration.
func configMap(c *harness.Cluster) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: c.Name + "-config"}}
}

// leadTo adds an address to those that a node's name leads to.
func leadTo(c *harness.Cluster, node, address string) *discoveryv1.EndpointSlice {
	ready, port, name := true, int32(8080), "agent"
	return &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: "forged",
			Labels: map[string]string{discoveryv1.LabelServiceName: c.Name + "-nodes", discoveryv1.LabelManagedBy: "e2e"}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints: []discoveryv1.Endpoint{{Addresses: []string{address}, Hostname: &node,
			Conditions: discoveryv1.EndpointConditions{Ready: &ready}}},
		Ports: []discoveryv1.EndpointPort{{Name: &name, Port: &port}},
	}
}

// clusterIssuer makes a CA that issues for every namespace.
func clusterIssuer(ctx context.Context) string {
	GinkgoHelper()
	namespace := newNamespace(ctx, "issuer")
	Expect(createIssuer(ctx, namespace, "shared")).To(Succeed())
	secret := &corev1.Secret{}
	eventually(ctx, func(o Gomega) {
		o.Expect(kube.Get(ctx, ctrlclient.ObjectKey{Namespace: namespace, Name: "shared-ca"}, secret)).To(Succeed())
	})
	pair := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "cert-manager", Name: namespace}, Data: secret.Data,
		Type: secret.Type}
	Expect(kube.Create(ctx, pair)).To(Succeed())
	issuer := &certmanagerv1.ClusterIssuer{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	issuer.Spec.CA = &certmanagerv1.CAIssuer{SecretName: namespace}
	Expect(kube.Create(ctx, issuer)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) {
		Expect(kube.Delete(ctx, issuer)).To(Succeed())
		Expect(kube.Delete(ctx, pair)).To(Succeed())
	})
	return namespace
}
