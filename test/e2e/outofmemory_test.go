package e2e

import (
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/galera-operator/galera-operator/test/harness"
)

// With cgroup v2 the kernel kills all processes of a container that is out of memory (memory.oom.group): the agent ends
// with its server. Killing the agent, PID 1, does the same anywhere.
var _ = Describe("A node whose processes are all killed at once", Label(Slow, Faults), func() {
	It("is evicted as soon as its next agent reports the end, and joins again", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		pod, err := shop.Replica(ctx)
		Expect(err).NotTo(HaveOccurred())
		start := time.Now()
		w := startWriter(ctx, shop, harness.WriterOptions{})
		Expect(shop.Agents().Signal(ctx, pod, syscall.SIGKILL)).To(Succeed())
		eventually(ctx, func(o Gomega) {
			var list eventsv1.EventList
			o.Expect(kube.List(ctx, &list, ctrlclient.InNamespace(shop.Namespace))).To(Succeed())
			var notes []string
			for _, e := range list.Items {
				if e.Reason == "Evicted" && !e.EventTime.Time.Before(start.Truncate(time.Second)) {
					notes = append(notes, e.Note)
				}
			}
			o.Expect(strings.Join(notes, "\n")).To(ContainSubstring("the mariadbd of " + pod + " has ended"))
		})
		Expect(shop.WaitHealthy(ctx, joinTime)).To(Succeed())
		stopAndCheck(ctx, w, start)
	}, SpecTimeout(8*time.Minute))
})
