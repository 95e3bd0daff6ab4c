package e2e

import (
	"context"
	"database/sql"
	"errors"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/test/harness"
)

var _ = Describe("A pooling proxy with faults", Ordered, Label(Slow), func() {
	var c *harness.Cluster
	var app *harness.Client
	proxy := &v1alpha1.GaleraProxy{}

	BeforeAll(func(ctx SpecContext) {
		c, app, proxy = pooledCluster(ctx, "proxyfaults")
	}, NodeTimeout(8*time.Minute))

	It("sends no write twice when it is killed inside a COMMIT", func(ctx SpecContext) {
		killedInCommit(ctx, c, app, proxy)
	}, SpecTimeout(5*time.Minute))

	It("reads from no node that accepts connections and is not Synced", func(ctx SpecContext) {
		reader, err := c.Replica(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(onNode(ctx, c, reader, "SET GLOBAL wsrep_desync = ON")).To(Succeed())
		began := time.Now()
		awaitRole(ctx, proxy, reader, "Drained")
		progress("a desynced node has left the readers after %s", time.Since(began).Round(100*time.Millisecond))
		Expect(onNode(ctx, c, reader, "SET GLOBAL wsrep_desync = OFF")).To(Succeed())
		awaitRole(ctx, proxy, reader, "Reader")
	}, SpecTimeout(3*time.Minute))

	It("reads from no node that lags behind", func(ctx SpecContext) {
		reader, err := c.Replica(ctx)
		Expect(err).NotTo(HaveOccurred())
		load := startPooled(ctx, app, proxy.Name)
		Expect(load.until(ctx, 100)).To(Succeed())
		By("having " + reader + " ask for a pause at each write-set that waits")
		Expect(onNode(ctx, c, reader, "SET GLOBAL wsrep_provider_gcs_fc_limit = 1")).To(Succeed())
		began := time.Now()
		awaitRole(ctx, proxy, reader, "Drained")
		AddReportEntry("a lagging node has left the readers", time.Since(began).Round(10*time.Millisecond).String())
		Expect(onNode(ctx, c, reader, "SET GLOBAL wsrep_provider_gcs_fc_limit = 16")).To(Succeed())
		awaitRole(ctx, proxy, reader, "Reader")
		load.stop(ctx, c)
		Expect(load.failed).To(BeEmpty())
	}, SpecTimeout(3*time.Minute))

	It("does not hold up the restart of a node when its agent hangs, and is named", func(ctx SpecContext) {
		pods := proxyPods(ctx, proxy)
		Expect(c.Pods().Signal(ctx, pods[0], "agent", syscall.SIGSTOP)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { _ = c.Pods().Signal(ctx, pods[0], "agent", syscall.SIGCONT) })
		reader, err := c.Replica(ctx)
		Expect(err).NotTo(HaveOccurred())
		began := time.Now()
		request(ctx, c, v1alpha1.AnnotationRestart, reader)
		eventually(ctx, func(o Gomega) {
			o.Expect(kube.Get(ctx, ctrlclient.ObjectKeyFromObject(proxy), proxy)).To(Succeed())
			ready := meta.FindStatusCondition(proxy.Status.Conditions, v1alpha1.ConditionReady)
			o.Expect(ready.Message).To(ContainSubstring(pods[0]))
		})
		awaitRestarted(ctx, c)
		AddReportEntry("a node was restarted, with a proxy that hangs", time.Since(began).Round(time.Second).String())
		Expect(time.Since(began)).To(BeNumerically("<", time.Minute)) // kubelet replaces the proxy after more than that
		Expect(c.Pods().Signal(ctx, pods[0], "agent", syscall.SIGCONT)).To(Succeed())
		awaitProxy(ctx, proxy)
	}, SpecTimeout(6*time.Minute))

	It("goes on when its state is damaged, next to another proxy whose image is not ProxySQL", func(ctx SpecContext) {
		other := &v1alpha1.GaleraProxy{ObjectMeta: metav1.ObjectMeta{Namespace: proxy.Namespace, Name: "other"},
			Spec: v1alpha1.GaleraProxySpec{ClusterRef: proxy.Spec.ClusterRef, Replicas: 1, Image: imageOf(ctx, c)}}
		Expect(kube.Create(ctx, other)).To(Succeed())
		state := &corev1.Secret{}
		Expect(kube.Get(ctx, ctrlclient.ObjectKey{Namespace: proxy.Namespace, Name: proxy.Name + "-proxy"}, state)).
			To(Succeed())
		damaged := state.DeepCopy()
		damaged.Data[agentapi.ProxyStateKey] = damaged.Data[agentapi.ProxyStateKey][:100]
		Expect(kube.Patch(ctx, damaged, ctrlclient.MergeFrom(state))).To(Succeed())
		eventually(ctx, func(o Gomega) {
			o.Expect(kube.Get(ctx, ctrlclient.ObjectKeyFromObject(state), state)).To(Succeed())
			_, err := agentapi.DecodeProxyState(state.Data[agentapi.ProxyStateKey])
			o.Expect(err).NotTo(HaveOccurred())
			o.Expect(app.Exec(ctx, proxy.Name, "SELECT 1")).To(Succeed())
			o.Expect(kube.Get(ctx, ctrlclient.ObjectKeyFromObject(other), other)).To(Succeed())
			ready := meta.FindStatusCondition(other.Status.Conditions, v1alpha1.ConditionReady)
			o.Expect(ready).NotTo(BeNil())
			o.Expect(ready.Reason + ready.Message).To(And(ContainSubstring(v1alpha1.ReasonProxyFailing),
				ContainSubstring("starting ProxySQL")))
		})
		was := other.DeepCopy()
		other.Spec.Image = proxyImage
		Expect(kube.Patch(ctx, other, ctrlclient.MergeFrom(was))).To(Succeed())
		awaitProxy(ctx, other)
		awaitProxy(ctx, proxy)
		Expect(app.Exec(ctx, other.Name, "SELECT 1")).To(Succeed())
	}, SpecTimeout(5*time.Minute))

	It("has a statement wait for a connection for as long as is asked, and no longer", func(ctx SpecContext) {
		queued(ctx, c, app, proxy)
	}, SpecTimeout(4*time.Minute))

	It("names the cluster that was deleted", func(ctx SpecContext) {
		Expect(c.Delete(ctx)).To(Succeed())
		eventually(ctx, func(o Gomega) {
			o.Expect(kube.Get(ctx, ctrlclient.ObjectKeyFromObject(proxy), proxy)).To(Succeed())
			ready := meta.FindStatusCondition(proxy.Status.Conditions, v1alpha1.ConditionReady)
			o.Expect(ready.Reason).To(Equal(v1alpha1.ReasonClusterNotFound))
			o.Expect(meta.IsStatusConditionTrue(proxy.Status.Conditions, v1alpha1.ConditionEncrypted)).To(BeFalse())
		})
	}, SpecTimeout(4*time.Minute))
})

// awaitRole waits until a node has a role among the pools of a proxy.
func awaitRole(ctx context.Context, p *v1alpha1.GaleraProxy, node, role string) {
	GinkgoHelper()
	eventually(ctx, func(o Gomega) {
		o.Expect(kube.Get(ctx, ctrlclient.ObjectKeyFromObject(p), p)).To(Succeed())
		o.Expect(p.Status.Pools).To(ContainElement(And(HaveField("Name", node), HaveField("Role", role))))
	})
}

// killedInCommit kills ProxySQL in all pods while the primary holds back the commits of eight clients. Each gets an
// error, and each row is there once at most.
func killedInCommit(ctx context.Context, c *harness.Cluster, app *harness.Client, proxy *v1alpha1.GaleraProxy) {
	GinkgoHelper()
	const clients = 8
	primary := status(ctx, c).Primary
	server, err := client(ctx, c).OpenPod(ctx, primary)
	Expect(err).NotTo(HaveOccurred())
	defer func() { _ = server.Close() }()
	holder, err := server.Conn(ctx)
	Expect(err).NotTo(HaveOccurred())
	defer func() { _ = holder.Close() }()
	hold := func(stages ...string) {
		for _, stage := range stages {
			_, err := holder.ExecContext(ctx, "BACKUP STAGE "+stage)
			Expect(err).NotTo(HaveOccurred())
		}
	}
	pool, err := app.OpenService(ctx, proxy.Name)
	Expect(err).NotTo(HaveOccurred())
	defer func() { _ = pool.Close() }()
	pool.SetMaxOpenConns(clients)
	Expect(app.Exec(ctx, proxy.Name, "CREATE TABLE app.log (id INT AUTO_INCREMENT PRIMARY KEY, k INT)")).To(Succeed())
	hold("START", "BLOCK_COMMIT")
	ends := make(chan error, clients)
	for k := range clients {
		go func() { ends <- once(ctx, pool, k) }()
	}
	Eventually(func() ([]string, error) { return commits(ctx, server) }).WithContext(ctx).WithTimeout(shortly).
		WithPolling(100*time.Millisecond).Should(HaveLen(clients), "the primary holds back all commits")
	for _, pod := range proxyPods(ctx, proxy) {
		Expect(c.Pods().Signal(ctx, pod, "proxysql", syscall.SIGKILL)).To(Succeed())
	}
	for range clients {
		Expect(<-ends).To(HaveOccurred(), "a client was answered without a proxy")
	}
	hold("END")
	awaitProxy(ctx, proxy)
	Expect(app.Exec(ctx, proxy.Name, "INSERT INTO app.log (k) VALUES (100)")).To(Succeed())
	var rows, keys int
	Expect(server.QueryRowContext(ctx, "SELECT COUNT(*), COUNT(DISTINCT k) FROM app.log").Scan(&rows, &keys)).To(Succeed())
	progress("%d rows of %d commits that were cut off", rows-1, clients)
	Expect(rows).To(Equal(keys), "a write was sent twice")
}

// commits are the statements of the application that have been in progress on a server for half a second, with their
// states.
func commits(ctx context.Context, server *sql.DB) (out []string, err error) {
	rows, err := server.QueryContext(ctx, "SELECT CONCAT_WS(': ', COMMAND, STATE, LEFT(INFO, 40)) FROM "+
		"information_schema.PROCESSLIST WHERE USER = 'app' AND COMMAND <> 'Sleep' AND TIME_MS > 500")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		out = append(out, text)
	}
	return out, rows.Err()
}

