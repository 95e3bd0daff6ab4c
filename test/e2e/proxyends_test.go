package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/test/harness"
)

// maxCrashGap is how long a client of a proxy may be without an answer when the primary has crashed.
const maxCrashGap = 5 * time.Second

var _ = Describe("A pooling proxy between its clients and what ends", Ordered, Label(Slow, Faults), func() {
	var c *harness.Cluster
	var app *harness.Client
	proxy := &v1alpha1.GaleraProxy{}

	BeforeAll(func(ctx SpecContext) {
		c, app, proxy = pooledCluster(ctx, "proxyends")
	}, NodeTimeout(8*time.Minute))

	It("takes renewed certificates of both sides, and no client notices", func(ctx SpecContext) {
		nodes, own := status(ctx, c).TLS.Serial, proxy.Status.CertificateSerial
		Expect(own).NotTo(BeEmpty())
		pods := proxyPods(ctx, proxy)
		load := startPooled(ctx, app, proxy.Name)
		Expect(load.until(ctx, 100)).To(Succeed())
		askFor(ctx, c, "leaf@"+time.Now().Format("150405.000"))
		nodes = awaitRenewed(ctx, c, nodes)
		Expect(kube.Delete(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: proxy.Namespace,
			Name: proxy.Name + "-proxy-issued"}})).To(Succeed()) // cert-manager issues another one
		Expect(kube.Until(ctx, "the proxy has both new certificates", 4*time.Minute,
			func(ctx context.Context) (bool, string, error) {
				err := kube.Get(ctx, ctrlclient.ObjectKeyFromObject(proxy), proxy)
				done := proxy.Status.CertificateSerial != own && proxy.Status.CertificateSerial != ""
				for _, pool := range proxy.Status.Pools {
					done = done && pool.CertificateSerial == nodes
				}
				return done, fmt.Sprintf("%s, %+v", proxy.Status.CertificateSerial, proxy.Status.Pools), err
			})).To(Succeed())
		Expect(app.Exec(ctx, proxy.Name, "SELECT 1")).To(Succeed(), "a new connection")
		Expect(load.until(ctx, load.count()+500)).To(Succeed())
		load.stop(ctx, c)
		Expect(load.failed).To(BeEmpty())
		Expect(proxyPods(ctx, proxy)).To(ConsistOf(pods), "no pod was made anew")
	}, SpecTimeout(12*time.Minute))

	It("sends no write twice when the primary crashes, and clients go on with the next one", func(ctx SpecContext) {
		load := startPooled(ctx, app, proxy.Name)
		Expect(load.until(ctx, 100)).To(Succeed())
		was := status(ctx, c).Primary
		Expect(c.Servers().Kill(ctx, was)).To(Succeed())
		began := time.Now()
		eventually(ctx, func(o Gomega) {
			o.Expect(kube.Get(ctx, ctrlclient.ObjectKeyFromObject(proxy), proxy)).To(Succeed())
			o.Expect(proxy.Status.Primary).NotTo(Or(Equal(was), BeEmpty()))
		})
		AddReportEntry("the pods write to the next primary", time.Since(began).Round(10*time.Millisecond).String())
		Expect(load.until(ctx, load.count()+500)).To(Succeed())
		Expect(c.WaitHealthy(ctx, joinTime)).To(Succeed())
		load.stop(ctx, c)
		Expect(load.failed).NotTo(BeEmpty(), "what was in progress on the primary fails")
		Expect(load.twice()).To(BeEmpty())
		Expect(load.longest).To(BeNumerically("<", maxCrashGap))
	}, SpecTimeout(6*time.Minute))

	It("goes on with the other pod when the host of one is lost", func(ctx SpecContext) {
		workers, err := kube.Hosts().Workers(ctx)
		Expect(err).NotTo(HaveOccurred())
		if len(workers) < 3 {
			Skip("needs three hosts")
		}
		operator, err := kube.Operator().Pod(ctx)
		Expect(err).NotTo(HaveOccurred())
		var hosts []string
		for _, pod := range proxyPods(ctx, proxy) {
			host, err := c.Pods().NodeOf(ctx, pod)
			Expect(err).NotTo(HaveOccurred())
			hosts = append(hosts, host)
		}
		Expect(slices.Compact(slices.Sorted(slices.Values(hosts)))).To(HaveLen(2), "the pods are on two hosts")
		host := hosts[0]
		if host == operator.Spec.NodeName {
			host = hosts[1]
		}
		onPrimary(ctx, c, host)
		load := startPooled(ctx, app, proxy.Name)
		Expect(load.until(ctx, 100)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(kube.Hosts().Start(ctx, host)).To(Succeed()) },
			NodeTimeout(5*time.Minute))
		began := time.Now()
		Expect(kube.Hosts().Kill(ctx, host)).To(Succeed())
		Expect(kube.Until(ctx, "16 clients go on", 3*time.Minute, func(context.Context) (bool, string, error) {
			n := load.since(began.Add(5 * time.Second))
			return n == 16, fmt.Sprintf("%d have written", n), nil
		})).To(Succeed())
		AddReportEntry("all clients have written since the host was lost",
			time.Since(began).Round(100*time.Millisecond).String())
		Expect(kube.Hosts().Start(ctx, host)).To(Succeed())
		Expect(c.WaitHealthy(ctx, recoverTime)).To(Succeed())
		awaitProxy(ctx, proxy)
		load.stop(ctx, c)
		Expect(load.twice()).To(BeEmpty())
	}, SpecTimeout(12*time.Minute))
})

// onPrimary makes the node on a host the primary.
func onPrimary(ctx context.Context, c *harness.Cluster, host string) {
	GinkgoHelper()
	for _, m := range status(ctx, c).Members {
		on, err := c.Pods().NodeOf(ctx, m.Name)
		Expect(err).NotTo(HaveOccurred())
		if on == host && m.Name != status(ctx, c).Primary {
			request(ctx, c, v1alpha1.AnnotationPrimary, m.Name)
			eventually(ctx, func(o Gomega) { o.Expect(status(ctx, c).Primary).To(Equal(m.Name)) })
		}
	}
}

// twice are the failures of writes that were sent a second time: the row was there.
func (p *pooled) twice() (out []string) {
	for text := range p.failed {
		if strings.Contains(text, "Error 1062") {
			out = append(out, text)
		}
	}
	return out
}

// since is how many clients have written and read a row since then.
func (p *pooled) since(then time.Time) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, last := range p.latest {
		if last.After(then) {
			n++
		}
	}
	return n
}
