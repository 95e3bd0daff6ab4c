package e2e

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/test/harness"
)

// readAfterWrite writes rows behind a transaction that the readers take long to apply. The reader itself does not have
// them yet, which shows that the test can fail; the client of the proxy reads each of them.
func readAfterWrite(ctx context.Context, c *harness.Cluster, app *harness.Client, service, reader string) {
	GinkgoHelper()
	pool, err := app.OpenService(ctx, service)
	Expect(err).NotTo(HaveOccurred())
	defer func() { _ = pool.Close() }()
	client, err := pool.Conn(ctx)
	Expect(err).NotTo(HaveOccurred())
	defer func() { _ = client.Close() }()
	direct, err := app.OpenPod(ctx, reader)
	Expect(err).NotTo(HaveOccurred())
	defer func() { _ = direct.Close() }()
	do := func(statement string) {
		_, err := client.ExecContext(ctx, statement)
		Expect(err).NotTo(HaveOccurred(), statement)
	}
	do("CREATE TABLE app.big (id INT PRIMARY KEY, v INT)")
	do("INSERT INTO app.big SELECT seq, 0 FROM app.seq_1_to_100000")
	behind := 0
	for n := range 10 {
		do("UPDATE app.big SET v = v + 1")
		do(fmt.Sprintf("INSERT INTO app.t (w, n) VALUES (99, %d)", n))
		there, read := 0, 0
		question := fmt.Sprintf("SELECT COUNT(*) FROM app.t WHERE w = 99 AND n = %d", n)
		Expect(direct.QueryRowContext(ctx, question).Scan(&there)).To(Succeed())
		Expect(client.QueryRowContext(ctx, question).Scan(&read)).To(Succeed())
		Expect(read).To(Equal(1), "a client of the proxy does not read its own write")
		behind += 1 - there
	}
	progress("the reader itself was behind %d times of 10", behind)
	Expect(behind).To(BeNumerically(">", 0), "the test could not fail")
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
	Eventually(func() (n int, err error) {
		return n, server.QueryRowContext(ctx, "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = 'app' "+
			"AND STATE LIKE 'Waiting for backup lock%'").Scan(&n)
	}).WithContext(ctx).WithTimeout(shortly).WithPolling(100 * time.Millisecond).Should(Equal(clients))
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
