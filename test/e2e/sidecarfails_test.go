package e2e

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/test/harness"
)

var _ = Describe("A sidecar that fails", Label(Slow, Faults), func() {
	for name, script := range map[string]string{
		"20 seconds after its start": "trap 'exit 0' TERM; sleep 20 & wait; exit 1",
		"at once":                    "exit 1", // the database serves alongside it, and the pod is never ready
	} {
		It(name+" reaches one pod or two, the primary keeps its clients, and it can be corrected", func(ctx SpecContext) {
			shop := create(ctx, harness.Build(newNamespace(ctx, "sidecar"), "shop"))
			Expect(shop.WaitReady(ctx, firstReady)).To(Succeed())
			before := uids(ctx, shop)
			start := time.Now()
			w := startWriter(ctx, shop, harness.WriterOptions{})
			setSidecar(ctx, shop, script)
			Expect(shop.WaitCondition(ctx, v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonSidecarFailing,
				recoverTime)).To(Succeed())
			stalled, err := shop.Condition(ctx, v1alpha1.ConditionStalled)
			Expect(err).NotTo(HaveOccurred())
			progress("Stalled after %s: %s", time.Since(start).Round(time.Second), stalled.Message)
			Expect(stalled.Message).To(ContainSubstring("audit"), "the container is named")

			// Longer than any settle time of a sidecar that lives this long.
			Consistently(func(o Gomega) {
				kept := 0
				for pod, uid := range uids(ctx, shop) {
					if before[pod] == uid {
						kept++
					}
				}
				o.Expect(kept).To(BeNumerically(">=", 1), "pods that are not replaced")
				o.Expect(endpointsOf(ctx, shop, shop.Name+"-primary")).NotTo(BeZero(), "ready endpoints of the primary's Service")
			}).WithContext(ctx).WithTimeout(75 * time.Second).WithPolling(time.Second).Should(Succeed())
			Expect(w.WaitForMore(ctx, 20, shortly)).To(Succeed())

			faulty := uids(ctx, shop)
			setSidecar(ctx, shop, "trap 'exit 0' TERM; sleep infinity & wait")
			for _, pod := range podNames(ctx, shop) {
				Expect(shop.Pods().WaitReplaced(ctx, pod, faulty[pod], upgradeTime)).To(Succeed())
			}
			Expect(shop.WaitHealthy(ctx, upgradeTime)).To(Succeed())
			for _, p := range podsOf(ctx, shop) {
				Expect(p.Status.InitContainerStatuses[1].RestartCount).To(BeZero(), p.Name)
			}
			stopAndCheck(ctx, w, start)
		}, SpecTimeout(14*time.Minute))
	}
})

// setSidecar gives the nodes a sidecar that runs a script.
func setSidecar(ctx context.Context, c *harness.Cluster, script string) {
	GinkgoHelper()
	image, err := kube.Operator().DefaultImage(ctx)
	Expect(err).NotTo(HaveOccurred())
	change(ctx, c, func(s *v1alpha1.GaleraClusterSpec) {
		s.PodTemplate = &v1alpha1.PodTemplateSpec{
			Sidecars: []v1alpha1.Sidecar{{Name: "audit", Image: image, Command: []string{"sh", "-c", script}}}}
	})
}

func uids(ctx context.Context, c *harness.Cluster) map[string]types.UID {
	GinkgoHelper()
	out := map[string]types.UID{}
	for _, p := range podsOf(ctx, c) {
		out[p.Name] = p.UID
	}
	return out
}

// endpointsOf counts the addresses to which a Service of a cluster leads.
func endpointsOf(ctx context.Context, c *harness.Cluster, service string) (ready int) {
	GinkgoHelper()
	var slices discoveryv1.EndpointSliceList
	Expect(kube.List(ctx, &slices, ctrlclient.InNamespace(c.Namespace),
		ctrlclient.MatchingLabels{discoveryv1.LabelServiceName: service})).To(Succeed())
	for _, s := range slices.Items {
		for _, e := range s.Endpoints {
			if e.Conditions.Ready == nil || *e.Conditions.Ready {
				ready += len(e.Addresses)
			}
		}
	}
	return ready
}
