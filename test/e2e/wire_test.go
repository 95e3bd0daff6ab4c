package e2e

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/test/harness"
)

// Ports on which data passes.
const (
	portClients     = 3306
	portReplication = 4567
	portIncremental = 4568
	portTransfer    = 4444
)

var allPorts = []uint16{portClients, portReplication, portIncremental, portTransfer}

var _ = Describe("On the wire", Label(Core, Wire), func() {
	It("nothing is in clear while rows are inserted and while nodes join, when TLS is required", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		for port, n := range captureTraffic(ctx, shop) {
			Expect(n.Packets).To(BeNumerically(">", 0), "the capture must have seen port %d", port)
			Expect(n.Markers).To(BeZero(), "data in clear on port %d", port)
		}
	}, SpecTimeout(9*time.Minute))

	It("the same capture does find the data when TLS is disabled", func(ctx SpecContext) {
		plain := create(ctx, harness.Build(newNamespace(ctx, "plain"), "plain", harness.WithoutTLS()))
		Expect(plain.WaitReady(ctx, firstReady)).To(Succeed())
		Expect(plain.WaitCondition(ctx, v1alpha1.ConditionEncrypted, metav1.ConditionFalse, v1alpha1.ReasonDisabled,
			shortly)).To(Succeed())
		for port, n := range captureTraffic(ctx, plain) {
			Expect(n.Markers).To(BeNumerically(">", 0), "nothing was found on port %d among %d packets", port, n.Packets)
		}
		By("dialling a replication port, which welcomes every peer")
		expectWelcome(ctx, plain, "plain-0", nil)
	}, SpecTimeout(12*time.Minute))
})

// captureTraffic writes a marker all the time, lets one node join by a full transfer and one by an
// incremental transfer, and returns what was seen on each port. Every port has an entry.
func captureTraffic(ctx context.Context, c *harness.Cluster) map[uint16]harness.PortCount {
	GinkgoHelper()
	marker := "MARKER" + rand.Text()[:8]
	workers, err := kube.Hosts().Workers(ctx)
	Expect(err).NotTo(HaveOccurred())
	capture, err := harness.StartCapture(ctx, workers, allPorts, marker)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { _, _ = capture.Stop() })
	start := time.Now()
	w := startWriter(ctx, c, harness.WriterOptions{Payload: strings.Repeat(marker+" ", 60)})

	pod, err := c.Replica(ctx)
	Expect(err).NotTo(HaveOccurred())
	By("taking the data away from " + pod + ", so that it joins by a full transfer")
	givers := watchGivers(ctx, c, pod)
	Expect(loseVolume(ctx, c, pod)).To(Equal("SST"))
	givers.expect(ctx, "SST")
	By("deleting the pod " + pod + ", so that it joins by an incremental transfer")
	givers = watchGivers(ctx, c, pod)
	Expect(loseIncrementally(ctx, c, w, pod)).To(Equal("IST"))
	givers.expect(ctx, "IST")

	Expect(c.WaitHealthy(ctx, joinTime)).To(Succeed())
	stopAndCheck(ctx, w, start)
	counts, err := capture.Stop()
	Expect(err).NotTo(HaveOccurred())
	out := map[uint16]harness.PortCount{}
	for _, port := range allPorts {
		out[port] = counts[port]
		progress("port %d: %d packets, %d bytes, %d markers", port, counts[port].Packets, counts[port].Bytes,
			counts[port].Markers)
		AddReportEntry(fmt.Sprintf("port %d", port), fmt.Sprintf("%+v", counts[port]))
	}
	return out
}

// loseVolume deletes a pod with its volume, and returns how the node joined again.
func loseVolume(ctx context.Context, c *harness.Cluster, pod string) string {
	GinkgoHelper()
	since := time.Now()
	Expect(c.Volumes().DeleteClaim(ctx, pod)).To(Succeed())
	old, err := c.Pods().Delete(ctx, pod)
	Expect(err).NotTo(HaveOccurred())
	Expect(c.Pods().WaitReplaced(ctx, pod, old, joinTime)).To(Succeed())
	kind, err := c.Joins().Wait(ctx, pod, since, joinTime)
	Expect(err).NotTo(HaveOccurred())
	return kind
}

// loseIncrementally deletes a pod while rows are written, so that it misses some.
func loseIncrementally(ctx context.Context, c *harness.Cluster, w *harness.Writer, pod string) string {
	GinkgoHelper()
	since := time.Now()
	old, err := c.Pods().Delete(ctx, pod)
	Expect(err).NotTo(HaveOccurred())
	Expect(w.WaitForMore(ctx, 50, shortly)).To(Succeed())
	Expect(c.Pods().WaitReplaced(ctx, pod, old, joinTime)).To(Succeed())
	kind, err := c.Joins().Wait(ctx, pod, since, joinTime)
	Expect(err).NotTo(HaveOccurred())
	return kind
}
