package e2e

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/test/harness"
)

// replaceTime is what the replacement of a CA may take: two live changes, the time that clients have between them, and
// three restarts.
const replaceTime = 7 * time.Minute

// askFor asks for a renewal by annotation.
func askFor(ctx context.Context, c *harness.Cluster, request string) {
	GinkgoHelper()
	Expect(c.Change(ctx, func(g *v1alpha1.GaleraCluster) {
		if g.Annotations == nil {
			g.Annotations = map[string]string{}
		}
		g.Annotations[v1alpha1.AnnotationRenew] = request
	})).To(Succeed())
}

// served reports which certificates all nodes were seen to present on both ports.
func served(s v1alpha1.GaleraClusterStatus) []string {
	var out []string
	for _, m := range s.Members {
		if m.TLS == nil || m.TLS.Replication == nil || m.TLS.Clients == nil {
			return nil
		}
		out = append(out, m.TLS.Replication.Serial, m.TLS.Clients.Serial)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// awaitRenewed waits until all nodes present another certificate than before, and returns its serial.
func awaitRenewed(ctx context.Context, c *harness.Cluster, before string) string {
	GinkgoHelper()
	var serial string
	Expect(kube.Until(ctx, "a new certificate on all ports", replaceTime, func(ctx context.Context) (bool, string, error) {
		have, err := c.Get(ctx)
		if err != nil {
			return false, "", err
		}
		now := served(have.Status)
		if len(now) == 1 {
			serial = now[0]
		}
		return len(now) == 1 && serial != before && serial == have.Status.TLS.Serial,
			fmt.Sprintf("%s; served: %v", harness.Summary(have), now), nil
	})).To(Succeed())
	return serial
}

var _ = Describe("The nodes' certificate", Label(Core, Wire), func() {
	It("is renewed on request under load, and no client notices", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		before, running := status(ctx, shop).TLS.Serial, runs(ctx, shop)
		w := startWriter(ctx, shop, harness.WriterOptions{Patient: true})
		start := time.Now()
		askFor(ctx, shop, "leaf@"+start.Format("150405.000"))
		serial := awaitRenewed(ctx, shop, before)
		progress("certificate %s served by all after %s", serial, time.Since(start).Round(time.Millisecond))
		Expect(w.Errors()).To(BeEmpty(), "no write failed, no connection was dropped")
		Expect(w.LongestGap(start).Length).To(BeNumerically("<", undisturbedGap), "none waited for long")
		stopAndCheck(ctx, w, start)
		Expect(runs(ctx, shop)).To(Equal(running), "nothing was restarted")
	}, SpecTimeout(8*time.Minute))
})

var _ = Describe("The nodes' certificate, again and again", Label(Slow, Wire), func() {
	It("is renewed ten times in a row under load", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		serial, running := status(ctx, shop).TLS.Serial, runs(ctx, shop)
		w := startWriter(ctx, shop, harness.WriterOptions{})
		start := time.Now()
		for i := range 10 {
			askFor(ctx, shop, fmt.Sprintf("leaf@%s-%d", start.Format("150405"), i))
			serial = awaitRenewed(ctx, shop, serial)
		}
		progress("ten renewals in %s", time.Since(start).Round(time.Second))
		Expect(w.Errors()).To(BeEmpty(), "no write failed, no connection was dropped")
		stopAndCheck(ctx, w, start)
		Expect(runs(ctx, shop)).To(Equal(running), "nothing was restarted")
	}, SpecTimeout(8*time.Minute))

	It("takes every size of key live, and another kind by a rolling restart", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		now := status(ctx, shop).TLS.Serial
		w := startWriter(ctx, shop, harness.WriterOptions{})
		start := time.Now()
		for _, to := range []struct {
			v1alpha1.PrivateKeySpec
			live bool
		}{
			{v1alpha1.PrivateKeySpec{Algorithm: "ECDSA", Size: 384}, true},
			{v1alpha1.PrivateKeySpec{Algorithm: "RSA", Size: 2048}, false},
			{v1alpha1.PrivateKeySpec{Algorithm: "RSA", Size: 3072}, true},
			{v1alpha1.PrivateKeySpec{Algorithm: "RSA", Size: 4096}, true},
			{v1alpha1.PrivateKeySpec{Algorithm: "ECDSA", Size: 256}, false},
		} {
			running := runs(ctx, shop)
			change(ctx, shop, func(s *v1alpha1.GaleraClusterSpec) { s.TLS.Certificate.PrivateKey = to.PrivateKeySpec })
			now = awaitRenewed(ctx, shop, now)
			if !to.live {
				Eventually(func(g Gomega) {
					all, err := shop.Pods().Runs(ctx)
					g.Expect(err).NotTo(HaveOccurred())
					for pod, run := range running {
						g.Expect(all[pod]).NotTo(Equal(run), pod)
					}
				}).WithContext(ctx).WithTimeout(switchTime).WithPolling(time.Second).Should(Succeed())
			}
			Expect(shop.WaitHealthy(ctx, recoverTime)).To(Succeed())
			for _, pod := range podNames(ctx, shop) {
				for _, port := range []string{harness.PortReplication, harness.PortClients} {
					Expect(shop.Peers().KeyKind(ctx, pod, port)).To(Equal(fmt.Sprintf("%s-%d", to.Algorithm, to.Size)), pod+":"+port)
				}
			}
			if to.live {
				Expect(runs(ctx, shop)).To(Equal(running), "nothing was restarted")
			}
		}
		stopAndCheck(ctx, w, start)
	}, SpecTimeout(12*time.Minute))
})

