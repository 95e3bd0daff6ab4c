package e2e

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"filippo.io/age"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeclient "sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/test/harness"
)

// backupTime is how long a small backup, or a check of a store, may take.
const backupTime = 3 * time.Minute

var _ = Describe("A backup", Ordered, Label(Core), func() {
	var objects *harness.ObjectStore
	var identity *age.X25519Identity
	var old v1alpha1.GaleraClusterStatus
	var want string
	var backup *v1alpha1.GaleraBackup

	BeforeAll(func(ctx SpecContext) {
		var err error
		identity, err = age.GenerateX25519Identity()
		Expect(err).NotTo(HaveOccurred())
		ns := makeNamespace(ctx, "s3")
		DeferCleanup(func(ctx SpecContext) { removeNamespace(ctx, ns) }, NodeTimeout(4*time.Minute))
		objects, err = harness.StartObjectStore(ctx, kube, ns)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(dropShared) // the object store is gone after these specs
	}, NodeTimeout(4*time.Minute))

	It("is taken of a node that is not the primary, under load, with the cluster Ready, and is encrypted",
		func(ctx SpecContext) {
			shop := sharedCluster(ctx)
			makeStore(ctx, objects, shop.Namespace, identity)
			cl := client(ctx, shop)
			Expect(cl.Exec(ctx, shop.Name+"-primary", "CREATE OR REPLACE DATABASE kept",
				"CREATE TABLE kept.t (id INT PRIMARY KEY, v CHAR(64))",
				"INSERT INTO kept.t SELECT seq, CONCAT('"+marker+"', SHA1(seq)) FROM kept.seq_1_to_20000")).To(Succeed())
			want = tableSum(ctx, shop, shop.Name+"-0", "kept.t")
			old = status(ctx, shop)
			start := time.Now()
			w := startWriter(ctx, shop, harness.WriterOptions{})
			backup = &v1alpha1.GaleraBackup{ObjectMeta: metav1.ObjectMeta{Namespace: shop.Namespace, Name: "first"},
				Spec: v1alpha1.GaleraBackupSpec{ClusterRef: v1alpha1.BackupClusterRef{Name: shop.Name},
					StoreRef: v1alpha1.LocalName{Name: "offsite"},
					Verify:   v1alpha1.VerifyRestore, IdentitySecretRef: &v1alpha1.SecretKey{Name: "identity"}}}
			Expect(kube.Create(ctx, backup)).To(Succeed())
			waitBackup(ctx, backup)
			stopAndCheck(ctx, w, start)
			ready, err := shop.Condition(ctx, v1alpha1.ConditionReady)
			Expect(err).NotTo(HaveOccurred())
			Expect(ready.Status).To(Equal(metav1.ConditionTrue), ready.Message)
			Expect(ready.LastTransitionTime.Time).To(BeTemporally("<", start), "the cluster was not Ready for a while: %s",
				ready.Message)
			s := backup.Status
			progress("the backup: %s of %s, read from %s at %s, by MariaDB %s", s.StoredSize, s.DataSize, s.Node, s.Position,
				s.ServerVersion)
			Expect(s.Node).NotTo(Equal(old.Primary))
			Expect(s.Position).To(HavePrefix(old.ClusterUUID + ":"))
			Expect(s.Recipients).To(ConsistOf(identity.Recipient().String()))
			keys, err := objects.Keys(ctx)
			Expect(err).NotTo(HaveOccurred())
			Expect(keys).To(ContainElement(s.Directory + "/" + s.ID + "/manifest.json"))
			for _, key := range keys {
				data, err := objects.Read(ctx, key)
				Expect(err).NotTo(HaveOccurred())
				Expect(bytes.Contains(data, []byte(marker))).To(BeFalse(), "%s holds data in clear text", key)
			}
		}, SpecTimeout(8*time.Minute))

	It("is restored into a pod that is thrown away, and every table checked", func(ctx SpecContext) {
		Expect(backup).NotTo(BeNil())
		waitVerified(ctx, backup, v1alpha1.ReasonVerified, "tables were checked and are good")
		progress("verified: %d tables in %s", backup.Status.Verification.Tables, backup.Status.Verification.Took.Duration)
		Expect(backup.Status.Verification.Tables).To(BeNumerically(">", 1))
		Expect(kubectlGalera(ctx, backup.Namespace, "backups", backup.Spec.ClusterRef.Name)).To(ContainSubstring("✓ Restore"))
		eventually(ctx, func(o Gomega) {
			var claims corev1.PersistentVolumeClaimList
			o.Expect(kube.List(ctx, &claims, kubeclient.InNamespace(backup.Namespace))).To(Succeed())
			for _, c := range claims.Items {
				o.Expect(c.Name).NotTo(ContainSubstring("verify"), "the volume is thrown away")
			}
		})
	}, SpecTimeout(6*time.Minute))

	It(
		"brings the cluster back in another namespace, on every node without a state transfer, when everything else is gone",
		func(ctx SpecContext) {
			Expect(backup).NotTo(BeNil())
			dropShared(ctx)
			ns := newNamespace(ctx, "restored")
			makeStore(ctx, objects, ns, identity)
			c := sampleCluster(ns)
			c.Spec.BootstrapFrom = &v1alpha1.BootstrapFrom{IdentitySecretRef: v1alpha1.SecretKey{Name: "identity"},
				Store: &v1alpha1.BootstrapStore{Name: "offsite", Namespace: backup.Namespace, Cluster: backup.Spec.ClusterRef.Name}}
			start := time.Now()
			shop := create(ctx, c)
			Expect(shop.WaitReady(ctx, firstReady+backupTime)).To(Succeed())
			progress("Ready after %s", time.Since(start).Round(100*time.Millisecond))
			s := status(ctx, shop)
			Expect(s.Restore.Phase).To(Equal(v1alpha1.RestoreCompleted))
			Expect(s.Restore.ID).To(Equal(backup.Status.ID))
			Expect(s.Restore.Source).To(HavePrefix(old.ClusterUUID + ":"))
			Expect(s.ClusterUUID).To(Equal(s.Restore.History))
			Expect(s.ClusterUUID).NotTo(Equal(old.ClusterUUID), "the histories must never meet")
			joins, err := shop.Joins().Since(ctx, start)
			Expect(err).NotTo(HaveOccurred())
			progress("joins: %v", joins)
			Expect(joins).NotTo(ContainElement("SST"))
			for _, pod := range podNames(ctx, shop) {
				Expect(tableSum(ctx, shop, pod, "kept.t")).To(Equal(want), pod)
			}
			start = time.Now()
			stopAndCheck(ctx, startWriter(ctx, shop, harness.WriterOptions{}), start)
		}, SpecTimeout(10*time.Minute))

	It("that cannot be restored leaves a cluster Stalled with the reason, and never an empty one", func(ctx SpecContext) {
		Expect(backup).NotTo(BeNil())
		ns := newNamespace(ctx, "refused")
		makeStore(ctx, objects, ns, identity)
		other, err := age.GenerateX25519Identity()
		Expect(err).NotTo(HaveOccurred())
		makeIdentity(ctx, ns, "other", other)
		c := sampleCluster(ns)
		c.Spec.BootstrapFrom = &v1alpha1.BootstrapFrom{IdentitySecretRef: v1alpha1.SecretKey{Name: "other"},
			Store: &v1alpha1.BootstrapStore{Name: "offsite", Namespace: backup.Namespace, Cluster: backup.Spec.ClusterRef.Name}}
		shop := create(ctx, c)
		expectStalled(ctx, shop, v1alpha1.ReasonWrongKey, "of the private keys opens", identity.Recipient().String())
		pods, err := shop.Pods().List(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(pods).To(BeEmpty())
		change(ctx, shop, func(s *v1alpha1.GaleraClusterSpec) {
			s.BootstrapFrom.IdentitySecretRef.Name, s.BootstrapFrom.Store.ID = "identity", "no-such-backup"
		})
		expectStalled(ctx, shop, v1alpha1.ReasonBackupNotFound, "no-such-backup")
	}, SpecTimeout(6*time.Minute))
})

// marker stands in rows, and must not stand in a store.
const marker = "clear-text-marker-7c1f"

// placer is a place for backups.
type placer interface {
	Place(ctx context.Context, namespace string, recipients ...string) (*v1alpha1.GaleraBackupStore, error)
}

// makeStore makes a store with its Secrets in a namespace, and waits until it can be used.
func makeStore(ctx context.Context, objects placer, ns string, identity *age.X25519Identity) {
	GinkgoHelper()
	makeStoreIn(ctx, kube, objects, ns, identity)
}

// makeStoreIn does it in a Kubernetes.
func makeStoreIn(ctx context.Context, kube *harness.Kube, objects placer, ns string, identity *age.X25519Identity) {
	GinkgoHelper()
	store, err := objects.Place(ctx, ns, identity.Recipient().String())
	Expect(err).NotTo(HaveOccurred())
	Expect(kube.Create(ctx, store)).To(Succeed())
	Expect(kube.Create(ctx, identitySecret(ns, "identity", identity))).To(Succeed())
	Expect(kube.Until(ctx, "the store can be used", backupTime, func(ctx context.Context) (bool, string, error) {
		err := kube.Get(ctx, kubeclient.ObjectKeyFromObject(store), store)
		c := meta.FindStatusCondition(store.Status.Conditions, v1alpha1.ConditionReachable)
		if err != nil || c == nil {
			return false, "", err
		}
		return c.Status == metav1.ConditionTrue, c.Reason + ": " + c.Message, nil
	})).To(Succeed())
}

func makeIdentity(ctx context.Context, ns, name string, identity *age.X25519Identity) {
	GinkgoHelper()
	Expect(kube.Create(ctx, identitySecret(ns, name, identity))).To(Succeed())
}

func identitySecret(ns, name string, identity *age.X25519Identity) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name},
		Data: map[string][]byte{"identity": []byte(identity.String() + "\n")}}
}

