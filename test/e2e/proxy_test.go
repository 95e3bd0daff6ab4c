package e2e

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"sync"
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
		if err := harness.LoadForeign(ctx, proxyImage); err != nil {
			Skip(fmt.Sprintf("there is no image %s in Docker: %v", proxyImage, err))
		}
		ns := newNamespace(ctx, "proxy")
		c = create(ctx, sampleCluster(ns))
		Expect(c.WaitReady(ctx, firstReady)).To(Succeed())
		Expect(client(ctx, c).Exec(ctx, c.Name+"-primary", "CREATE DATABASE app",
			"CREATE TABLE app.t (w INT, n BIGINT, v INT DEFAULT 0, PRIMARY KEY (w, n))")).To(Succeed())
		u := userOf(ctx, c, ns, "app", func(s *v1alpha1.GaleraUserSpec) {
			s.Grants = []v1alpha1.GrantSpec{{Database: "app", Privileges: []string{"ALL PRIVILEGES"}}}
		})
		userOf(ctx, c, ns, "cert", func(s *v1alpha1.GaleraUserSpec) { s.Require = v1alpha1.RequireX509 })
		awaitUser(ctx, u, v1alpha1.ConditionReady, "True Ready")
		proxy = &v1alpha1.GaleraProxy{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "pool"},
			Spec: v1alpha1.GaleraProxySpec{ClusterRef: v1alpha1.ProxyClusterRef{Name: c.Name}, Replicas: 2,
				Mode: v1alpha1.ProxyReadWriteSplit}}
		Expect(kube.Create(ctx, proxy)).To(Succeed())
		awaitProxy(ctx, proxy)
		app = client(ctx, c).As("app", nil).WithPassword(bindingOf(ctx, c, u).Password())
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
		Expect(kube.Until(ctx, "all nodes are restarted", 5*time.Minute, func(ctx context.Context) (bool, string, error) {
			have, err := c.Get(ctx)
			if err != nil {
				return false, "", err
			}
			for _, r := range have.Status.Requests {
				if r.Kind == v1alpha1.RequestRestart {
					return r.State == v1alpha1.RequestDone, r.Message, nil
				}
			}
			return false, "it is not recorded", nil
		})).To(Succeed())
		Expect(load.until(ctx, load.count()+500)).To(Succeed())
		load.stop(ctx, c)
		Expect(load.failed).To(BeEmpty())
	}, SpecTimeout(8*time.Minute))
})

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

// pooled is a load of 16 connections, half of them with transactions. Each row is written once, and read by the client
// that wrote it.
type pooled struct {
	db   *sql.DB
	from int64
	end  context.CancelFunc
	done sync.WaitGroup

	mu           sync.Mutex
	acknowledged int
	failed       map[string]int
	longest      time.Duration
}

func startPooled(ctx context.Context, cl *harness.Client, service string) *pooled {
	GinkgoHelper()
	db, err := cl.OpenService(ctx, service)
	Expect(err).NotTo(HaveOccurred())
	db.SetMaxOpenConns(32)
	db.SetMaxIdleConns(32)
	running, end := context.WithCancel(context.WithoutCancel(ctx))
	p := &pooled{db: db, from: time.Now().UnixNano(), end: end, failed: map[string]int{}}
	for w := range 16 {
		p.done.Go(func() { p.write(running, w) })
	}
	DeferCleanup(func() {
		end()
		p.done.Wait()
		_ = db.Close()
	})
	return p
}

func (p *pooled) write(running context.Context, w int) {
	ctx := context.WithoutCancel(running)
	last := time.Now()
	for n := p.from; running.Err() == nil; n++ {
		acknowledged, err := p.one(ctx, w, n)
		p.mu.Lock()
		if acknowledged {
			p.acknowledged++
		}
		if err != nil {
			p.failed[err.Error()]++
		} else {
			p.longest, last = max(p.longest, time.Since(last)), time.Now()
		}
		p.mu.Unlock()
	}
}

// one writes a row over a connection of the pool, and reads it.
func (p *pooled) one(ctx context.Context, w int, n int64) (acknowledged bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	conn, err := p.db.Conn(ctx)
	if err != nil {
		return false, fmt.Errorf("connect: %w", err)
	}
	defer func() { _ = conn.Close() }()
	if w%2 == 0 {
		_, err = conn.ExecContext(ctx, "INSERT INTO app.t (w, n) VALUES (?, ?)", w, n)
	} else {
		err = transact(ctx, conn, w, n)
	}
	if err != nil {
		return false, fmt.Errorf("write: %w", err)
	}
	var rows int
	if err := conn.QueryRowContext(ctx, "SELECT COUNT(*) FROM app.t WHERE w = ? AND n = ?", w, n).Scan(&rows); err != nil {
		return true, fmt.Errorf("read: %w", err)
	}
	if rows != 1 {
		return true, fmt.Errorf("a client reads its own write as %d rows", rows)
	}
	return true, nil
}

func transact(ctx context.Context, conn *sql.Conn, w int, n int64) error {
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if _, err = tx.ExecContext(ctx, "INSERT INTO app.t (w, n) VALUES (?, ?)", w, n); err == nil {
		_, err = tx.ExecContext(ctx, "UPDATE app.t SET v = v + 1 WHERE w = ? AND n = ?", w, n)
	}
	if err != nil {
		_ = tx.Rollback()
		return err
	}
	return tx.Commit()
}

func (p *pooled) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.acknowledged
}

// until waits for so many acknowledged writes.
func (p *pooled) until(ctx context.Context, writes int) error {
	return kube.Until(ctx, fmt.Sprintf("%d writes", writes), time.Minute, func(context.Context) (bool, string, error) {
		have := p.count()
		return have >= writes, fmt.Sprint(have), nil
	})
}

// stop ends the load, and checks that each acknowledged row is there: those whose answer was lost may be.
func (p *pooled) stop(ctx context.Context, c *harness.Cluster) {
	GinkgoHelper()
	p.end()
	p.done.Wait()
	var rows int
	text, err := client(ctx, c).QueryPod(ctx, status(ctx, c).Primary,
		fmt.Sprintf("SELECT COUNT(*) FROM app.t WHERE n >= %d AND v <= 1", p.from))
	Expect(err).NotTo(HaveOccurred())
	_, err = fmt.Sscan(text, &rows)
	Expect(err).NotTo(HaveOccurred())
	failures := 0
	for _, n := range p.failed {
		failures += n
	}
	progress("%d rows acknowledged, %d there, %d failed, longest gap %s: %v", p.acknowledged, rows, failures,
		p.longest.Round(time.Millisecond), p.failed)
	Expect(rows).To(And(BeNumerically(">=", p.acknowledged), BeNumerically("<=", p.acknowledged+failures)))
}
