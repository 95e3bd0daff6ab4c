package e2e

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/pki/pkitest"
	"github.com/galera-operator/galera-operator/test/harness"
)

var _ = Describe("The policy of TLS", Label(Slow, Wire), func() {
	It("names the suite that is seen on the wire", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		DeferCleanup(func(ctx SpecContext) { setCipher(ctx, shop, "Auto") }, NodeTimeout(6*time.Minute))
		w := startWriter(ctx, shop, harness.WriterOptions{})
		start := time.Now()
		for _, suite := range []uint16{tls.TLS_AES_256_GCM_SHA384, tls.TLS_CHACHA20_POLY1305_SHA256,
			tls.TLS_AES_128_GCM_SHA256} {
			name := tls.CipherSuiteName(suite)
			setCipher(ctx, shop, name)
			for port, seen := range suitesOnTheWire(ctx, shop, w) {
				Expect(seen).To(Equal([]uint16{suite}), "port %d is to use %s", port, name)
			}
			progress("%s: chosen by every server, and by none another", name)
		}
		stopAndCheck(ctx, w, start)
	}, SpecTimeout(25*time.Minute))

	It("reports which versions are taken", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		pod := podNames(ctx, shop)[0]
		for _, port := range []string{harness.PortReplication, harness.PortClients} {
			_, err := shop.Peers().Handshake(ctx, pod, port, tls.VersionTLS12)
			Expect(err).To(HaveOccurred(), "TLS 1.2 is refused by default on %s", port)
		}
		w := startWriter(ctx, shop, harness.WriterOptions{})
		start := time.Now()
		DeferCleanup(func(ctx SpecContext) { setMinVersion(ctx, shop, "1.3") }, NodeTimeout(4*time.Minute))
		setMinVersion(ctx, shop, "1.2")
		for _, port := range []string{harness.PortReplication, harness.PortClients} {
			for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
				state, err := shop.Peers().Handshake(ctx, pod, port, version)
				Expect(err).NotTo(HaveOccurred(), "%s on %s", tls.VersionName(version), port)
				Expect(state.Version).To(Equal(version), port)
			}
		}
		stopAndCheck(ctx, w, start)
	}, SpecTimeout(12*time.Minute))

	It("encrypts each channel by itself", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		DeferCleanup(func(ctx SpecContext) {
			setChannels(ctx, shop, v1alpha1.TLSRequired, v1alpha1.ClientTLS("Required"))
		}, NodeTimeout(4*time.Minute))
		By("leaving full transfers in clear")
		setChannels(ctx, shop, v1alpha1.TLSDisabled, v1alpha1.ClientTLS("Preferred"))
		inClear := client(ctx, shop).With(harness.Clear)
		Expect(inClear.QueryPod(ctx, podNames(ctx, shop)[0], "SELECT 1")).To(Equal("1"), "clients may do without TLS")
		counts := captureTransfer(ctx, shop)
		Expect(counts[portTransfer].Markers).To(BeNumerically(">", 0), "the test could not fail")
		Expect(counts[portReplication].Markers).To(BeZero())
		By("encrypting them")
		setChannels(ctx, shop, v1alpha1.TLSRequired, v1alpha1.ClientTLS("Required"))
		_, err := inClear.QueryPod(ctx, podNames(ctx, shop)[0], "SELECT 1")
		Expect(err).To(HaveOccurred(), "clients must use TLS")
		counts = captureTransfer(ctx, shop)
		Expect(counts[portTransfer].Packets).To(BeNumerically(">", 0))
		Expect(counts[portTransfer].Markers).To(BeZero())
	}, SpecTimeout(12*time.Minute))
})

var _ = Describe("A CA below another one", Label(Slow, Wire), func() {
	It("serves all channels, full transfers included", func(ctx SpecContext) {
		c := sampleCluster(newNamespace(ctx, "chain"))
		root := pkitest.NewCA("root")
		between := root.Intermediate("between")
		pair := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: "between"},
			Type: corev1.SecretTypeTLS,
			Data: map[string][]byte{"tls.crt": slices.Concat(between.PEM, root.PEM), "tls.key": between.KeyPEM()}}
		issuer := &certmanagerv1.Issuer{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: "between"}}
		issuer.Spec.CA = &certmanagerv1.CAIssuer{SecretName: pair.Name}
		Expect(kube.Create(ctx, pair)).To(Succeed())
		Expect(kube.Create(ctx, issuer)).To(Succeed())
		c.Spec.TLS.IssuerRef = &v1alpha1.IssuerReference{Name: issuer.Name}
		shop := create(ctx, c)
		Expect(shop.WaitReady(ctx, firstReady)).To(Succeed())
		Expect(shop.WaitCondition(ctx, v1alpha1.ConditionEncrypted, metav1.ConditionTrue, v1alpha1.ReasonProved, shortly)).
			To(Succeed())
		state, err := shop.Peers().Handshake(ctx, podNames(ctx, shop)[0], harness.PortReplication, tls.VersionTLS13)
		Expect(err).NotTo(HaveOccurred())
		Expect(state.PeerCertificates).To(HaveLen(2), "leaf and intermediate")
		counts := captureTransfer(ctx, shop)
		Expect(counts[portTransfer].Packets).To(BeNumerically(">", 0))
		Expect(counts[portTransfer].Markers).To(BeZero())
	}, SpecTimeout(10*time.Minute))
})

