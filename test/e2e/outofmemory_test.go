package e2e

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"syscall"
	"time"

	"github.com/go-sql-driver/mysql"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/test/harness"
)

// With cgroup v2 the kernel kills all processes of a container that is out of memory (memory.oom.group): the agent ends
// with its server. Killing the agent, PID 1, does the same anywhere.
var _ = Describe("A node whose processes are all killed at once", Label(Slow, Faults), func() {
	It("is evicted as soon as its next agent reports the end, and joins again", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		pod, err := shop.Replica(ctx)
		Expect(err).NotTo(HaveOccurred())
		start := time.Now()
		w := startWriter(ctx, shop, harness.WriterOptions{})
		Expect(shop.Agents().Signal(ctx, pod, syscall.SIGKILL)).To(Succeed())
		eventually(ctx, func(o Gomega) { o.Expect(evictions(ctx, shop, start)).To(ContainSubstring(endOf(pod))) })
		Expect(shop.WaitHealthy(ctx, joinTime)).To(Succeed())
		stopAndCheck(ctx, w, start)
	}, SpecTimeout(8*time.Minute))
})

// A real want of memory. With control groups v1 the kernel kills mariadbd alone, and the agent names the signal; with
// v2 it kills all processes of the container, and Kubernetes has the reason.
var _ = Describe("A node that runs out of memory", Label(Slow, Faults), func() {
	It("is evicted as soon as its end is reported, which names the reason, and joins again", func(ctx SpecContext) {
		shop := create(ctx, harness.Build(newNamespace(ctx, "memory"), "shop",
			harness.Setting("innodb_buffer_pool_size", "64M"),
			func(s *v1alpha1.GaleraClusterSpec) {
				s.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("640Mi")}
			}))
		Expect(shop.WaitReady(ctx, firstReady)).To(Succeed())
		pod, err := shop.Replica(ctx)
		Expect(err).NotTo(HaveOccurred())
		start := time.Now()
		w := startWriter(ctx, shop, harness.WriterOptions{})
		db, err := client(ctx, shop).OpenPod(ctx, pod)
		Expect(err).NotTo(HaveOccurred())
		defer func() { _ = db.Close() }()
		began := time.Now()
		var refused *mysql.MySQLError
		Expect(errors.As(allocate(ctx, db), &refused)).To(BeFalse(), "the server refused, and was not killed: %v", refused)

		reason := ""
		Eventually(func(o Gomega) {
			if why := memoryReason(ctx, shop, pod); why != "" {
				reason = why
			}
			o.Expect(evictions(ctx, shop, began)).To(ContainSubstring(endOf(pod)))
			o.Expect(reason).NotTo(BeEmpty(), "the reason is named")
		}).WithContext(ctx).WithTimeout(recoverTime).WithPolling(100 * time.Millisecond).Should(Succeed())
		progress("the reason: %s", reason)
		Expect(shop.WaitHealthy(ctx, joinTime)).To(Succeed())
		stopAndCheck(ctx, w, start)
	}, SpecTimeout(10*time.Minute))
})

// allocate lets a server fill a table in memory that is larger than any limit of a test. The table is temporary, so
// that it is on this node only.
func allocate(ctx context.Context, db *sql.DB) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	for _, statement := range []string{"SET SESSION max_heap_table_size = 1 << 36",
		"CREATE TEMPORARY TABLE mysql.large (filler VARCHAR(16000) CHARACTER SET latin1) ENGINE = MEMORY " +
			"SELECT 'x' AS filler FROM mysql.seq_1_to_1000000"} {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// memoryReason is what names the want of memory, "" while nothing does.
func memoryReason(ctx context.Context, c *harness.Cluster, pod string) string {
	GinkgoHelper()
	for _, m := range status(ctx, c).Members {
		if m.Name == pod && strings.Contains(m.Message, "memory ran out") {
			return m.Message
		}
	}
	p, err := c.Pod(ctx, pod)
	Expect(err).NotTo(HaveOccurred())
	for _, s := range p.Status.ContainerStatuses {
		if t := s.LastTerminationState.Terminated; t != nil && t.Reason == "OOMKilled" {
			return pod + ": " + t.Reason
		}
	}
	return ""
}

// endOf is what an eviction says of a node whose server has ended.
func endOf(pod string) string { return "mariadbd of " + pod + " has ended" }

// evictions are the notes of all evictions in the cluster's namespace since then.
func evictions(ctx context.Context, c *harness.Cluster, since time.Time) string {
	GinkgoHelper()
	var list eventsv1.EventList
	Expect(kube.List(ctx, &list, ctrlclient.InNamespace(c.Namespace))).To(Succeed())
	var notes []string
	for _, e := range list.Items {
		if e.Reason == "Evicted" && !e.EventTime.Time.Before(since.Truncate(time.Second)) {
			notes = append(notes, e.Note)
		}
	}
	return strings.Join(notes, "\n")
}
