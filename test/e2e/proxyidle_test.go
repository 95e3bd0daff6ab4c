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

var _ = Describe("A pooling proxy with ten thousand idle clients", Label(Slow), func() {
	It("serves others, and its memory is bounded", func(ctx SpecContext) {
		c, app, proxy := pooledCluster(ctx, "proxyidle")
		was := proxy.DeepCopy()
		proxy.Spec.Replicas, proxy.Spec.Pool.MaxFrontendConnections = 1, idleClients+500
		memory := corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("768Mi")}
		proxy.Spec.Resources = v1alpha1.SidecarResources{Requests: memory, Limits: memory}
		Expect(kube.Patch(ctx, proxy, ctrlclient.MergeFrom(was))).To(Succeed())
		eventually(ctx, func(o Gomega) {
			o.Expect(kube.Get(ctx, ctrlclient.ObjectKeyFromObject(proxy), proxy)).To(Succeed())
			o.Expect(proxy.Status.ObservedGeneration).To(Equal(proxy.Generation))
			o.Expect(proxyPods(ctx, proxy)).To(HaveLen(1))
			o.Expect(proxy.Status.Replicas).To(BeEquivalentTo(1))
		})
		awaitProxy(ctx, proxy)
		pod := proxyPods(ctx, proxy)[0]
		before, err := c.Pods().Memory(ctx, pod, "proxysql")
		Expect(err).NotTo(HaveOccurred())

		began := time.Now()
		connectIdle(ctx, app, proxy.Name)
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
	}, SpecTimeout(15*time.Minute))
})

// connectIdle logs in idleClients times, 32 at a time, and keeps the connections until the spec ends.
func connectIdle(ctx context.Context, app *harness.Client, service string) {
	GinkgoHelper()
	db, err := app.OpenService(ctx, service)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(db.Close)
	db.SetMaxOpenConns(0) // without a limit
	var all sync.WaitGroup
	var mu sync.Mutex
	var conns []*sql.Conn
	failed := map[string]int{}
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
	Expect(failed).To(BeEmpty())
}
