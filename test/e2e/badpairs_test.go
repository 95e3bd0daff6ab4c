package e2e

import (
	"bytes"
	"context"
	"crypto/x509"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/pki"
	"github.com/galera-operator/galera-operator/internal/pki/pkitest"
	"github.com/galera-operator/galera-operator/test/harness"
)

// withoutCertManager stops cert-manager until the spec ends, so that the spec can take its part.
func withoutCertManager(ctx context.Context) {
	GinkgoHelper()
	DeferCleanup(func(ctx SpecContext) { Expect(harness.ScaleCertManager(ctx, kube, 1)).To(Succeed()) },
		NodeTimeout(2*time.Minute))
	Expect(harness.ScaleCertManager(ctx, kube, 0)).To(Succeed())
}

// issue makes a pair by the cluster's CA.
func issue(ctx context.Context, c *harness.Cluster, leaf pkitest.Leaf) harness.Pair {
	GinkgoHelper()
	p, err := c.Certificates().Issue(ctx, leaf)
	Expect(err).NotTo(HaveOccurred())
	return p
}

var _ = Describe("A bad certificate", Label(Slow, Input), func() {
	It("never reaches a node, whatever is wrong with it", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		withoutCertManager(ctx)
		good := issue(ctx, shop, pkitest.Leaf{})
		foreign, err := shop.Certificates().Foreign(ctx)
		Expect(err).NotTo(HaveOccurred())
		other := issue(ctx, shop, pkitest.Leaf{})
		before, running := status(ctx, shop).TLS.Serial, runs(ctx, shop)
		w := startWriter(ctx, shop, harness.WriterOptions{})
		start := time.Now()
		for reason, bad := range map[string]harness.Pair{
			pki.ReasonKeyMismatch: {Certificate: good.Certificate, Key: other.Key, CA: good.CA},
			pki.ReasonWrongUsage:  issue(ctx, shop, pkitest.Leaf{Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}),
			pki.ReasonExpired:     issue(ctx, shop, pkitest.Leaf{NotAfter: start.Add(-time.Minute)}),
			pki.ReasonNotYetValid: issue(ctx, shop, pkitest.Leaf{NotBefore: start.Add(30 * time.Minute)}),
			pki.ReasonNameMissing: issue(ctx, shop, pkitest.Leaf{Names: []string{"elsewhere"}}),
			pki.ReasonForeignCA:   foreign,
			pki.ReasonMalformed:   {Certificate: good.Certificate[:len(good.Certificate)/2], Key: good.Key, CA: good.CA},
			pki.ReasonIncomplete:  {Certificate: good.Certificate, CA: good.CA},
			pki.ReasonKeyEncrypted: {Certificate: good.Certificate, CA: good.CA,
				Key: bytes.ReplaceAll(good.Key, []byte("PRIVATE KEY"), []byte("ENCRYPTED PRIVATE KEY"))},
			pki.ReasonNoCA: {Certificate: good.Certificate, Key: good.Key},
		} {
			By(reason)
			Expect(shop.Certificates().Hand(ctx, bad)).To(Succeed())
			Eventually(func() string {
				cond, err := shop.Condition(ctx, v1alpha1.ConditionCertificatesValid)
				Expect(err).NotTo(HaveOccurred())
				return cond.Reason + " " + cond.Message
			}).WithContext(ctx).WithTimeout(shortly).WithPolling(100 * time.Millisecond).
				Should(And(HavePrefix(v1alpha1.ReasonCertificateRefused), ContainSubstring("("+reason+")")))
			Expect(status(ctx, shop).TLS.Serial).To(Equal(before), "the old one is kept")
			Expect(served(status(ctx, shop))).To(Equal([]string{before}), "and presented")
		}
		Expect(w.Errors()).To(BeEmpty())
		By("a good one")
		Expect(shop.Certificates().Hand(ctx, good)).To(Succeed())
		awaitRenewed(ctx, shop, before)
		Expect(shop.WaitCondition(ctx, v1alpha1.ConditionCertificatesValid, metav1.ConditionTrue, v1alpha1.ReasonHealthy,
			shortly)).To(Succeed())
		Expect(w.Errors()).To(BeEmpty(), "no client noticed anything")
		stopAndCheck(ctx, w, start)
		Expect(runs(ctx, shop)).To(Equal(running), "nothing was restarted")
	}, SpecTimeout(8*time.Minute))
})

var _ = Describe("An expired certificate", Label(Slow, Faults), func() {
	// shortLived gives the nodes a certificate that is about to end, and returns its serial number.
	shortLived := func(ctx context.Context, shop *harness.Cluster) string {
		GinkgoHelper()
		before := status(ctx, shop).TLS.Serial
		Expect(shop.Certificates().Hand(ctx, issue(ctx, shop, pkitest.Leaf{NotAfter: time.Now().Add(30 * time.Second)}))).
			To(Succeed())
		return awaitRenewed(ctx, shop, before)
	}
	awaitExpired := func(ctx context.Context, shop *harness.Cluster) {
		GinkgoHelper()
		Expect(shop.WaitCondition(ctx, v1alpha1.ConditionCertificatesValid, metav1.ConditionFalse,
			v1alpha1.ReasonCertificateExpired, 2*time.Minute)).To(Succeed())
	}

	It("heals live on a running cluster, once it is renewed", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		withoutCertManager(ctx)
		w := startWriter(ctx, shop, harness.WriterOptions{})
		start := time.Now()
		running := runs(ctx, shop)
		serial := shortLived(ctx, shop)
		awaitExpired(ctx, shop)
		Expect(w.WaitForMore(ctx, 100, shortly)).To(Succeed(), "connections that exist go on")
		By("starting cert-manager, which renews it")
		renewed := time.Now()
		Expect(harness.ScaleCertManager(ctx, kube, 1)).To(Succeed())
		awaitRenewed(ctx, shop, serial)
		progress("healed %s after cert-manager was started", time.Since(renewed).Round(100*time.Millisecond))
		Expect(w.Errors()).To(BeEmpty(), "no connection was dropped")
		Expect(shop.WaitHealthy(ctx, recoverTime)).To(Succeed())
		stopAndCheck(ctx, w, start)
		Expect(runs(ctx, shop)).To(Equal(running), "nothing was restarted")
	}, SpecTimeout(8*time.Minute))

	It("holds up no node for good that went down with it", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		withoutCertManager(ctx)
		w := startWriter(ctx, shop, harness.WriterOptions{})
		start := time.Now()
		before := status(ctx, shop)
		serial := shortLived(ctx, shop)
		awaitExpired(ctx, shop)
		Expect(shop.Pods().ForceDeleteAll(ctx)).To(Succeed())
		Eventually(func() int32 { return status(ctx, shop).ReadyReplicas }).WithContext(ctx).WithTimeout(shortly).
			Should(BeZero())
		By("starting cert-manager, which renews it")
		down := time.Now()
		Expect(harness.ScaleCertManager(ctx, kube, 1)).To(Succeed())
		awaitRenewed(ctx, shop, serial)
		expectRecovery(ctx, shop, w, down)
		expectHistory(ctx, shop, before.ClusterUUID)
		stopAndCheck(ctx, w, start)
	}, SpecTimeout(10*time.Minute))
})
