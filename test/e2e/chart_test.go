package e2e

import (
	"context"
	"maps"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/test/harness"
)

// The release takes the place of the operator that make up has installed: two that watch the same clusters would both act.
var _ = Describe("The Helm chart", Label(Slow), func() {
	It("is installed, upgraded and uninstalled while a cluster serves", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		before, nodes := status(ctx, shop), incarnations(ctx, shop)
		values, err := kube.ChartValues(ctx)
		Expect(err).NotTo(HaveOccurred())
		repository := filepath.Join("..", "..")
		chart := filepath.Join(repository, "charts", "galera-operator")
		start := time.Now()
		w := startWriter(ctx, shop, harness.WriterOptions{})
		DeferCleanup(func(ctx SpecContext) {
			Expect(kube.UninstallChart(ctx)).To(Succeed())
			Expect(kube.DeployOperator(ctx, repository)).To(Succeed())
		}, NodeTimeout(6*time.Minute))

		serves := func() {
			GinkgoHelper()
			Expect(w.WaitForMore(ctx, 20, shortly)).To(Succeed())
			Expect(incarnations(ctx, shop)).To(Equal(nodes), "no container was replaced or restarted")
		}
		acts := func(not types.UID) types.UID {
			GinkgoHelper()
			var uid types.UID
			eventually(ctx, func(o Gomega) {
				p, err := kube.OperatorPod(ctx)
				o.Expect(err).NotTo(HaveOccurred())
				o.Expect(p.UID).NotTo(Equal(not), "another operator acts")
				uid = p.UID
			})
			Expect(shop.WaitHealthy(ctx, shortly)).To(Succeed())
			return uid
		}

		progress("the chart takes over from kustomize")
		Expect(kube.InstallChart(ctx, chart, values)).To(Succeed())
		first := acts("")
		serves()

		progress("the release is upgraded")
		upgraded := maps.Clone(values)
		upgraded["podAnnotations"] = map[string]any{"galera-operator.io/test": "upgraded"}
		Expect(kube.InstallChart(ctx, chart, upgraded)).To(Succeed())
		acts(first)
		serves()

		progress("the release is uninstalled")
		Expect(kube.UninstallChart(ctx)).To(Succeed())
		left, err := shop.Get(ctx)
		Expect(err).NotTo(HaveOccurred(), "the CRD and the GaleraCluster stay")
		Expect(left.DeletionTimestamp).To(BeNil())
		serves()

		progress("the chart is installed anew")
		Expect(kube.InstallChart(ctx, chart, values)).To(Succeed())
		acts("")
		serves()
		expectHistory(ctx, shop, before.ClusterUUID)
		Expect(w.Errors()).To(BeEmpty(), "no client has seen anything")
		stopAndCheck(ctx, w, start)

		progress("a cluster by the README")
		other := create(ctx, sampleCluster(newNamespace(ctx, "chart")))
		Expect(other.WaitReady(ctx, firstReady)).To(Succeed())
		Expect(other.WaitCondition(ctx, v1alpha1.ConditionEncrypted, metav1.ConditionTrue, v1alpha1.ReasonProved, shortly)).To(Succeed())
	}, SpecTimeout(15*time.Minute))
})

// incarnation is one start of a container.
type incarnation struct {
	pod      types.UID
	restarts int32
}

// incarnations tells, for every container of a cluster's pods, which start it is.
func incarnations(ctx context.Context, c *harness.Cluster) map[string]incarnation {
	GinkgoHelper()
	out := map[string]incarnation{}
	for _, name := range podNames(ctx, c) {
		p := &corev1.Pod{}
		Expect(kube.Get(ctx, ctrlclient.ObjectKey{Namespace: c.Namespace, Name: name}, p)).To(Succeed())
		for _, s := range p.Status.ContainerStatuses {
			out[name+"/"+s.Name] = incarnation{p.UID, s.RestartCount}
		}
	}
	return out
}
