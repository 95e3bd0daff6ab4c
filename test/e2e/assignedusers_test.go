package e2e

import (
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/test/harness"
)

// OpenShift's restricted-v2 gives the pods of a namespace a user of its own, and refuses pods that name another one.
var _ = Describe("Users that the namespace assigns", Label(Slow), func() {
	It("run the operator, and a cluster through start, crash and full state transfer", func(ctx SpecContext) {
		values, err := kube.Installation().ChartValues(ctx)
		Expect(err).NotTo(HaveOccurred())
		repository := filepath.Join("..", "..")
		ns := newNamespace(ctx, "assigned")
		Expect(kube.Installation().Remove(ctx)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) {
			Expect(kube.Installation().UninstallChart(ctx)).To(Succeed())
			Expect(kube.Namespaces().AssignUsers(ctx)).To(Succeed())
			Expect(kube.Installation().Deploy(ctx, repository)).To(Succeed())
		}, NodeTimeout(6*time.Minute))
		Expect(kube.Namespaces().AssignUsers(ctx, ns, harness.OperatorNamespace)).To(Succeed())

		values["watchNamespaces"] = []any{ns}
		values["podUsers"] = "assigned"
		values["podSecurityContext"] = map[string]any{"runAsUser": nil, "runAsGroup": nil, "fsGroup": nil}
		Expect(kube.Installation().InstallChart(ctx, filepath.Join(repository, "charts", "galera-operator"), values)).
			To(Succeed())
		operator, err := kube.Operator().Pod(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(operator.Spec.SecurityContext.RunAsUser).To(HaveValue(Equal(harness.AssignedUser)))

		shop := create(ctx, harness.Build(ns, "shop"))
		Expect(shop.WaitReady(ctx, firstReady)).To(Succeed())
		Expect(shop.WaitCondition(ctx, v1alpha1.ConditionEncrypted, metav1.ConditionTrue, v1alpha1.ReasonProved, shortly)).
			To(Succeed())
		for _, p := range podsOf(ctx, shop) {
			Expect(p.Spec.SecurityContext.RunAsUser).To(HaveValue(Equal(harness.AssignedUser)), p.Name)
		}
		before, start := status(ctx, shop), time.Now()
		w := startWriter(ctx, shop, harness.WriterOptions{})
		killed := time.Now()
		Expect(shop.Servers().Kill(ctx, podNames(ctx, shop)...)).To(Succeed())
		expectRecovery(ctx, shop, w, killed)
		expectHistory(ctx, shop, before.ClusterUUID)
		pod, err := shop.Replica(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(shop.Volumes().DeleteClaim(ctx, pod)).To(Succeed())
		old, err := shop.Pods().Delete(ctx, pod)
		Expect(err).NotTo(HaveOccurred())
		Expect(shop.Pods().WaitReplaced(ctx, pod, old, joinTime)).To(Succeed())
		Expect(shop.WaitHealthy(ctx, joinTime)).To(Succeed())
		stopAndCheck(ctx, w, start)
	}, SpecTimeout(15*time.Minute))
})