// changeTLS edits the policy, and waits until all nodes run with it.
func changeTLS(ctx context.Context, c *harness.Cluster, edit func(*v1alpha1.TLSSpec)) {
	GinkgoHelper()
	change(ctx, c, func(s *v1alpha1.GaleraClusterSpec) { edit(&s.TLS) })
	Expect(kube.Until(ctx, "all nodes run with the new policy", 2*switchTime, func(ctx context.Context) (bool, string,
		error) {
		have, err := c.Get(ctx)
		if err != nil {
			return false, "", err
		}
		cond := slices.IndexFunc(have.Status.Conditions, func(cond metav1.Condition) bool {
			return cond.Type == v1alpha1.ConditionReady && cond.ObservedGeneration == have.Generation &&
				cond.Status == metav1.ConditionTrue
		})
		return cond >= 0 && have.Status.Operation == nil && have.Status.TLS.Switch == nil, harness.Summary(have), nil
	})).To(Succeed())
	Expect(c.WaitHealthy(ctx, recoverTime)).To(Succeed())
}

func setCipher(ctx context.Context, c *harness.Cluster, cipher string) {
	GinkgoHelper()
	changeTLS(ctx, c, func(t *v1alpha1.TLSSpec) { t.Cipher = cipher })
}

func setMinVersion(ctx context.Context, c *harness.Cluster, version string) {
	GinkgoHelper()
	changeTLS(ctx, c, func(t *v1alpha1.TLSSpec) { t.MinVersion = version })
}

func setChannels(ctx context.Context, c *harness.Cluster, transfer v1alpha1.ReplicationTLS,
	clients v1alpha1.ClientTLS) {
	GinkgoHelper()
	changeTLS(ctx, c, func(t *v1alpha1.TLSSpec) { t.StateTransfer, t.Clients = transfer, clients })
}

// suitesOnTheWire lets a node join again, by a full and by an incremental transfer, and returns what the cluster's
// nodes, as servers, chose on each port: other clusters on the same hosts are seen, too.
func suitesOnTheWire(ctx context.Context, c *harness.Cluster, w *harness.Writer) map[uint16][]uint16 {
	GinkgoHelper()
	workers, err := kube.Hosts().Workers(ctx)
	Expect(err).NotTo(HaveOccurred())
	ports := []uint16{portReplication, portIncremental, portTransfer}
	capture, err := harness.StartCapture(ctx, workers, ports, "")
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { _, _ = capture.Stop() })
	pod, err := c.Replica(ctx)
	Expect(err).NotTo(HaveOccurred())
	Expect(loseVolume(ctx, c, pod)).To(Equal("SST"))
	pods, err := c.Pods().List(ctx)
	Expect(err).NotTo(HaveOccurred())
	Expect(loseIncrementally(ctx, c, w, pod)).To(Equal("IST"))
	Expect(c.WaitHealthy(ctx, joinTime)).To(Succeed())
	counts, err := capture.Stop()
	Expect(err).NotTo(HaveOccurred())
	again, err := c.Pods().List(ctx)
	Expect(err).NotTo(HaveOccurred())
	pods = append(pods, again...) // a pod that is made again has another address
	out := map[uint16][]uint16{}
	for _, port := range ports {
		for seen := range counts[port].Suites {
			ours := slices.ContainsFunc(pods, func(p corev1.Pod) bool { return p.Status.PodIP == seen.Server.String() })
			if ours && !slices.Contains(out[port], seen.Suite) {
				out[port] = append(out[port], seen.Suite)
			}
		}
		Expect(out[port]).NotTo(BeEmpty(), "no ServerHello was seen on port %d", port)
	}
	return out
}

// captureTransfer writes rows with a marker, takes a node's volume away, and counts the markers that pass in
// clear while it is filled again.
func captureTransfer(ctx context.Context, c *harness.Cluster) map[uint16]harness.PortCount {
	GinkgoHelper()
	marker := "MARKER" + rand.Text()[:8]
	workers, err := kube.Hosts().Workers(ctx)
	Expect(err).NotTo(HaveOccurred())
	capture, err := harness.StartCapture(ctx, workers, []uint16{portReplication, portTransfer}, marker)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { _, _ = capture.Stop() })
	start := time.Now()
	w := startWriter(ctx, c, harness.WriterOptions{Payload: strings.Repeat(marker+" ", 60)})
	pod, err := c.Replica(ctx)
	Expect(err).NotTo(HaveOccurred())
	Expect(loseVolume(ctx, c, pod)).To(Equal("SST"))
	Expect(c.WaitHealthy(ctx, joinTime)).To(Succeed())
	stopAndCheck(ctx, w, start)
	counts, err := capture.Stop()
	Expect(err).NotTo(HaveOccurred())
	return counts
}
