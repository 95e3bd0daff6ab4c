package e2e

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kubeclient "sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/plugin"
	"github.com/galera-operator/galera-operator/test/harness"
)

var _ = Describe("A cluster that follows another server", Ordered, Label(Slow, Faults), func() {
	var ns string
	var old *harness.ForeignServer
	var c *harness.Cluster
	app := &application{}
	const rows = "SELECT CONCAT(COUNT(*), ' ', BIT_XOR(CRC32(CONCAT(id, v)))) FROM shop.t"

	BeforeAll(func(ctx SpecContext) {
		ns = newNamespace(ctx, "following")
		old = followingSource(ctx, ns)
		app.writeTo(old)
	}, NodeTimeout(5*time.Minute))

	It("goes on with what the source writes, and accepts no write", func(ctx SpecContext) {
		c = create(ctx, copyOf(old, ns, true))
		Expect(c.WaitReady(ctx, 6*time.Minute)).To(Succeed())
		Expect(c.WaitCondition(ctx, v1alpha1.ConditionFollowing, metav1.ConditionTrue, v1alpha1.ReasonFollowing,
			2*time.Minute)).To(Succeed())
		cl := client(ctx, c).As("app", nil).WithPassword("app")
		for _, pod := range podNames(ctx, c) {
			_, err := cl.QueryPod(ctx, pod, "DELETE FROM shop.t")
			Expect(err).To(MatchError(ContainSubstring("read-only")))
		}
		app.writeAlsoTo(ctx, c)
	}, SpecTimeout(9*time.Minute))

	It("goes on when the node of the channel is lost", func(ctx SpecContext) {
		have, err := c.Get(ctx)
		Expect(err).NotTo(HaveOccurred())
		node := have.Status.Replication.Node
		lost := time.Now()
		Expect(kube.Delete(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: node}},
			kubeclient.GracePeriodSeconds(0))).To(Succeed())
		Expect(kube.Until(ctx, "another node with the channel", 2*time.Minute,
			func(ctx context.Context) (bool, string, error) {
				have, err := c.Get(ctx)
				return err == nil && have.Status.Replication.Node != "" && have.Status.Replication.Node != node, "", err
			})).To(Succeed())
		progress("another node has the channel after %s", time.Since(lost).Round(10*time.Millisecond))
		Expect(c.WaitReady(ctx, 3*time.Minute)).To(Succeed())
	}, SpecTimeout(6*time.Minute))

	uids := func(ctx context.Context) map[string]bool {
		GinkgoHelper()
		var claims corev1.PersistentVolumeClaimList
		Expect(kube.List(ctx, &claims, kubeclient.InNamespace(ns),
			kubeclient.MatchingLabels{v1alpha1.LabelCluster: c.Name})).To(Succeed())
		out := map[string]bool{}
		for i := range claims.Items {
			out[string(claims.Items[i].UID)] = true
		}
		return out
	}
	ask := func(ctx context.Context, value string) *v1alpha1.GaleraCluster {
		GinkgoHelper()
		have, err := c.Get(ctx)
		Expect(err).NotTo(HaveOccurred())
		patched := have.DeepCopy()
		delete(patched.Annotations, v1alpha1.AnnotationReseed)
		if value != "" {
			patched.Annotations = map[string]string{v1alpha1.AnnotationReseed: value}
		}
		Expect(kube.Patch(ctx, patched, kubeclient.MergeFrom(have))).To(Succeed())
		return have
	}

	It("is not emptied while the source cannot be copied", func(ctx SpecContext) {
		password := func(is string) {
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "old"}}
			Expect(kube.Patch(ctx, secret, kubeclient.RawPatch(types.MergePatchType,
				[]byte(`{"stringData":{"password":"`+is+`"}}`)))).To(Succeed())
		}
		reseed := func(what string, holds func(r *v1alpha1.ReseedStatus) bool) {
			Expect(kube.Until(ctx, what, 3*time.Minute, func(ctx context.Context) (bool, string, error) {
				have, err := c.Get(ctx)
				if err != nil || have.Status.Reseed == nil {
					return false, "", err
				}
				return holds(have.Status.Reseed), have.Status.Reseed.Message, nil
			})).To(Succeed())
		}
		before := uids(ctx)
		password("wrong")
		ask(ctx, fmt.Sprintf("always@%d", time.Now().Unix()))
		reseed("a check that fails", func(r *v1alpha1.ReseedStatus) bool {
			return r.Phase == v1alpha1.ReseedChecking && r.Attempts > 0 && strings.Contains(r.Message, "Access denied")
		})
		ask(ctx, "")
		reseed("the end of it", func(r *v1alpha1.ReseedStatus) bool { return r.Phase == v1alpha1.ReseedCancelled })
		password("secret")
		Expect(uids(ctx)).To(Equal(before))
		Expect(c.WaitReady(ctx, time.Minute)).To(Succeed())
	}, SpecTimeout(6*time.Minute))

	It("copies the source again when it is asked to", func(ctx SpecContext) {
		before, asked := uids(ctx), time.Now()
		history := ask(ctx, fmt.Sprintf("always@%d", asked.Unix())).Status.ClusterUUID
		Expect(kube.Until(ctx, "another copy", 8*time.Minute, func(ctx context.Context) (bool, string, error) {
			have, err := c.Get(ctx)
			if err != nil || have.Status.Reseed == nil {
				return false, "", err
			}
			return have.Status.Reseed.Phase == v1alpha1.ReseedCompleted, have.Status.Reseed.Message, nil
		})).To(Succeed())
		progress("copied again after %s", time.Since(asked).Round(time.Second))
		Expect(c.WaitReady(ctx, 5*time.Minute)).To(Succeed())
		Expect(c.WaitCondition(ctx, v1alpha1.ConditionFollowing, metav1.ConditionTrue, v1alpha1.ReasonFollowing,
			2*time.Minute)).To(Succeed())
		have, err := c.Get(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(have.Status.ClusterUUID).NotTo(Equal(history))
		after := uids(ctx)
		Expect(after).To(HaveLen(len(before)))
		for uid := range after {
			Expect(before).NotTo(HaveKey(uid))
		}
	}, SpecTimeout(18*time.Minute))

	It("is not cut over while a row on one node is another one", func(ctx SpecContext) {
		node, err := client(ctx, c).OpenPod(ctx, podNames(ctx, c)[2])
		Expect(err).NotTo(HaveOccurred())
		defer func() { _ = node.Close() }()
		alone := func(statement string) {
			conn, err := node.Conn(ctx)
			Expect(err).NotTo(HaveOccurred())
			defer func() { _ = conn.Close() }()
			for _, text := range []string{"SET SESSION wsrep_on = OFF", statement, "SET SESSION wsrep_on = ON"} {
				_, err = conn.ExecContext(ctx, text)
				Expect(err).NotTo(HaveOccurred())
			}
		}
		alone("UPDATE shop.t SET v = 'behind the back' WHERE id = 1")
		var notes bytes.Buffer
		command := plugin.New(&notes, &notes)
		command.SetArgs([]string{"cutover", c.Name, "-n", ns, "--context", kube.Context})
		Expect(command.ExecuteContext(ctx)).To(MatchError(ContainSubstring("differs from its source")), "%s", &notes)
		Expect(notes.String()).To(ContainSubstring(podNames(ctx, c)[2] + ": the checksum of shop.t"))
		have, err := c.Get(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(have.Spec.Cutover).To(BeNil())
		alone("UPDATE shop.t SET v = SHA1(1) WHERE id = 1")
	}, SpecTimeout(4*time.Minute))

	It("accepts writes after the cutover, and has every row on every node", func(ctx SpecContext) {
		began := time.Now()
		progress("%s", kubectlGalera(ctx, ns, "cutover", c.Name))
		Expect(kube.Until(ctx, "the application with the cluster", time.Minute,
			func(context.Context) (bool, string, error) { return app.moved() >= 50, "", nil })).To(Succeed())
		app.stop()
		progress("the application wrote nothing for %s at most", app.longest(began).Round(10*time.Millisecond))
		var last int
		Expect(old.DB.QueryRowContext(ctx, "SELECT MAX(id) FROM shop.t").Scan(&last)).To(Succeed())
		var want string
		Expect(old.DB.QueryRowContext(ctx, rows).Scan(&want)).To(Succeed())
		cl := client(ctx, c)
		for _, pod := range podNames(ctx, c) {
			Expect(cl.QueryPod(ctx, pod, fmt.Sprintf("%s WHERE id <= %d", rows, last))).To(Equal(want))
			Expect(cl.QueryPod(ctx, pod,
				"SELECT CONCAT(COUNT(*), ' ', MAX(id), ' ', (SELECT n FROM shop.counter)) FROM shop.t")).
				To(Equal(fmt.Sprintf("%[1]d %[1]d %[1]d", app.written())))
		}
		eventually(ctx, func(o Gomega) { // the archive needs one GTID for a transaction
			at := position(ctx, c, c.Name+"-0")
			for _, pod := range podNames(ctx, c) {
				o.Expect(position(ctx, c, pod)).To(Equal(at), pod)
			}
		})
		have, err := c.Get(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(have.Status.Replication.Role).To(Equal(v1alpha1.RoleIndependent))
		Expect(have.Spec.Cutover.Own).NotTo(BeEmpty())
		Expect(have.Spec.Cutover.UID).To(Equal(string(have.UID)))
		var back bytes.Buffer
		command := plugin.New(&back, &back)
		command.SetArgs([]string{"cutover", c.Name, "--back", "--back-host=db", "-n", ns, "--context", kube.Context})
		Expect(command.ExecuteContext(ctx)).To(Succeed(), "%s", &back)
		progress("%s", &back)
		Expect(back.String()).To(ContainSubstring("SET GLOBAL gtid_slave_pos = '" + have.Spec.Cutover.GTID))
		Expect(back.String()).NotTo(ContainSubstring("NOT CHECKED"))
		Expect(c.WaitCondition(ctx, v1alpha1.ConditionAvailable, metav1.ConditionTrue, v1alpha1.ReasonAvailable,
			time.Minute)).To(Succeed())
	}, SpecTimeout(4*time.Minute))
})

// followingSource is a server that an application writes to, and that can be followed.
func followingSource(ctx SpecContext, ns string) *harness.ForeignServer {
	GinkgoHelper()
	Expect(harness.LoadOld(ctx)).To(Succeed())
	old, err := harness.StartForeignServer(ctx, kube, ns, harness.OldImage)
	Expect(err).NotTo(HaveOccurred())
	Expect(old.Keep(ctx, "format", "--binlog-format=ROW")).To(Succeed())
	Expect(old.Exec(ctx, "SET GLOBAL binlog_format = 'ROW'", "CREATE DATABASE shop",
		"CREATE TABLE shop.t (id INT PRIMARY KEY, v CHAR(64))", "CREATE TABLE shop.counter (id INT PRIMARY KEY, n INT)",
		"INSERT INTO shop.counter VALUES (1, 0)", "CREATE USER app IDENTIFIED BY 'app'", "GRANT ALL ON shop.* TO app",
		"CREATE USER mover IDENTIFIED BY 'secret'",
		"GRANT SELECT, RELOAD, SHOW VIEW, TRIGGER, EVENT, REPLICATION SLAVE, BINLOG MONITOR, SLAVE MONITOR, "+
			"READ_ONLY ADMIN ON *.* TO mover")).To(Succeed())
	Expect(kube.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "old"},
		StringData: map[string]string{"username": "mover", "password": "secret"}})).To(Succeed())
	return old
}

