package e2e

import (
	"context"
	"maps"
	"path/filepath"
	"strings"
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

// The release takes the place of the operator that make up has installed: two that watch the same clusters would both
// act.
var _ = Describe("The Helm chart", Label(Slow), func() {
	It("is installed, upgraded and uninstalled while a cluster serves", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		before, nodes := status(ctx, shop), incarnations(ctx, shop)
		values, err := kube.Installation().ChartValues(ctx)
		Expect(err).NotTo(HaveOccurred())
		repository := filepath.Join("..", "..")
		chart := filepath.Join(repository, "charts", "galera-operator")
		start := time.Now()
		w := startWriter(ctx, shop, harness.WriterOptions{})
		restoreChart(repository)

		serves := func() {
			GinkgoHelper()
			Expect(w.WaitForMore(ctx, 20, shortly)).To(Succeed())
			Expect(incarnations(ctx, shop)).To(Equal(nodes), "no container was replaced or restarted")
		}
		acts := func(not types.UID) types.UID {
			GinkgoHelper()
			var uid types.UID
			eventually(ctx, func(o Gomega) {
				p, err := kube.Operator().Pod(ctx)
				o.Expect(err).NotTo(HaveOccurred())
				o.Expect(p.UID).NotTo(Equal(not), "another operator acts")
				uid = p.UID
			})
			Expect(shop.WaitHealthy(ctx, shortly)).To(Succeed())
			return uid
		}

		progress("the chart takes over from kustomize")
		Expect(kube.Installation().InstallChart(ctx, chart, values)).To(Succeed())
		first := acts("")
		serves()

		progress("the release is upgraded")
		upgraded := maps.Clone(values)
		upgraded["podAnnotations"] = map[string]any{"galera-operator.io/test": "upgraded"}
		Expect(kube.Installation().InstallChart(ctx, chart, upgraded)).To(Succeed())
		acts(first)
		serves()

		progress("the release is uninstalled")
		Expect(kube.Installation().UninstallChart(ctx)).To(Succeed())
		left, err := shop.Get(ctx)
		Expect(err).NotTo(HaveOccurred(), "the CRD and the GaleraCluster stay")
		Expect(left.DeletionTimestamp).To(BeNil())
		serves()

		progress("the chart is installed anew")
		Expect(kube.Installation().InstallChart(ctx, chart, values)).To(Succeed())
		acts("")
		serves()
		expectHistory(ctx, shop, before.ClusterUUID)
		Expect(w.Errors()).To(BeEmpty(), "no client has seen anything")
		stopAndCheck(ctx, w, start)

		progress("a cluster by the README")
		other := create(ctx, sampleCluster(newNamespace(ctx, "chart")))
		Expect(other.WaitReady(ctx, firstReady)).To(Succeed())
		Expect(other.WaitCondition(ctx, v1alpha1.ConditionEncrypted, metav1.ConditionTrue, v1alpha1.ReasonProved, shortly)).
			To(Succeed())
	}, SpecTimeout(15*time.Minute))

	It("of the commit before is upgraded to this one, and downgraded, and no database is restarted",
		func(ctx SpecContext) {
			values, err := kube.Installation().ChartValues(ctx)
			Expect(err).NotTo(HaveOccurred())
			repository := filepath.Join("..", "..")
			before := checkoutBefore(ctx)
			old := maps.Clone(values)
			name, tag, _ := strings.Cut(previousOperator, ":")
			old["image"] = map[string]any{"repository": name, "tag": tag}
			restoreChart(repository)
			Expect(kube.Installation().InstallChart(ctx, filepath.Join(before, "charts", "galera-operator"), old)).To(Succeed())
			build := harness.Build(newNamespace(ctx, "chart"), "shop")
			// Agents are replaced at once; a restart that another template would take waits.
			build.Spec.Maintenance = &v1alpha1.MaintenanceSpec{Windows: []v1alpha1.MaintenanceWindow{
				{Name: "leap-day", Schedule: "0 0 29 2 *", Duration: metav1.Duration{Duration: 5 * time.Minute}}}}
			shop := create(ctx, build)
			Expect(shop.WaitReady(ctx, firstReady)).To(Succeed())
			u := followUpgrade(ctx, shop)
			this := filepath.Join(repository, "charts", "galera-operator")
			u.upgraded(ctx, "", func() error { return kube.Installation().InstallChart(ctx, this, values) })
			u.upgraded(ctx, previousVersion, func() error {
				return kube.Installation().InstallChart(ctx, filepath.Join(before, "charts", "galera-operator"), old)
			})
			u.upgraded(ctx, "", func() error { return kube.Installation().InstallChart(ctx, this, values) })
			expectHistory(ctx, shop, u.before.ClusterUUID)
			stopAndCheck(ctx, u.w, u.start)
		}, SpecTimeout(15*time.Minute))

	It("with named namespaces sees and may nothing anywhere else", func(ctx SpecContext) {
		values, err := kube.Installation().ChartValues(ctx)
		Expect(err).NotTo(HaveOccurred())
		watched, other := newNamespace(ctx, "watched"), newNamespace(ctx, "unwatched")
		values["watchNamespaces"] = []string{watched}
		repository := filepath.Join("..", "..")
		restoreChart(repository)
		Expect(kube.Installation().Undeploy(ctx, repository)).To(Succeed(), "its rights everywhere go with it")
		Expect(kube.Installation().InstallChart(ctx, filepath.Join(repository, "charts", "galera-operator"), values)).
			To(Succeed())
		unseen := create(ctx, harness.Build(other, "unseen", harness.Replicas(1)))
		seen := create(ctx, harness.Build(watched, "seen", harness.Replicas(1)))
		Expect(seen.WaitReady(ctx, firstReady)).To(Succeed())
		left, err := unseen.Get(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(left.Status.Conditions).To(BeEmpty())
		Expect(left.Finalizers).To(BeEmpty())
		for _, resource := range []string{"secrets", "pods", "statefulsets.apps", "galeraclusters.galera-operator.io"} {
			for ns, want := range map[string]bool{watched: true, other: false} {
				may, err := kube.Operator().May(ctx, "list", resource, ns)
				Expect(err).NotTo(HaveOccurred())
				Expect(may).To(Equal(want), "listing %s in %s", resource, ns)
			}
		}
	}, SpecTimeout(12*time.Minute))
})

// restoreChart puts the operator of make up back at the end of the spec.
func restoreChart(repository string) {
	DeferCleanup(func(ctx SpecContext) {
		Expect(kube.Installation().UninstallChart(ctx)).To(Succeed())
		Expect(kube.Installation().Deploy(ctx, repository)).To(Succeed())
	}, NodeTimeout(6*time.Minute))
}

// incarnation is one start of a container.
type incarnation struct {
	pod      types.UID
	restarts int32
}

// incarnations reports, for every container of a cluster's pods, which start it is.
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
