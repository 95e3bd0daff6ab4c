package e2e

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/test/harness"
)

const (
	// idleClients are connected to one pod, and ask nothing; maxIdleMemory is what ProxySQL may take for them.
	idleClients   = 10000
	maxIdleMemory = 600 << 20
)

var _ = Describe("A pooling proxy with ten thousand idle clients", Label(Slow), Ordered, func() {
	var c *harness.Cluster
	var app *harness.Client
	var proxy *v1alpha1.GaleraProxy

	BeforeAll(func(ctx SpecContext) {
		c, app, proxy = pooledCluster(ctx, "proxyidle")
	}, NodeTimeout(8*time.Minute))

	It("serves others, and its memory is bounded", func(ctx SpecContext) {
		pod := alone(ctx, proxy, "768Mi")
		before, err := c.Pods().Memory(ctx, pod, "proxysql")
		Expect(err).NotTo(HaveOccurred())

		began := time.Now()
		_, failed := connectIdle(ctx, app, proxy.Name)
		Expect(failed).To(BeEmpty())
		AddReportEntry("connected", fmt.Sprintf("%d in %s", idleClients, time.Since(began).Round(time.Second)))
		Expect(kube.Until(ctx, "all clients are counted", 2*time.Minute, func(ctx context.Context) (bool, string, error) {
			err := kube.Get(ctx, ctrlclient.ObjectKeyFromObject(proxy), proxy)
			return proxy.Status.Clients >= idleClients, fmt.Sprint(proxy.Status.Clients), err
		})).To(Succeed())
		load := startPooled(ctx, app, proxy.Name)
		Expect(load.until(ctx, 500)).To(Succeed())
		load.stop(ctx, c)
		Expect(load.failed).To(BeEmpty())
		after, err := c.Pods().Memory(ctx, pod, "proxysql")
		Expect(err).NotTo(HaveOccurred())
		AddReportEntry("memory of ProxySQL", fmt.Sprintf("%d MiB before, %d MiB with them", before>>20, after>>20))
		Expect(before).To(BeNumerically(">", 0))
		Expect(after).To(BeNumerically("<", maxIdleMemory))
		Expect(proxyPods(ctx, proxy)).To(Equal([]string{pod}), "it is the same pod")
	}, SpecTimeout(12*time.Minute))

	It("serves again after its memory was full", func(ctx SpecContext) {
		pod := alone(ctx, proxy, "160Mi")
		connected, failed := connectIdle(ctx, app, proxy.Name)
		progress("%d clients connected before one failed: %v", connected, failed)
		Expect(connected).To(BeNumerically(">", 500))
		Expect(connected).To(BeNumerically("<", idleClients))
		began := time.Now()
		Expect(app.Exec(ctx, proxy.Name, "SELECT 1")).To(Succeed())
		AddReportEntry("it serves again", time.Since(began).Round(100*time.Millisecond).String())
		awaitProxy(ctx, proxy)
		memory, err := c.Pods().Memory(ctx, pod, "proxysql")
		Expect(err).NotTo(HaveOccurred(), "it is the same pod")
		Expect(memory).To(And(BeNumerically(">", 0), BeNumerically("<", 100<<20)), "another ProxySQL runs")
	}, SpecTimeout(8*time.Minute))
})

// alone gives a proxy one pod, with so much memory, and returns its name.
func alone(ctx context.Context, proxy *v1alpha1.GaleraProxy, memory string) string {
	GinkgoHelper()
	was := proxy.DeepCopy()
	proxy.Spec.Replicas, proxy.Spec.Pool.MaxFrontendConnections = 1, idleClients+500
	some := corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(memory)}
	proxy.Spec.Resources = v1alpha1.SidecarResources{Requests: some, Limits: some}
	before := proxyPods(ctx, proxy)
	Expect(kube.Patch(ctx, proxy, ctrlclient.MergeFrom(was))).To(Succeed())
	eventually(ctx, func(o Gomega) {
		o.Expect(kube.Get(ctx, ctrlclient.ObjectKeyFromObject(proxy), proxy)).To(Succeed())
		o.Expect(proxy.Status.ObservedGeneration).To(Equal(proxy.Generation))
		var pods corev1.PodList // with those that end: they still take clients for a moment
		o.Expect(kube.List(ctx, &pods, ctrlclient.InNamespace(proxy.Namespace),
			ctrlclient.MatchingLabels{v1alpha1.LabelProxy: proxy.Name})).To(Succeed())
		o.Expect(pods.Items).To(HaveLen(1))
		o.Expect(before).NotTo(ContainElement(pods.Items[0].Name))
		o.Expect(proxy.Status.Replicas).To(BeEquivalentTo(1))
	})
	awaitProxy(ctx, proxy)
	return proxyPods(ctx, proxy)[0]
}

// connectIdle logs in idleClients times, 32 at a time, until one fails. It keeps the connections until the spec ends.
func connectIdle(ctx context.Context, app *harness.Client, service string) (connected int, failed map[string]int) {
	GinkgoHelper()
	db, err := app.OpenService(ctx, service)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(db.Close)
	db.SetMaxOpenConns(0) // without a limit
	var all sync.WaitGroup
	var mu sync.Mutex
	var conns []*sql.Conn
	failed = map[string]int{}
	for range 32 {
		all.Go(func() {
			for {
				mu.Lock()
				enough := len(conns) >= idleClients || len(failed) > 0
				mu.Unlock()
				if enough {
					return
				}
				conn, err := db.Conn(ctx)
				mu.Lock()
				switch {
				case err != nil:
					failed[err.Error()]++
				default:
					conns = append(conns, conn)
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	DeferCleanup(func() {
		for _, conn := range conns {
			_ = conn.Close()
		}
	})
	return len(conns), failed
}