// copyOf is a cluster that copies a server with the credentials of a Secret old, and follows it or not.
func copyOf(old *harness.ForeignServer, ns string, follow bool) *v1alpha1.GaleraCluster {
	c := sampleCluster(ns)
	c.Spec.BootstrapFrom = &v1alpha1.BootstrapFrom{External: &v1alpha1.BootstrapExternal{Host: old.Host,
		CredentialsSecretRef: v1alpha1.LocalName{Name: "old"}, Insecure: true, Users: true, Follow: follow}}
	return c
}

// application writes rows with the numbers 1, 2, 3 …, and counts them. When a server refuses a row, or does not answer,
// it tries the next server with the same row.
type application struct {
	mu      sync.Mutex
	servers []*sql.DB
	done    int // rows that were acknowledged
	others  int // of them, those of another server than the first
	times   []time.Time
	cancel  context.CancelFunc
	ended   sync.WaitGroup
}

// writeTo has it write to a server until the specs end.
func (a *application) writeTo(old *harness.ForeignServer) {
	GinkgoHelper()
	db, err := old.As("app", "app")
	Expect(err).NotTo(HaveOccurred())
	a.servers = []*sql.DB{db}
	a.start()
	DeferCleanup(a.stop)
}

// writeAlsoTo has it write to a cluster's primary where the server refuses.
func (a *application) writeAlsoTo(ctx SpecContext, c *harness.Cluster) {
	GinkgoHelper()
	connector, err := client(ctx, c).As("app", nil).WithPassword("app").Service(ctx, c.Name+"-primary", 5*time.Second)
	Expect(err).NotTo(HaveOccurred())
	a.mu.Lock()
	defer a.mu.Unlock()
	a.servers = append(a.servers, sql.OpenDB(connector))
}

