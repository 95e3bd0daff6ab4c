package e2e

import (
	"context"
	"fmt"
	"maps"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/test/harness"
)

// proxyImage is not one of this project's: where it cannot be pulled, it has to be in Docker.
const proxyImage = "proxysql/proxysql:2.7.1"

var _ = Describe("A pooling proxy", Ordered, Label(Slow), func() {
	var c *harness.Cluster
	var app *harness.Client
	proxy := &v1alpha1.GaleraProxy{}

	BeforeAll(func(ctx SpecContext) {
		c, app, proxy = pooledCluster(ctx, "proxy")
	}, NodeTimeout(8*time.Minute))

	It("takes clients with verified TLS only, and names the users that it cannot serve", func(ctx SpecContext) {
		Expect(app.Exec(ctx, proxy.Name, "SELECT 1")).To(Succeed())
		Expect(app.With(harness.Clear).Exec(ctx, proxy.Name, "SELECT 1")).NotTo(Succeed())
		Expect(app.WithPassword("wrong").Exec(ctx, proxy.Name, "SELECT 1")).To(MatchError(ContainSubstring("denied")))
		Expect(proxy.Status.RefusedUsers).To(HaveLen(1))
		Expect(proxy.Status.RefusedUsers[0].Name).To(Equal("cert"))
	}, SpecTimeout(2*time.Minute))

	It("fails no statement while the primary moves, and shows each client its own writes", func(ctx SpecContext) {
		load := startPooled(ctx, app, proxy.Name)
		Expect(load.until(ctx, 100)).To(Succeed())
		to, err := c.Replica(ctx)
		Expect(err).NotTo(HaveOccurred())
		request(ctx, c, v1alpha1.AnnotationPrimary, to)
		eventually(ctx, func(o Gomega) {
			o.Expect(kube.Get(ctx, ctrlclient.ObjectKeyFromObject(proxy), proxy)).To(Succeed())
			o.Expect(proxy.Status.Primary).To(Equal(to))
		})
		Expect(load.until(ctx, load.count()+500)).To(Succeed())
		load.stop(ctx, c)
		Expect(load.failed).To(BeEmpty())
	}, SpecTimeout(4*time.Minute))

	It("loses no write in a rolling restart, and sends none twice", func(ctx SpecContext) {
		load := startPooled(ctx, app, proxy.Name)
		Expect(load.until(ctx, 100)).To(Succeed())
		request(ctx, c, v1alpha1.AnnotationRestart, v1alpha1.AllNodes)
		awaitRestarted(ctx, c)
		Expect(load.until(ctx, load.count()+500)).To(Succeed())
		load.stop(ctx, c)
		Expect(load.failed).To(BeEmpty())
	}, SpecTimeout(8*time.Minute))

	It("fails no statement while the pods of nodes are evicted", func(ctx SpecContext) {
		load := startPooled(ctx, app, proxy.Name)
		Expect(load.until(ctx, 100)).To(Succeed())
		replica, err := c.Replica(ctx)
		Expect(err).NotTo(HaveOccurred())
		for _, pod := range []string{replica, status(ctx, c).Primary} {
			since := time.Now()
			eventually(ctx, func(o Gomega) { o.Expect(c.Pods().Evict(ctx, pod)).To(Succeed()) })
			_, err = c.Joins().Wait(ctx, pod, since, joinTime)
			Expect(err).NotTo(HaveOccurred())
			Expect(c.WaitHealthy(ctx, joinTime)).To(Succeed())
		}
		Expect(load.until(ctx, load.count()+500)).To(Succeed())
		load.stop(ctx, c)
		Expect(load.failed).To(BeEmpty())
	}, SpecTimeout(8*time.Minute))

	It("fails no statement while the encryption of replication is switched", func(ctx SpecContext) {
		load := startPooled(ctx, app, proxy.Name)
		Expect(load.until(ctx, 100)).To(Succeed())
		for _, to := range []v1alpha1.ReplicationTLS{v1alpha1.TLSDisabled, v1alpha1.TLSRequired} {
			switchReplication(ctx, c, to, v1alpha1.SwitchRolling)
		}
		Expect(load.until(ctx, load.count()+500)).To(Succeed())
		load.stop(ctx, c)
		Expect(load.failed).To(BeEmpty())
	}, SpecTimeout(10*time.Minute))

	It("shows a client its write where the reader itself does not yet", func(ctx SpecContext) {
		reader, err := c.Replica(ctx)
		Expect(err).NotTo(HaveOccurred())
		readAfterWrite(ctx, app, proxy.Name, reader)
	}, SpecTimeout(4*time.Minute))
})

