package e2e

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

var _ = Describe("A reader outside the cluster", Label(Core), func() {
	const name = "db.example.org"
	It("verifies the name it dials, and meets the replicas only", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		u := userOf(ctx, shop, shop.Namespace, "reader",
			func(s *v1alpha1.GaleraUserSpec) { s.Endpoint = v1alpha1.EndpointReadOnly })
		awaitUser(ctx, u, v1alpha1.ConditionReady, "True Ready")
		outside := bindingOf(ctx, shop, u).With("host", []byte(name))
		eventually(ctx, func(o Gomega) { // the Service may be too new to lead anywhere
			o.Expect(outside.Login(ctx)).To(MatchError(ContainSubstring("not " + name)))
		})

		before, running := status(ctx, shop), runs(ctx, shop)
		Expect(shop.Change(ctx, func(g *v1alpha1.GaleraCluster) {
			g.Spec.TLS.Certificate.DNSNames, g.Spec.TLS.Certificate.IPAddresses = []string{name}, []string{"192.0.2.7"}
			g.Spec.ReadOnlyService.ServiceSpec = v1alpha1.ServiceSpec{Type: corev1.ServiceTypeNodePort,
				Labels: map[string]string{"team": "shop"}}
		})).To(Succeed())
		awaitRenewed(ctx, shop, before.TLS.Serial)
		Expect(runs(ctx, shop)).To(Equal(running), "nothing was restarted")
		for range 12 {
			var host string
			eventually(ctx, func(o Gomega) {
				db, err := outside.Open()
				o.Expect(err).NotTo(HaveOccurred())
				defer func() { _ = db.Close() }()
				o.Expect(db.QueryRowContext(ctx, "SELECT @@hostname").Scan(&host)).To(Succeed())
			})
			Expect(host).NotTo(Equal(before.Primary))
		}
		var service corev1.Service
		Expect(kube.Get(ctx, ctrlclient.ObjectKey{Namespace: shop.Namespace, Name: shop.Name + "-readonly"}, &service)).
			To(Succeed())
		Expect(service.Labels).To(HaveKeyWithValue("team", "shop"))
		Expect(service.Spec.Ports[0].NodePort).NotTo(BeZero())
	}, SpecTimeout(8*time.Minute))
})
