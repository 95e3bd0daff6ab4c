package e2e

import (
	"context"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/test/harness"
)

const (
	nextOperator = "galera-operator:e2e-next"
	nextVersion  = "v0.0.0-next"
	// agentsNew is how long all agents may take to be new, once the operator is.
	agentsNew = time.Minute
)

var _ = Describe("An upgrade of the operator", Label(Core), func() {
	It("replaces the agents in place, and back: no database is restarted, no write fails, no evidence is lost", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		Expect(kube.BuildOperator(ctx, filepath.Join("..", ".."), nextOperator, nextVersion)).To(Succeed())
		before, nodes := status(ctx, shop), incarnations(ctx, shop)
		runs, err := shop.ServerRuns(ctx)
		Expect(err).NotTo(HaveOccurred())
		version := before.Members[0].Agent.Version
		start := time.Now()
		w := startWriter(ctx, shop, harness.WriterOptions{})

		rolls := func(image, version string) (was string) {
			GinkgoHelper()
			began := time.Now()
			was, err := kube.SetOperatorImage(ctx, image)
			Expect(err).NotTo(HaveOccurred())
			operator := time.Now()
			Eventually(ctx, func(ctx context.Context) []string { return agentVersions(ctx, shop) }).
				WithTimeout(agentsNew).WithPolling(time.Second).Should(HaveEach(version))
			progress("operator in %s, agents %s later", operator.Sub(began).Round(time.Second), time.Since(operator).Round(time.Second))
			Expect(shop.WaitHealthy(ctx, shortly)).To(Succeed())
			Expect(incarnations(ctx, shop)).To(Equal(nodes), "no container was replaced or restarted")
			Expect(shop.ServerRuns(ctx)).To(Equal(runs), "no mariadbd was restarted")
			Expect(w.WaitForMore(ctx, 20, shortly)).To(Succeed())
			Expect(w.Errors()).To(BeEmpty(), "no client has seen anything")
			after := status(ctx, shop)
			Expect(after.Primary).To(Equal(before.Primary), "no switchover")
			for _, c := range []string{v1alpha1.ConditionEncrypted, v1alpha1.ConditionAvailable} {
				Expect(since(after.Conditions, c)).To(Equal(since(before.Conditions, c)), c+" has not changed meanwhile")
			}
			return was
		}
		old := rolls(nextOperator, nextVersion)
		DeferCleanup(func(ctx SpecContext) {
			_, err := kube.SetOperatorImage(ctx, old)
			Expect(err).NotTo(HaveOccurred())
		}, NodeTimeout(3*time.Minute))
		rolls(old, version)
		rolls(nextOperator, nextVersion)

		progress("a server ends that another agent has started")
		victim := before.Primary
		Expect(shop.KillServers(ctx, victim)).To(Succeed())
		Expect(shop.WaitHealthy(ctx, shortly)).To(Succeed())
		expectHistory(ctx, shop, before.ClusterUUID)
		stopAndCheck(ctx, w, start)
	}, SpecTimeout(10*time.Minute))
})

func agentVersions(ctx context.Context, c *harness.Cluster) []string {
	var out []string
	for _, m := range status(ctx, c).Members {
		version := ""
		if m.Agent != nil {
			version = m.Agent.Version
		}
		out = append(out, version)
	}
	return out
}

// since is when a condition became what it is.
func since(conditions []metav1.Condition, kind string) metav1.Time {
	GinkgoHelper()
	c := meta.FindStatusCondition(conditions, kind)
	Expect(c).NotTo(BeNil(), kind)
	Expect(c.Status).To(Equal(metav1.ConditionTrue), kind)
	return c.LastTransitionTime
}
