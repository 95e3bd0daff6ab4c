package e2e

import (
	"bytes"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/plugin"
)

var _ = Describe("A user that requires TLS", Label(Slow, Wire), func() {
	It("is not Ready while its cluster offers clients none, and the plugin names it before it is switched off",
		func(ctx SpecContext) {
			shop := sharedCluster(ctx)
			u := userOf(ctx, shop, shop.Namespace, "needs-tls", nil)
			awaitUser(ctx, u, v1alpha1.ConditionReady, "True Ready")
			plain := userOf(ctx, shop, shop.Namespace, "needs-none", func(s *v1alpha1.GaleraUserSpec) {
				s.Require = v1alpha1.RequireNone
			})
			awaitUser(ctx, plain, v1alpha1.ConditionReady, "True Ready")

			disable := []string{"tls", shop.Name, "disable", "--channel", "clients", "-n", shop.Namespace, "--context",
				kube.Context}
			var said bytes.Buffer
			command := plugin.New(&said, &said)
			command.SetArgs(disable)
			Expect(command.ExecuteContext(ctx)).To(MatchError("nothing was changed"), "without an answer")
			Expect(said.String()).To(ContainSubstring(u.Namespace + "/" + u.Name))
			Expect(said.String()).NotTo(ContainSubstring(plain.Name))

			DeferCleanup(func(ctx SpecContext) {
				kubectlGalera(ctx, shop.Namespace, "tls", shop.Name, "enable", "--channel", "clients", "--wait")
			}, NodeTimeout(6*time.Minute))
			kubectlGalera(ctx, shop.Namespace, "tls", shop.Name, "disable", "--channel", "clients", "--yes", "--wait")
			awaitUser(ctx, u, v1alpha1.ConditionReady, "False TLSUnavailable")
			awaitUser(ctx, plain, v1alpha1.ConditionReady, "True Ready")
			Expect(bindingOf(ctx, shop, u).Login(ctx)).NotTo(Succeed(), "what the condition reports is so")

			kubectlGalera(ctx, shop.Namespace, "tls", shop.Name, "enable", "--channel", "clients", "--wait")
			awaitUser(ctx, u, v1alpha1.ConditionReady, "True Ready")
			Expect(bindingOf(ctx, shop, u).Login(ctx)).To(Succeed())
		}, SpecTimeout(10*time.Minute))
})