// once writes a row over one connection, by itself or in a transaction.
func once(ctx context.Context, pool *sql.DB, k int) (err error) {
	conn, err := pool.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if k%2 == 0 {
		_, err = conn.ExecContext(ctx, "INSERT INTO app.log (k) VALUES (?)", k)
		return err
	}
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if _, err = tx.ExecContext(ctx, "INSERT INTO app.log (k) VALUES (?)", k); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// onNode runs a statement on one node.
func onNode(ctx context.Context, c *harness.Cluster, pod, statement string) error {
	db, err := client(ctx, c).OpenPod(ctx, pod)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, statement)
	return errors.Join(err, db.Close())
}

// proxyPods are the pods of a proxy.
func proxyPods(ctx context.Context, p *v1alpha1.GaleraProxy) (names []string) {
	GinkgoHelper()
	var pods corev1.PodList
	Expect(kube.List(ctx, &pods, ctrlclient.InNamespace(p.Namespace),
		ctrlclient.MatchingLabels{v1alpha1.LabelProxy: p.Name})).To(Succeed())
	for i := range pods.Items {
		if pods.Items[i].DeletionTimestamp == nil {
			names = append(names, pods.Items[i].Name)
		}
	}
	Expect(names).NotTo(BeEmpty())
	return names
}

// imageOf is the one that a cluster's nodes run.
func imageOf(ctx context.Context, c *harness.Cluster) string {
	GinkgoHelper()
	pod, err := c.Pod(ctx, status(ctx, c).Primary)
	Expect(err).NotTo(HaveOccurred())
	return pod.Spec.Containers[0].Image
}
