package e2e

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/test/harness"
)

const (
	// crashingImage answers when it is asked for its version, and ends at once otherwise.
	crashingImage = "galera-test-crashing:11.8"
	// untoldImage is of the older series, which its name does not report.
	untoldImage = "galera-test-database:previous"
	// missingImage exists nowhere.
	missingImage = "galera-test-missing:11.8"

	upgradeTime = 5 * time.Minute
)

var _ = Describe("Another image", Label(Slow), func() {
	var newer string

	BeforeEach(func(ctx SpecContext) {
		var err error
		newer, err = kube.Operator().DefaultImage(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(harness.LoadOld(ctx)).To(Succeed())
	}, NodeTimeout(5*time.Minute))

	It("of a later series is rolled through by IST, with mariadb-upgrade, and there is no way back",
		func(ctx SpecContext) {
			shop, w, start := oldCluster(ctx)
			primary, err := shop.Primary(ctx)
			Expect(err).NotTo(HaveOccurred())
			down, err := harness.WatchDown(ctx, shop)
			Expect(err).NotTo(HaveOccurred())

			began := time.Now()
			setImage(ctx, shop, newer)
			waitVersion(ctx, shop, "11.8.")
			progress("from 10.11 to 11.8 in %s", time.Since(began).Round(time.Second))
			most, together, order, err := down.Stop()
			Expect(err).NotTo(HaveOccurred())
			Expect(most).To(Equal(1), "at the same time not ready: %v", together)
			Expect(order).To(ConsistOf(podNames(ctx, shop)), "each node is replaced once")
			Expect(order[len(order)-1]).To(Equal(primary), "the primary is the last one: %v", order)
			joins, err := shop.Joins().Since(ctx, began)
			Expect(err).NotTo(HaveOccurred())
			progress("joins: %v", joins)
			Expect(joins).To(HaveLen(3))
			Expect(joins).To(HaveEach("IST"))
			cl := client(ctx, shop)
			for _, pod := range podNames(ctx, shop) {
				Expect(cl.QueryPod(ctx, pod, "SELECT VERSION() LIKE '11.8.%'")).To(Equal("1"), pod)
			}

			By("refusing an older series before a node is touched")
			down, err = harness.WatchDown(ctx, shop)
			Expect(err).NotTo(HaveOccurred())
			setImage(ctx, shop, harness.OldImage)
			expectStalled(ctx, shop, v1alpha1.ReasonDowngradeRefused, harness.OldImage, "no node was changed")
			setImage(ctx, shop, newer)
			Expect(shop.WaitReady(ctx, joinTime)).To(Succeed())
			most, together, _, err = down.Stop()
			Expect(err).NotTo(HaveOccurred())
			Expect(most).To(BeZero(), "nothing may be restarted for a refused image: %v", together)

			By("refusing it at the first node when the image's name does not name its series")
			Expect(harness.LoadVariant(ctx, untoldImage, harness.OldImage, "LABEL test=untold")).To(Succeed())
			setImage(ctx, shop, untoldImage)
			expectStalled(ctx, shop, v1alpha1.ReasonDowngradeRefused, "shop-2", "nothing was touched")
			Expect(w.WaitForMore(ctx, 20, shortly)).To(Succeed(), "the others go on serving")
			back := time.Now()
			setImage(ctx, shop, newer)
			Expect(shop.WaitHealthy(ctx, upgradeTime)).To(Succeed())
			expectJoins(ctx, shop, back, And(HaveLen(1), Not(ContainElement("SST"))))
			stopAndCheck(ctx, w, start)
		}, SpecTimeout(15*time.Minute))

	It("that does not work halts the roll at the first node, from where it goes back, and forward", func(ctx SpecContext) {
		Expect(harness.LoadVariant(ctx, noProviderImage, newer, "USER root",
			"RUN find / -xdev -name 'libgalera*.so*' -delete")).To(Succeed())
		Expect(harness.LoadVariant(ctx, crashingImage, newer, "USER root",
			`RUN mv /usr/sbin/mariadbd /usr/sbin/mariadbd.good && `+
				`printf '#!/bin/sh\ncase "$*" in *--version*|*--help*) exec /usr/sbin/mariadbd.good "$@" ;; esac\necho "[ERROR] broken on purpose" >&2\nexit 7\n' >/usr/sbin/mariadbd && `+
				`chmod 755 /usr/sbin/mariadbd`)).To(Succeed())
		shop, w, start := oldCluster(ctx)

		By("an image that is nowhere, and back")
		halted(ctx, shop, w, missingImage, v1alpha1.ReasonImagePullFailed)
		setImage(ctx, shop, harness.OldImage)
		Expect(shop.WaitHealthy(ctx, joinTime)).To(Succeed())

		By("a server that ends at once, and back: it is not known what it did to the data")
		halted(ctx, shop, w, crashingImage, v1alpha1.ReasonMemberFailed)
		back := time.Now()
		setImage(ctx, shop, harness.OldImage)
		Expect(shop.WaitHealthy(ctx, recoverTime)).To(Succeed())
		expectJoins(ctx, shop, back, Equal(map[string]string{"shop-2": "SST"}))

		By("an image without the provider, and forward")
		halted(ctx, shop, w, noProviderImage, v1alpha1.ReasonImageUnusable)
		setImage(ctx, shop, newer)
		waitVersion(ctx, shop, "11.8.")
		stopAndCheck(ctx, w, start)
	}, SpecTimeout(15*time.Minute))
})

// oldCluster is a cluster of the older series with a writer.
func oldCluster(ctx context.Context) (*harness.Cluster, *harness.Writer, time.Time) {
	GinkgoHelper()
	c := sampleCluster(newNamespace(ctx, "upgrade"))
	c.Spec.Image = harness.OldImage
	shop := create(ctx, c)
	Expect(shop.WaitReady(ctx, firstReady)).To(Succeed())
	start := time.Now()
	return shop, startWriter(ctx, shop, harness.WriterOptions{}), start
}

func setImage(ctx context.Context, c *harness.Cluster, image string) {
	GinkgoHelper()
	change(ctx, c, func(s *v1alpha1.GaleraClusterSpec) { s.Image = image })
}

// halted gives a cluster an image that does not work: the first node explains why, the others serve and are
// left alone.
func halted(ctx context.Context, c *harness.Cluster, w *harness.Writer, image, reason string) {
	GinkgoHelper()
	down, err := harness.WatchDown(ctx, c)
	Expect(err).NotTo(HaveOccurred())
	setImage(ctx, c, image)
	Eventually(func() (string, error) {
		ready, err := c.Condition(ctx, v1alpha1.ConditionReady)
		if err != nil {
			return "", err
		}
		return ready.Reason + ": " + ready.Message, nil
	}).WithContext(ctx).WithTimeout(recoverTime).Should(And(HavePrefix(reason+":"), ContainSubstring("shop-2")))
	Expect(w.WaitForMore(ctx, 50, shortly)).To(Succeed(), "the others go on serving")
	most, _, order, err := down.Stop()
	Expect(err).NotTo(HaveOccurred())
	Expect(most).To(Equal(1))
	Expect(order).To(HaveEach("shop-2"), "the roll is halted at the first node")
}

// waitVersion waits until all nodes have a version, and all that belongs to it is done.
func waitVersion(ctx context.Context, c *harness.Cluster, version string) {
	GinkgoHelper()
	Eventually(func() ([]string, error) {
		have, err := c.Get(ctx)
		if err != nil {
			return nil, err
		}
		var versions []string
		for _, m := range have.Status.Members {
			versions = append(versions, m.Version)
		}
		return versions, nil
	}).WithContext(ctx).WithTimeout(upgradeTime).Should(And(HaveLen(3), HaveEach(HavePrefix(version))))
	Expect(c.WaitHealthy(ctx, upgradeTime)).To(Succeed())
}
