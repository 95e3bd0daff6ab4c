package e2e

import (
	"context"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/test/harness"
)

var _ = Describe("A cluster that starts again", Label(Slow, Faults), func() {
	It("asks for no approval, be it resumed, restarted at once or met by a new operator", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		start := time.Now()
		w := startWriter(ctx, shop, harness.WriterOptions{})
		asked := watchApprovals(ctx, shop)
		for range 3 {
			for _, command := range []string{"hibernate", "resume"} {
				said := kubectlGalera(ctx, shop.Namespace, command, shop.Name, "--wait")
				Expect(said).NotTo(Or(ContainSubstring("approval"), ContainSubstring("Gone")), "kubectl galera %s", command)
			}
			Expect(shop.WaitHealthy(ctx, recoverTime)).To(Succeed())
			Expect(asked()).To(BeEmpty(), "after a resume")
		}
		Expect(shop.Pods().ForceDeleteAll(ctx)).To(Succeed())
		Expect(w.WaitForMore(ctx, 20, recoverTime)).To(Succeed())
		Expect(shop.WaitHealthy(ctx, recoverTime)).To(Succeed())
		Expect(asked()).To(BeEmpty(), "after a restart of all")

		kubectlGalera(ctx, shop.Namespace, "hibernate", shop.Name, "--wait")
		DeferCleanup(func(ctx SpecContext) { Expect(kube.Operator().Scale(ctx, harness.OperatorReplicas)).To(Succeed()) })
		Expect(kube.Operator().Scale(ctx, 0)).To(Succeed())
		kubectlGalera(ctx, shop.Namespace, "resume", shop.Name)
		Expect(kube.Operator().Scale(ctx, harness.OperatorReplicas)).To(Succeed())
		Expect(w.WaitForMore(ctx, 20, recoverTime)).To(Succeed())
		Expect(shop.WaitHealthy(ctx, recoverTime)).To(Succeed())
		Expect(asked()).To(BeEmpty(), "after a start of the operator")
		stopAndCheck(ctx, w, start)
	}, SpecTimeout(15*time.Minute))
})

// watchApprovals follows every version of a cluster's status, and returns what was said in any of them of a loss of
// writes.
func watchApprovals(ctx context.Context, c *harness.Cluster) (asked func() []string) {
	GinkgoHelper()
	watching, err := ctrlclient.NewWithWatch(kube.Config, ctrlclient.Options{Scheme: kube.Scheme()})
	Expect(err).NotTo(HaveOccurred())
	changes, err := watching.Watch(ctx, &v1alpha1.GaleraClusterList{}, ctrlclient.InNamespace(c.Namespace))
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(changes.Stop)
	var mu sync.Mutex
	var seen []string
	versions := 0
	go func() {
		for change := range changes.ResultChan() {
			if have, is := change.Object.(*v1alpha1.GaleraCluster); is {
				mu.Lock()
				versions++
				seen = append(seen, lossesIn(have)...)
				mu.Unlock()
			}
		}
	}()
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		progress("%d versions of the status seen", versions)
		Expect(versions).To(BeNumerically(">", 1), "the test could not fail")
		return seen
	}
}

// lossesIn are the approvals that a status asks for, and the conditions that speak of a loss.
func lossesIn(c *v1alpha1.GaleraCluster) (out []string) {
	for _, a := range c.Status.RequiredActions {
		if a.Approval != nil {
			out = append(out, a.Reason+": "+a.Message)
		}
	}
	for _, condition := range c.Status.Conditions {
		if strings.Contains(condition.Message, "accept the loss") || strings.Contains(condition.Message, "kubectl patch") {
			out = append(out, condition.Type+": "+condition.Message)
		}
	}
	return out
}
