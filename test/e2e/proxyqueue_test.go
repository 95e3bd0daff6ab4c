package e2e

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/test/harness"
)

const (
	// queuing clients share one connection of each pod; queueTime is what their statements wait at most.
	queuing   = 8
	queueTime = 5 * time.Second
	// errorQueued is ProxySQL's for a statement that has found no connection in time.
	errorQueued = 9001
)

// turn is how long the beginning of a transaction took, and how it ended.
type turn struct {
	took time.Duration
	err  error
}

// queued has clients of a proxy with one connection for all begin a transaction each, and insert. They get a connection
// in turn, or an error in time when none is given back.
func queued(ctx context.Context, c *harness.Cluster, app *harness.Client, proxy *v1alpha1.GaleraProxy) {
	GinkgoHelper()
	before, failed := proxy.Spec.Pool, timedOut(ctx, c, proxy)
	small := v1alpha1.ProxyPoolSpec{MaxConnections: 1, MaxFrontendConnections: before.MaxFrontendConnections,
		WaitTimeout: &metav1.Duration{Duration: queueTime}}
	setPool(ctx, proxy, small)
	pool, err := app.OpenService(ctx, proxy.Name)
	Expect(err).NotTo(HaveOccurred())
	defer func() { _ = pool.Close() }()
	pool.SetMaxOpenConns(queuing)
	pool.SetMaxIdleConns(0) // the next ones find no connection held

	By("having each end its transaction")
	for _, t := range transactions(ctx, pool, "SELECT SLEEP(0.05)", func() {}) {
		Expect(t.err).NotTo(HaveOccurred(), "after %s", t.took)
		Expect(t.took).To(BeNumerically("<", queueTime/2), "others take a tenth of a second each")
	}

	By("having those that have begun one keep it")
	var all sync.WaitGroup // until each has begun its transaction, or got an error
	all.Add(queuing)
	turns := transactions(ctx, pool, "DO 0", func() { all.Done(); all.Wait() })
	late := 0
	for _, t := range turns {
		if t.err == nil {
			continue
		}
		late++
		failure := &mysql.MySQLError{}
		Expect(errors.As(t.err, &failure)).To(BeTrue(), "%v", t.err)
		Expect(failure.Number).To(BeEquivalentTo(errorQueued))
		Expect(t.took).To(And(BeNumerically(">=", queueTime), BeNumerically("<", 2*queueTime)))
	}
	Expect(late).To(And(BeNumerically(">=", queuing-2), BeNumerically("<", queuing)), "two pods, with a connection each")
	eventually(ctx, func(o Gomega) { o.Expect(timedOut(ctx, c, proxy) - failed).To(BeEquivalentTo(late)) })

	By("inserting without a pause")
	Expect(app.Exec(ctx, proxy.Name, "CREATE TABLE app.queued (id INT AUTO_INCREMENT PRIMARY KEY, k INT)")).To(Succeed())
	for _, hold := range []int32{agentapi.DefaultHoldAfterInsert, 0} {
		small.HoldAfterInsert = &hold
		setPool(ctx, proxy, small)
		late = 0
		for _, err := range inserts(ctx, pool) {
			if failure := (&mysql.MySQLError{}); errors.As(err, &failure) && failure.Number == errorQueued {
				late++
			} else {
				Expect(err).NotTo(HaveOccurred())
			}
		}
		progress("held for %d statements: %d of %d clients wait too long", hold, late, queuing)
		if hold > 0 {
			Expect(late).To(BeNumerically(">", 0), "what is held is given to no other client")
		} else {
			Expect(late).To(BeZero(), "each client gets a connection")
		}
	}
	setPool(ctx, proxy, before)
}

// inserts has each client insert some rows, one after the other, and returns how each has ended. They stay connected
// until the last one has.
func inserts(ctx context.Context, pool *sql.DB) []error {
	out := make([]error, queuing)
	var all, ended sync.WaitGroup
	ended.Add(queuing)
	for i := range out {
		all.Go(func() {
			conn, err := pool.Conn(ctx)
			for range 50 {
				if err == nil {
					_, err = conn.ExecContext(ctx, "INSERT INTO app.queued (k) VALUES (?)", i)
				}
			}
			out[i] = err
			ended.Done()
			ended.Wait()
			if conn != nil {
				_ = conn.Close()
			}
		})
	}
	all.Wait()
	return out
}

// transactions begins one with each client at once. A client that has begun one, or has failed to, calls then.
func transactions(ctx context.Context, pool *sql.DB, statement string, then func()) []turn {
	out := make([]turn, queuing)
	var all sync.WaitGroup
	for i := range out {
		all.Go(func() {
			conn, err := pool.Conn(ctx)
			if err != nil {
				out[i].err = fmt.Errorf("connect: %w", err)
				then()
				return
			}
			defer func() { _ = conn.Close() }()
			began := time.Now()
			_, err = conn.ExecContext(ctx, "BEGIN")
			out[i] = turn{time.Since(began), err}
			then()
			for _, next := range []string{statement, "COMMIT"} {
				if out[i].err == nil {
					_, out[i].err = conn.ExecContext(ctx, next)
				}
			}
		})
	}
	all.Wait()
	return out
}

// timedOut is how many statements have found no connection in time, in all pods of a proxy.
func timedOut(ctx context.Context, c *harness.Cluster, proxy *v1alpha1.GaleraProxy) (n float64) {
	GinkgoHelper()
	for _, pod := range proxyPods(ctx, proxy) {
		answer, err := c.Agents().Scrape(ctx, pod)
		Expect(err).NotTo(HaveOccurred())
		value, ok := answer.Value("galera_proxy_timed_out_statements_total")
		Expect(ok).To(BeTrue())
		n += value
	}
	return n
}

// setPool changes the limits of a proxy, and waits until its pods have loaded them.
func setPool(ctx context.Context, proxy *v1alpha1.GaleraProxy, to v1alpha1.ProxyPoolSpec) {
	GinkgoHelper()
	was := proxy.DeepCopy()
	proxy.Spec.Pool = to
	Expect(kube.Patch(ctx, proxy, ctrlclient.MergeFrom(was))).To(Succeed())
	eventually(ctx, func(o Gomega) {
		o.Expect(kube.Get(ctx, ctrlclient.ObjectKeyFromObject(proxy), proxy)).To(Succeed())
		o.Expect(proxy.Status.ObservedGeneration).To(Equal(proxy.Generation))
	})
	awaitProxy(ctx, proxy)
}
