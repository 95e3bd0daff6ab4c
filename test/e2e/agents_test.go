package e2e

import (
	"cmp"
	"context"
	"os"
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

	previousOperator = "galera-operator:e2e-previous"
	previousVersion  = "v0.0.0-previous"
	// agentsNew is how long all agents may take to be new, once the operator is.
	agentsNew = 2 * time.Minute
)

var _ = Describe("An upgrade of the operator", func() {
	It("replaces the agents in place, and back: no database is restarted, no write fails, no evidence is lost",
		Label(Core), Serial, func(ctx SpecContext) {
			shop := sharedCluster(ctx)
			Expect(harness.BuildOperator(ctx, filepath.Join("..", ".."), nextOperator, nextVersion)).To(Succeed())
			u := followUpgrade(ctx, shop)
			version := u.before.Members[0].Agent.Version
			DeferCleanup(func(ctx SpecContext) { // other specs stop the operator: it has to be done with the agents
				awaitAgents(ctx, shop, Equal(version))
			}, NodeTimeout(3*time.Minute))
			old := restoreOperator(ctx) // before that: the last cleanup comes first
			u.rolls(ctx, nextOperator, nextVersion)
			u.rolls(ctx, old, version)
			u.rolls(ctx, nextOperator, nextVersion)

			progress("a server ends that another agent has started")
			Expect(shop.Servers().Kill(ctx, u.before.Primary)).To(Succeed())
			Expect(shop.WaitHealthy(ctx, shortly)).To(Succeed())
			expectHistory(ctx, shop, u.before.ClusterUUID)
			stopAndCheck(ctx, u.w, u.start)
		}, SpecTimeout(10*time.Minute))

	It("of the commit before replaces its agents, and goes back", Label(Slow), func(ctx SpecContext) {
		checkoutBefore(ctx)
		current := restoreOperator(ctx)
		Expect(kube.Operator().SetImage(ctx, previousOperator)).Error().NotTo(HaveOccurred())
		build := harness.Build(newNamespace(ctx, "upgrade"), "shop")
		// Agents are replaced at once; a restart that another template would take waits.
		build.Spec.Maintenance = &v1alpha1.MaintenanceSpec{Windows: []v1alpha1.MaintenanceWindow{
			{Name: "leap-day", Schedule: "0 0 29 2 *", Duration: metav1.Duration{Duration: 5 * time.Minute}}}}
		shop := create(ctx, build)
		Expect(shop.WaitReady(ctx, firstReady)).To(Succeed())
		version := status(ctx, sharedCluster(ctx)).Members[0].Agent.Version
		Expect(version).To(Equal(previousVersion), "the agents of other clusters went back, too")

		u := followUpgrade(ctx, shop)
		template := func() string {
			return statefulSet(ctx, shop).Spec.Template.Annotations[v1alpha1.AnnotationPodTemplate]
		}
		was := template()
		u.rolls(ctx, current, "")
		if template() == was { // the operator before may know of no window
			u.rolls(ctx, previousOperator, previousVersion)
			u.rolls(ctx, current, "")
		} else {
			Expect(shop.WaitCondition(ctx, v1alpha1.ConditionUpToDate, metav1.ConditionFalse, v1alpha1.ReasonMaintenancePending,
				shortly)).To(Succeed())
		}
		stopAndCheck(ctx, u.w, u.start)
	}, SpecTimeout(15*time.Minute))
})

// checkoutBefore is the folder of the commit to upgrade from, with its operator's image built.
func checkoutBefore(ctx context.Context) string {
	GinkgoHelper()
	commit := cmp.Or(os.Getenv("GALERA_PREVIOUS"), "HEAD~1")
	dir, name, remove, err := harness.Checkout(ctx, filepath.Join("..", ".."), commit)
	if err != nil {
		Skip("there is no " + commit + " to upgrade from: " + err.Error())
	}
	DeferCleanup(func(ctx SpecContext) { Expect(remove(ctx)).To(Succeed()) })
	progress("from %s", name)
	Expect(harness.BuildOperator(ctx, dir, previousOperator, previousVersion)).To(Succeed())
	return dir
}

// restoreOperator goes back to the operator that is deployed now at the end of the spec, whatever that comes to, and
// returns its image.
func restoreOperator(ctx context.Context) (image string) {
	GinkgoHelper()
	image, err := kube.Operator().Image(ctx)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx SpecContext) {
		Expect(kube.Operator().SetImage(ctx, image)).Error().NotTo(HaveOccurred())
	}, NodeTimeout(3*time.Minute))
	return image
}

// upgrading is a cluster under load of which nothing may change but the agents.
type upgrading struct {
	shop   *harness.Cluster
	w      *harness.Writer
	start  time.Time
	before v1alpha1.GaleraClusterStatus
	nodes  map[string]incarnation
	runs   map[string]string
}

func followUpgrade(ctx context.Context, shop *harness.Cluster) *upgrading {
	GinkgoHelper()
	u := &upgrading{shop: shop, before: status(ctx, shop), nodes: incarnations(ctx, shop), start: time.Now()}
	var err error
	u.runs, err = shop.Servers().Runs(ctx)
	Expect(err).NotTo(HaveOccurred())
	u.w = startWriter(ctx, shop, harness.WriterOptions{Patient: true})
	return u
}

// rolls rolls the operator to an image, waits until all agents are of its version ("" for another one than now), and
// checks everything else.
func (u *upgrading) rolls(ctx context.Context, image, version string) {
	GinkgoHelper()
	u.upgraded(ctx, version, func() error {
		_, err := kube.Operator().SetImage(ctx, image)
		return err
	})
}

// upgraded does what brings another operator, and waits and looks as rolls does.
func (u *upgrading) upgraded(ctx context.Context, version string, upgrade func() error) {
	GinkgoHelper()
	began, now := time.Now(), agentVersions(ctx, u.shop)[0]
	Expect(upgrade()).To(Succeed())
	operator := time.Now()
	wanted := Equal(version)
	if version == "" {
		wanted = Not(Equal(now))
	}
	awaitAgents(ctx, u.shop, wanted)
	progress("operator in %s, agents %s later", operator.Sub(began).Round(time.Second),
		time.Since(operator).Round(time.Second))
	Expect(u.shop.WaitHealthy(ctx, shortly)).To(Succeed())
	Expect(incarnations(ctx, u.shop)).To(Equal(u.nodes), "no container was replaced or restarted")
	Expect(u.shop.Servers().Runs(ctx)).To(Equal(u.runs), "no mariadbd was restarted")
	Expect(u.w.WaitForMore(ctx, 20, shortly)).To(Succeed())
	Expect(u.w.Errors()).To(BeEmpty(), "no client has seen anything")
	Expect(u.w.LongestGap(began).Length).To(BeNumerically("<", undisturbedGap), "nor waited for long")
	after := status(ctx, u.shop)
	Expect(after.Primary).To(Equal(u.before.Primary), "no switchover")
	for _, c := range []string{v1alpha1.ConditionEncrypted, v1alpha1.ConditionAvailable} {
		Expect(since(after.Conditions, c)).To(Equal(since(u.before.Conditions, c)), "%s has not changed meanwhile: %s", c,
			meta.FindStatusCondition(after.Conditions, c).Message)
	}
}

// awaitAgents waits until all agents are of a version.
func awaitAgents(ctx context.Context, c *harness.Cluster, version OmegaMatcher) {
	GinkgoHelper()
	Eventually(ctx, func(ctx context.Context) []string { return agentVersions(ctx, c) }).
		WithTimeout(agentsNew).WithPolling(time.Second).Should(HaveEach(And(Not(BeEmpty()), version)))
}

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
