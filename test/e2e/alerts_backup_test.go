package e2e

import (
	"context"
	"time"

	"filippo.io/age"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeclient "sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/test/harness"
)

var _ = Describe("Alerts about backups", Label(Slow, Faults), func() {
	It("report a backup that is not tested, a store that is away, and a backup that is overdue",
		func(ctx SpecContext) {
			a := watchAlarms(ctx)
			objects, err := harness.StartObjectStore(ctx, kube, newNamespace(ctx, "s3"))
			Expect(err).NotTo(HaveOccurred())
			c := create(ctx, harness.Build(newNamespace(ctx, "backups"), "shop", harness.Replicas(1)))
			Expect(c.WaitReady(ctx, firstReady)).To(Succeed())
			identity, err := age.GenerateX25519Identity()
			Expect(err).NotTo(HaveOccurred())
			makeStore(ctx, objects, c.Namespace, identity)
			wrong, err := age.GenerateX25519Identity()
			Expect(err).NotTo(HaveOccurred())
			makeIdentity(ctx, c.Namespace, "tests", wrong)
			Expect(kube.Create(ctx, everyMinute(c, "tests"))).To(Succeed())
			a.fire(ctx, c, "GaleraBackupUnverified")
			By("giving the tests the right key")
			Expect(kube.Update(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: "tests"},
				Data: map[string][]byte{"identity": []byte(identity.String() + "\n")}})).To(Succeed())
			a.clear(ctx, c, "GaleraBackupUnverified")

			endpoint := moveStore(ctx, c, "https://s3.nowhere.svc:9000")
			a.fire(ctx, c, "GaleraBackupStoreUnreachable", "GaleraBackupTooOld")
			moveStore(ctx, c, endpoint)
			a.clear(ctx, c, "GaleraBackupStoreUnreachable", "GaleraBackupTooOld")
		}, SpecTimeout(15*time.Minute))

	It("report an archive that is behind, and a gap in it", func(ctx SpecContext) {
		a := watchAlarms(ctx)
		objects, err := harness.StartObjectStore(ctx, kube, newNamespace(ctx, "s3"))
		Expect(err).NotTo(HaveOccurred())
		c := create(ctx, harness.Build(newNamespace(ctx, "archive"), "shop", harness.Replicas(1),
			func(s *v1alpha1.GaleraClusterSpec) {
				s.Backup = &v1alpha1.ClusterBackup{StoreRef: v1alpha1.LocalName{Name: "offsite"},
					PointInTime: &v1alpha1.PointInTime{Enabled: true, Interval: &metav1.Duration{Duration: 2 * time.Second}}}
			}))
		identity, err := age.GenerateX25519Identity()
		Expect(err).NotTo(HaveOccurred())
		makeStore(ctx, objects, c.Namespace, identity)
		Expect(c.WaitReady(ctx, firstReady)).To(Succeed())
		Expect(c.WaitCondition(ctx, v1alpha1.ConditionPointInTimeRecoverable, metav1.ConditionTrue, v1alpha1.ReasonArchiving,
			archiveTime)).To(Succeed())

		By("purging what the archiver has not read yet")
		Expect(objects.CutOff(ctx)).To(Succeed())
		DeferCleanup(kube.Network().Heal)
		Expect(kube.DeleteAllOf(ctx, &corev1.Pod{}, kubeclient.InNamespace(c.Namespace), kubeclient.GracePeriodSeconds(0),
			kubeclient.MatchingLabels{v1alpha1.LabelCluster: c.Name, "app.kubernetes.io/component": "archiver"})).To(Succeed())
		cl := client(ctx, c)
		Expect(cl.Exec(ctx, c.Name, "CREATE DATABASE lost", "FLUSH BINARY LOGS", "CREATE TABLE lost.t (id INT PRIMARY KEY)",
			"FLUSH BINARY LOGS")).To(Succeed())
		a.fire(ctx, c, "GaleraArchiveBehind")
		Expect(cl.Exec(ctx, c.Name, "PURGE BINARY LOGS BEFORE NOW() + INTERVAL 1 DAY")).To(Succeed())
		Expect(kube.Network().Heal(ctx)).To(Succeed())
		a.fire(ctx, c, "GaleraArchiveGap")
		By("waiting: the operator asks for a backup that makes up for it")
		a.clear(ctx, c, "GaleraArchiveBehind", "GaleraArchiveGap")
	}, SpecTimeout(15*time.Minute))
})

// everyMinute is a schedule of backups that are restored for a test, with the key of a Secret.
func everyMinute(c *harness.Cluster, identity string) *v1alpha1.GaleraBackupSchedule {
	s := &v1alpha1.GaleraBackupSchedule{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: "often"}}
	s.Spec.Schedule = "* * * * *"
	s.Spec.Template = newBackup(c, "").Spec
	s.Spec.Template.DeletionPolicy = v1alpha1.BackupDelete
	s.Spec.Template.Verify, s.Spec.Template.IdentitySecretRef = v1alpha1.VerifyRestore, &v1alpha1.SecretKey{Name: identity}
	return s
}

// moveStore gives the store offsite another endpoint, and returns the one it had.
func moveStore(ctx context.Context, c *harness.Cluster, endpoint string) (was string) {
	GinkgoHelper()
	eventually(ctx, func(o Gomega) {
		store := &v1alpha1.GaleraBackupStore{}
		o.Expect(kube.Get(ctx, kubeclient.ObjectKey{Namespace: c.Namespace, Name: "offsite"}, store)).To(Succeed())
		was = store.Spec.S3.Endpoint
		store.Spec.S3.Endpoint = endpoint
		o.Expect(kube.Update(ctx, store)).To(Succeed())
	})
	return was
}
