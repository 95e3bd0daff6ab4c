package e2e

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/test/harness"
)

// A backup of a namespace is restored kind by kind: volumes and claims, Secrets, ConfigMaps, Services, pods without an
// owner, the StatefulSet, and the resource last. Until then nothing tells the agents whether their cluster lives
// elsewhere.
var _ = Describe("A namespace restored with its volumes", Label(Slow, Faults), func() {
	It("next to the original, starts nothing with the copied data", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		start := time.Now()
		w := startWriter(ctx, shop, harness.WriterOptions{})
		pod, err := shop.Replica(ctx)
		Expect(err).NotTo(HaveOccurred())
		snapshot := takeSnapshot(ctx, shop, pod)
		Expect(shop.WaitHealthy(ctx, joinTime)).To(Succeed())
		saved := saveWithPods(ctx, shop)

		copied := kube.Cluster(newNamespace(ctx, "staging"), shop.Name)
		volumes := restoreVolumes(ctx, copied, hostsOf(ctx, shop), func(string) harness.Volume { return snapshot })
		Expect(saved.CreateIn(ctx, copied.Namespace)).To(Succeed())
		refusal := "the published configuration is that of the cluster " + shop.Namespace + "/" + shop.Name
		for _, pod := range podNames(ctx, shop) {
			Eventually(func(o Gomega) {
				text, err := copied.Pods().Logs(ctx, pod, 0, false)
				o.Expect(err).NotTo(HaveOccurred())
				o.Expect(text).To(ContainSubstring(refusal), "%s of the copy", pod)
			}).WithContext(ctx).WithTimeout(joinTime).WithPolling(time.Second).Should(Succeed())
		}
		expectAlone(ctx, shop)

		By("restoring the resource, as the last object")
		copied = create(ctx, sampleCluster(copied.Namespace))
		expectStalled(ctx, copied, v1alpha1.ReasonIdentityUnknown, "spec.bootstrapFrom", shop.Namespace+"/"+shop.Name)
		Expect(status(ctx, copied).ClusterUUID).To(BeEmpty())
		for _, v := range volumes {
			Expect(v.Has(ctx, "data/grastate.dat")).To(BeTrue(), "the copied data are kept")
		}
		expectAlone(ctx, shop)
		stopAndCheck(ctx, w, start)
	}, SpecTimeout(12*time.Minute))

	It("in place of the original, goes on with its data", func(ctx SpecContext) {
		shop := create(ctx, sampleCluster(newNamespace(ctx, "lost")))
		Expect(shop.WaitReady(ctx, firstReady)).To(Succeed())
		before, hosts, names := status(ctx, shop), hostsOf(ctx, shop), podNames(ctx, shop)
		Expect(client(ctx, shop).Exec(ctx, shop.Name+"-primary", "CREATE DATABASE kept",
			"CREATE TABLE kept.t (id INT PRIMARY KEY)", "INSERT INTO kept.t VALUES (1), (2), (3)")).To(Succeed())
		saved := saveWithPods(ctx, shop)
		hibernate(ctx, shop)
		snapshots := map[string]harness.Volume{}
		for _, pod := range names {
			v, err := shop.Volumes().Of(ctx, pod)
			Expect(err).NotTo(HaveOccurred())
			snapshots[pod], err = v.Snapshot(ctx, "saved-"+shop.Namespace+"-"+pod)
			Expect(err).NotTo(HaveOccurred())
			DeferCleanup(func(ctx SpecContext) { Expect(snapshots[pod].Remove(ctx)).To(Succeed()) })
		}

		By("losing the whole cluster")
		have, err := shop.Get(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(kube.Delete(ctx, have, ctrlclient.PropagationPolicy(metav1.DeletePropagationForeground))).To(Succeed())
		for _, pod := range names {
			Expect(shop.Volumes().DeleteClaim(ctx, pod)).To(Succeed())
		}
		eventually(ctx, func(o Gomega) {
			_, err := shop.Get(ctx)
			o.Expect(err).To(HaveOccurred(), "the resource is still there")
			for _, pod := range names {
				_, err := shop.Volumes().Of(ctx, pod)
				o.Expect(err).To(HaveOccurred(), "the claim of %s is still there", pod)
			}
		})

		By("restoring it, the resource last")
		restoreVolumes(ctx, shop, hosts, func(pod string) harness.Volume { return snapshots[pod] })
		Expect(saved.CreateIn(ctx, shop.Namespace)).To(Succeed())
		shop = create(ctx, sampleCluster(shop.Namespace))
		Expect(shop.WaitHealthy(ctx, firstReady)).To(Succeed())
		expectHistory(ctx, shop, before.ClusterUUID)
		Expect(status(ctx, shop).Identity).To(Equal(before.Identity))
		expectAlone(ctx, shop)
		for _, pod := range podNames(ctx, shop) {
			Expect(client(ctx, shop).QueryPod(ctx, pod, "SELECT GROUP_CONCAT(id) FROM kept.t")).To(Equal("1,2,3"), pod)
		}
	}, SpecTimeout(12*time.Minute))
})

// saveWithPods returns the cluster's objects as a backup of its namespace has them.
func saveWithPods(ctx context.Context, c *harness.Cluster) harness.SavedObjects {
	GinkgoHelper()
	saved, err := harness.SaveObjects(ctx, c)
	Expect(err).NotTo(HaveOccurred())
	saved, err = saved.WithPods(ctx, c)
	Expect(err).NotTo(HaveOccurred())
	return saved
}

// hostsOf returns the host of each pod.
func hostsOf(ctx context.Context, c *harness.Cluster) map[string]string {
	GinkgoHelper()
	out := map[string]string{}
	for _, pod := range podNames(ctx, c) {
		v, err := c.Volumes().Of(ctx, pod)
		Expect(err).NotTo(HaveOccurred())
		out[pod] = v.Node
	}
	return out
}

// restoreVolumes gives each pod that is to come a claim with data, on its host.
func restoreVolumes(ctx context.Context, c *harness.Cluster, hosts map[string]string,
	of func(pod string) harness.Volume) (out []harness.Volume) {
	GinkgoHelper()
	for pod, host := range hosts {
		v, err := of(pod).CopyOn(ctx, host, fmt.Sprintf("restored-%s-%s", c.Namespace, pod))
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx SpecContext) {
			Expect(c.Volumes().Unclaim(ctx, pod)).To(Succeed())
			Expect(v.Remove(ctx)).To(Succeed())
		})
		Expect(v.Claim(ctx, c, pod)).To(Succeed())
		out = append(out, v)
	}
	return out
}