func (a *application) start() {
	ctx, cancel := context.WithCancel(context.Background())
	a.cancel = cancel
	a.ended.Go(func() {
		for at := 0; ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
			a.mu.Lock()
			db, id := a.servers[at%len(a.servers)], a.done+1
			a.mu.Unlock()
			within, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			err := insert(within, db, id)
			cancel()
			a.mu.Lock()
			var answer *mysql.MySQLError
			switch {
			case err == nil, errors.As(err, &answer) && answer.Number == 1062: // the answer to the first attempt was lost
				a.done, a.times = id, append(a.times, time.Now())
				if db != a.servers[0] {
					a.others++
				}
			default:
				at++
			}
			a.mu.Unlock()
		}
	})
}

func (a *application) stop() {
	a.cancel()
	a.ended.Wait()
}

func (a *application) written() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.done
}

func (a *application) moved() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.others
}

// longest returns the longest time without an acknowledged row since a moment.
func (a *application) longest(since time.Time) (out time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := 1; i < len(a.times); i++ {
		if a.times[i].After(since) {
			out = max(out, a.times[i].Sub(a.times[i-1]))
		}
	}
	return out
}

// insert writes a row and counts it, in one transaction.
func insert(ctx context.Context, db *sql.DB, id int) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if _, err = tx.ExecContext(ctx, fmt.Sprintf("INSERT INTO shop.t VALUES (%d, SHA1(%d))", id, id)); err == nil {
		_, err = tx.ExecContext(ctx, "UPDATE shop.counter SET n = n + 1")
	}
	if err != nil {
		_ = tx.Rollback()
		return err
	}
	return tx.Commit()
}
