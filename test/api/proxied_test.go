package api

import (
	"testing"

	. "github.com/onsi/gomega"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// TestAgentsLearnOfProxies: an agent knows whether a proxy uses its node, and learns at once when none does any more.
func TestAgentsLearnOfProxies(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	w := newWorld(t, "proxied", spec())
	w.bringUp()
	proxied := func() (pods []string) {
		w.agents.mu.Lock()
		defer w.agents.mu.Unlock()
		for _, pod := range []string{"shop-0", "shop-1", "shop-2"} {
			if w.agents.reports[pod].Proxied {
				pods = append(pods, pod)
			}
		}
		return pods
	}
	w.Expect(proxied()).To(BeEmpty())
	p := aProxy(t, "proxied", "pool", "clusterRef: {name: shop}")
	must(t, kube.Create(ctx, p))
	other := aProxy(t, "proxied", "other", "clusterRef: {name: another}")
	must(t, kube.Create(ctx, other))
	other.Status.Pools = []v1alpha1.ProxyPoolStatus{{Name: "shop-0", Role: "Writer"}}
	must(t, kube.Status().Update(ctx, other))
	p.Status.Pools = []v1alpha1.ProxyPoolStatus{{Name: "shop-1", Role: "Draining"}, {Name: "shop-2", Role: "Reader"}}
	must(t, kube.Status().Update(ctx, p))
	w.Eventually(proxied).Should(HaveExactElements("shop-1", "shop-2"))
	p.Status.Pools[0].Role = "Drained"
	must(t, kube.Status().Update(ctx, p))
	w.Eventually(proxied).Should(HaveExactElements("shop-2"))
	must(t, kube.Delete(ctx, p))
	w.Eventually(proxied).Should(BeEmpty())
}