// waitBackup waits until a backup is complete, and reads it.
func waitBackup(ctx context.Context, b *v1alpha1.GaleraBackup) {
	GinkgoHelper()
	Expect(kube.Until(ctx, "the backup "+b.Name, backupTime, func(ctx context.Context) (bool, string, error) {
		if err := kube.Get(ctx, kubeclient.ObjectKeyFromObject(b), b); err != nil {
			return false, "", err
		}
		word := b.Status.Phase
		if c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionComplete); c != nil {
			word += " " + c.Reason + ": " + c.Message
		}
		if b.Status.Phase == v1alpha1.BackupFailed {
			return false, word, fmt.Errorf("the backup has failed")
		}
		return b.Status.Phase == v1alpha1.BackupCompleted, word, nil
	})).To(Succeed())
}

// waitVerified waits until a backup's test has ended as expected, and reads the backup.
func waitVerified(ctx context.Context, b *v1alpha1.GaleraBackup, reason, says string) {
	GinkgoHelper()
	Expect(kube.Until(ctx, "the test of the backup "+b.Name, backupTime, func(ctx context.Context) (bool, string, error) {
		err := kube.Get(ctx, kubeclient.ObjectKeyFromObject(b), b)
		c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionVerified)
		if err != nil || c == nil {
			return false, "", err
		}
		return c.Reason == reason && strings.Contains(c.Message, says), c.Reason + ": " + c.Message, nil
	})).To(Succeed())
}

// tableSum is a checksum of all rows of a table on a node, which waits for all write-sets before.
func tableSum(ctx context.Context, c *harness.Cluster, pod, table string) string {
	GinkgoHelper()
	sum, err := client(ctx, c).QueryPod(ctx, pod,
		"SET STATEMENT wsrep_sync_wait = 1 FOR SELECT CONCAT(COUNT(*), ' rows, ', MD5(GROUP_CONCAT(SHA1(CONCAT(id, v)) "+
			"ORDER BY id))) FROM "+table)
	Expect(err).NotTo(HaveOccurred())
	Expect(strings.HasPrefix(sum, "0 ")).To(BeFalse())
	return sum
}