var _ = Describe("A CA is replaced", Label(Slow, Wire), func() {
	for name, replace := range map[string]func(context.Context, *harness.Cluster){
		"on request": func(ctx context.Context, c *harness.Cluster) { askFor(ctx, c, "ca@1") },
		"because another issuer is named": func(ctx context.Context, c *harness.Cluster) {
			Expect(createIssuer(ctx, c.Namespace, "corporate")).To(Succeed())
			change(ctx, c,
				func(s *v1alpha1.GaleraClusterSpec) { s.TLS.IssuerRef = &v1alpha1.IssuerReference{Name: "corporate"} })
		},
	} {
		It(name, func(ctx SpecContext) {
			shop := create(ctx, sampleCluster(newNamespace(ctx, "ca")))
			Expect(shop.WaitReady(ctx, firstReady)).To(Succeed())
			replaceAndCheck(ctx, shop, func() { replace(ctx, shop) })
		}, SpecTimeout(20*time.Minute))
	}

	It("while an application verifies the server with what its pod mounts: it never fails", func(ctx SpecContext) {
		shop := create(ctx, sampleCluster(newNamespace(ctx, "ca")))
		Expect(shop.WaitReady(ctx, firstReady)).To(Succeed())
		sampleApp(ctx, shop)
		visits := func() (int, error) {
			n, err := client(ctx, shop).QueryPod(ctx, "shop-0", "SELECT COUNT(*) FROM app.visits")
			if err != nil {
				return 0, err
			}
			return strconv.Atoi(n)
		}
		Eventually(visits).WithContext(ctx).WithTimeout(joinTime).Should(BeNumerically(">", 3))
		before := status(ctx, shop).TLS
		askFor(ctx, shop, "ca@1")
		awaitRenewed(ctx, shop, before.Serial)
		Expect(kube.Until(ctx, "the old CA is forgotten", replaceTime, func(ctx context.Context) (bool, string, error) {
			have, err := shop.Get(ctx)
			if err != nil {
				return false, "", err
			}
			tls := have.Status.TLS
			return tls.Step == "Settled" && len(tls.TrustedCAs) == 1 && harness.Ready(have), harness.Summary(have), nil
		})).To(Succeed())
		seen, err := visits()
		Expect(err).NotTo(HaveOccurred())
		Eventually(visits).WithContext(ctx).WithTimeout(shortly).Should(BeNumerically(">", seen))
		pods := &corev1.PodList{}
		Expect(kube.List(ctx, pods, ctrlclient.InNamespace(shop.Namespace), ctrlclient.MatchingLabels{"app": "app"})).
			To(Succeed())
		Expect(pods.Items).To(HaveLen(1))
		log, err := kube.Clientset.CoreV1().Pods(shop.Namespace).GetLogs(pods.Items[0].Name, &corev1.PodLogOptions{}).
			DoRaw(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(string(log)).NotTo(MatchRegexp("(?i)certificate|TLS/SSL"), "no connection may fail to verify the server")
	}, SpecTimeout(20*time.Minute))

	It("behind its issuer", func(ctx SpecContext) {
		c := sampleCluster(newNamespace(ctx, "ca"))
		Expect(createIssuer(ctx, c.Namespace, "corporate")).To(Succeed())
		c.Spec.TLS.IssuerRef = &v1alpha1.IssuerReference{Name: "corporate"}
		shop := create(ctx, c)
		Expect(shop.WaitReady(ctx, firstReady)).To(Succeed())
		replaceAndCheck(ctx, shop, func() {
			pair := &corev1.Secret{}
			Expect(kube.Get(ctx, ctrlclient.ObjectKey{Namespace: c.Namespace, Name: "corporate-ca"}, pair)).To(Succeed())
			Expect(kube.Delete(ctx, pair)).To(Succeed())
		})
	}, SpecTimeout(20*time.Minute))
})

// replaceAndCheck replaces a CA under load, and shows that the old one opens nothing any more.
func replaceAndCheck(ctx context.Context, shop *harness.Cluster, replace func()) {
	GinkgoHelper()
	old, err := shop.Certificates().Genuine(ctx)
	Expect(err).NotTo(HaveOccurred())
	before := status(ctx, shop).TLS
	w := startWriter(ctx, shop, harness.WriterOptions{})
	start := time.Now()
	replace()
	serial := awaitRenewed(ctx, shop, before.Serial)
	progress("certificate %s of the new CA served by all after %s; errors of clients: %v", serial,
		time.Since(start).Round(time.Millisecond), w.Errors())
	Expect(kube.Until(ctx, "the old CA is forgotten", replaceTime, func(ctx context.Context) (bool, string, error) {
		have, err := shop.Get(ctx)
		if err != nil {
			return false, "", err
		}
		tls := have.Status.TLS
		return tls.Step == "Settled" && len(tls.TrustedCAs) == 1 &&
				tls.TrustedCAs[0].Fingerprint != before.TrustedCAs[0].Fingerprint && harness.Ready(have),
			harness.Summary(have) + " " + tls.Step, nil
	})).To(Succeed())
	progress("the old CA forgotten after %s", time.Since(start).Round(time.Millisecond))
	stopAndCheck(ctx, w, start)
	for _, pod := range podNames(ctx, shop) {
		greeting, err := shop.Peers().Dial(ctx, pod, &old, harness.GreetingTime)
		Expect(err).NotTo(HaveOccurred())
		Expect(greeting.Welcomed).To(BeFalse(), "%s still takes a peer of the old CA", pod)
	}
}