// pooledCluster makes a cluster with a table, an account, one that no proxy can log in for, and a proxy.
func pooledCluster(ctx SpecContext, namespace string) (*harness.Cluster, *harness.Client, *v1alpha1.GaleraProxy) {
	GinkgoHelper()
	if err := harness.LoadForeign(ctx, proxyImage); err != nil {
		Skip(fmt.Sprintf("there is no image %s in Docker: %v", proxyImage, err))
	}
	ns := newNamespace(ctx, namespace)
	c := create(ctx, sampleCluster(ns))
	Expect(c.WaitReady(ctx, firstReady)).To(Succeed())
	Expect(client(ctx, c).Exec(ctx, c.Name+"-primary", "CREATE DATABASE app",
		"CREATE TABLE app.t (w INT, n BIGINT, v INT DEFAULT 0, PRIMARY KEY (w, n))")).To(Succeed())
	u := userOf(ctx, c, ns, "app", func(s *v1alpha1.GaleraUserSpec) {
		s.Grants = []v1alpha1.GrantSpec{{Database: "app", Privileges: []string{"ALL PRIVILEGES"}}}
	})
	userOf(ctx, c, ns, "cert", func(s *v1alpha1.GaleraUserSpec) { s.Require = v1alpha1.RequireX509 })
	awaitUser(ctx, u, v1alpha1.ConditionReady, "True Ready")
	proxy := &v1alpha1.GaleraProxy{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "pool"},
		Spec: v1alpha1.GaleraProxySpec{ClusterRef: v1alpha1.ProxyClusterRef{Name: c.Name}, Replicas: 2,
			Mode: v1alpha1.ProxyReadWriteSplit}}
	Expect(kube.Create(ctx, proxy)).To(Succeed())
	awaitProxy(ctx, proxy)
	return c, client(ctx, c).As("app", nil).WithPassword(bindingOf(ctx, c, u).Password()), proxy
}

// awaitProxy waits until a proxy takes clients, and proves its encryption.
func awaitProxy(ctx context.Context, p *v1alpha1.GaleraProxy) {
	GinkgoHelper()
	Expect(kube.Until(ctx, "the proxy is Ready and Encrypted", 3*time.Minute,
		func(ctx context.Context) (bool, string, error) {
			err := kube.Get(ctx, ctrlclient.ObjectKeyFromObject(p), p)
			word := ""
			for _, kind := range []string{v1alpha1.ConditionReady, v1alpha1.ConditionEncrypted} {
				if c := meta.FindStatusCondition(p.Status.Conditions, kind); c != nil {
					word += c.Reason + ": " + c.Message + " "
				}
			}
			return meta.IsStatusConditionTrue(p.Status.Conditions, v1alpha1.ConditionReady) &&
				meta.IsStatusConditionTrue(p.Status.Conditions, v1alpha1.ConditionEncrypted), word, err
		})).To(Succeed())
}

// awaitRestarted waits until the restart that was asked for is done.
func awaitRestarted(ctx context.Context, c *harness.Cluster) {
	GinkgoHelper()
	asked := ""
	Expect(kube.Until(ctx, "the nodes are restarted", 5*time.Minute, func(ctx context.Context) (bool, string, error) {
		have, err := c.Get(ctx)
		if err != nil {
			return false, "", err
		}
		asked = have.Annotations[v1alpha1.AnnotationRestart]
		for _, r := range have.Status.Requests {
			if r.Kind == v1alpha1.RequestRestart && asked == r.Node+"@"+r.Token {
				return r.State == v1alpha1.RequestDone, r.Message, nil
			}
		}
		return false, "it is not recorded", nil
	})).To(Succeed())
}

// request asks for an operation by an annotation.
func request(ctx context.Context, c *harness.Cluster, annotation, value string) {
	GinkgoHelper()
	Expect(c.Change(ctx, func(g *v1alpha1.GaleraCluster) {
		g.Annotations = maps.Clone(g.Annotations)
		if g.Annotations == nil {
			g.Annotations = map[string]string{}
		}
		g.Annotations[annotation] = fmt.Sprintf("%s@%d", value, time.Now().UnixNano())
	})).To(Succeed())
}
