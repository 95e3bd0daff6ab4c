package e2e

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	kubeclient "sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/test/harness"
)

// limitedPods places a store whose pods have a quarter of a gibibyte of memory.
type limitedPods struct{ placer }

// Place implements placer.
func (p limitedPods) Place(ctx context.Context, ns string, recipients ...string) (*v1alpha1.GaleraBackupStore, error) {
	s, err := p.placer.Place(ctx, ns, recipients...)
	if err == nil {
		s.Spec.Pods = &v1alpha1.BackupPods{Resources: corev1.ResourceRequirements{
			Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("256Mi")}}}
	}
	return s, err
}

var _ = Describe("A row of a gigabyte", Ordered, Label(Slow), func() {
	const (
		bytes  = 1_000_000_000
		digest = "SELECT COALESCE(MAX(MD5(b)), '') FROM large.t"
		within = 8 * time.Minute
	)
	var shop *harness.Cluster
	var last, want string

	BeforeAll(func(ctx SpecContext) {
		objects, err := harness.StartObjectStore(ctx, kube, newNamespace(ctx, "s3"))
		Expect(err).NotTo(HaveOccurred())
		shop = archivedIn(ctx, limitedPods{objects}, func(s *v1alpha1.GaleraClusterSpec) {
			s.Replicas = 1
			harness.Size("8Gi")(s)
			harness.Setting("max_allowed_packet", "1G")(s)
		})
	}, NodeTimeout(9*time.Minute))

	It("is archived by a pod of 256Mi", func(ctx SpecContext) {
		patiently(ctx, shop, func(db *sql.DB) error {
			for _, s := range []string{"CREATE DATABASE large", "CREATE TABLE large.t (id INT PRIMARY KEY, b LONGBLOB)",
				fmt.Sprintf("INSERT INTO large.t VALUES (1, REPEAT('x', %d))", bytes)} {
				if _, err := db.ExecContext(ctx, s); err != nil {
					return err
				}
			}
			return db.QueryRowContext(ctx, digest).Scan(&want)
		})
		last = position(ctx, shop, shop.Name+"-0")
		Eventually(ctx, func(o Gomega) {
			s := status(ctx, shop).Backup
			o.Expect(s.ArchivedGTID).To(Equal(last), "%s: %s", s.Reason, s.Message)
		}).WithTimeout(within).WithPolling(time.Second).Should(Succeed())
		var pods corev1.PodList
		Expect(kube.List(ctx, &pods, kubeclient.InNamespace(shop.Namespace),
			kubeclient.MatchingLabels{v1alpha1.LabelCluster: shop.Name, "app.kubernetes.io/component": "archiver"})).
			To(Succeed())
		Expect(pods.Items).To(HaveLen(1))
		for _, s := range pods.Items[0].Status.ContainerStatuses {
			Expect(s.RestartCount).To(BeZero(), s.Name)
		}
		Expect(pods.Items[0].Spec.Containers[0].Resources.Limits.Memory().String()).To(Equal("256Mi"))
	}, SpecTimeout(2*within))

	It("is restored from the archive", func(ctx SpecContext) {
		then := create(ctx, printed(ctx, shop, "then", "--gtid", last))
		Expect(then.WaitReady(ctx, within)).To(Succeed())
		var have string
		patiently(ctx, then, func(db *sql.DB) error { return db.QueryRowContext(ctx, digest).Scan(&have) })
		Expect(have).To(Equal(want))
		progress("%s", status(ctx, then).Restore.Message)
	}, SpecTimeout(2*within))
})

// patiently uses the first node with answers that may take minutes.
func patiently(ctx context.Context, c *harness.Cluster, do func(db *sql.DB) error) {
	GinkgoHelper()
	connector, err := client(ctx, c).Pod(ctx, c.Name+"-0", 8*time.Minute)
	Expect(err).NotTo(HaveOccurred())
	db := sql.OpenDB(connector)
	defer func() { Expect(db.Close()).To(Succeed()) }()
	Expect(do(db)).To(Succeed())
}
