package e2e

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/test/harness"
)

var _ = Describe("A pod template", Label(Slow), func() {
	It("adds a sidecar to running nodes one by one, and takes it away again", func(ctx SpecContext) {
		shop := create(ctx, harness.Build(newNamespace(ctx, "pods"), "shop"))
		Expect(shop.WaitReady(ctx, firstReady)).To(Succeed())
		image, err := kube.Operator().DefaultImage(ctx)
		Expect(err).NotTo(HaveOccurred())
		w := startWriter(ctx, shop, harness.WriterOptions{})
		rolled := func(edit func(*v1alpha1.GaleraClusterSpec), sidecars int) {
			GinkgoHelper()
			uids := map[string]types.UID{}
			for _, p := range podsOf(ctx, shop) {
				uids[p.Name] = p.UID
			}
			change(ctx, shop, edit)
			for _, name := range podNames(ctx, shop) {
				Expect(shop.Pods().WaitReplaced(ctx, name, uids[name], upgradeTime)).To(Succeed())
			}
			Expect(shop.WaitHealthy(ctx, upgradeTime)).To(Succeed())
			for _, p := range podsOf(ctx, shop) {
				Expect(p.Spec.InitContainers).To(HaveLen(1+sidecars), p.Name)
			}
		}
		rolled(func(s *v1alpha1.GaleraClusterSpec) {
			s.PodTemplate = &v1alpha1.PodTemplateSpec{
				Labels: map[string]string{"team": "shop"}, Env: []v1alpha1.EnvValue{{Name: "TEAM", Value: "shop"}},
				Volumes: []v1alpha1.SidecarVolume{{Name: "spool"}},
				Sidecars: []v1alpha1.Sidecar{{Name: "audit", Image: image,
					Command:      []string{"sh", "-c", "trap exit TERM; touch /spool/up; sleep infinity & wait"},
					VolumeMounts: []v1alpha1.SidecarMount{{Name: "spool", MountPath: "/spool"}}}},
			}
		}, 1)
		for _, p := range podsOf(ctx, shop) {
			Expect(p.Labels).To(HaveKeyWithValue("team", "shop"))
			Expect(p.Status.InitContainerStatuses[1].Started).To(HaveValue(BeTrue()))
			Expect(p.Spec.Containers[0].Env).To(ContainElement(corev1.EnvVar{Name: "TEAM", Value: "shop"}))
		}
		rolled(func(s *v1alpha1.GaleraClusterSpec) { s.PodTemplate = nil }, 0)
		w.Stop()
		Expect(w.Check(ctx)).To(Succeed())
	})
})

func podsOf(ctx context.Context, c *harness.Cluster) []corev1.Pod {
	GinkgoHelper()
	list, err := c.Pods().List(ctx)
	Expect(err).NotTo(HaveOccurred())
	return list
}
