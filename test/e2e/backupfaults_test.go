package e2e

import (
	"bytes"
	"context"
	"crypto/rand"
	"strings"
	"time"

	"filippo.io/age"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeclient "sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/backup/manifest"
	"github.com/galera-operator/galera-operator/test/harness"
)

var _ = Describe("A backup in trouble", Ordered, Label(Slow, Faults), func() {
	var objects *harness.ObjectStore
	var identity *age.X25519Identity

	BeforeAll(func(ctx SpecContext) {
		var err error
		identity, err = age.GenerateX25519Identity()
		Expect(err).NotTo(HaveOccurred())
		objects, err = harness.StartObjectStore(ctx, kube, newNamespace(ctx, "s3"))
		Expect(err).NotTo(HaveOccurred())
		shop := sharedCluster(ctx)
		makeStore(ctx, objects, shop.Namespace, identity)
		Expect(client(ctx, shop).Exec(ctx, shop.Name+"-primary", "CREATE OR REPLACE DATABASE kept",
			"CREATE TABLE kept.t (id INT PRIMARY KEY, v CHAR(64))",
			"INSERT INTO kept.t SELECT seq, SHA1(seq) FROM kept.seq_1_to_20000")).To(Succeed())
		DeferCleanup(dropShared) // its store is gone
	}, NodeTimeout(6*time.Minute))

	// slowBackup begins a backup that takes long enough to be disturbed, and waits until data come.
	slowBackup := func(ctx context.Context, name string) (*harness.Cluster, *v1alpha1.GaleraBackup) {
		GinkgoHelper()
		shop := sharedCluster(ctx)
		b := newBackup(shop, name)
		b.Spec.RateLimit = new(resource.MustParse("3Mi"))
		Expect(kube.Create(ctx, b)).To(Succeed())
		eventually(ctx, func(o Gomega) {
			o.Expect(kube.Get(ctx, kubeclient.ObjectKeyFromObject(b), b)).To(Succeed())
			o.Expect(b.Status.Progress).NotTo(BeNil())
		})
		return shop, b
	}

	It("goes on with another attempt when its Job is killed", func(ctx SpecContext) {
		shop, b := slowBackup(ctx, "jobkilled")
		Expect(kube.DeleteAllOf(ctx, &corev1.Pod{}, kubeclient.InNamespace(shop.Namespace),
			kubeclient.MatchingLabels{v1alpha1.LabelBackup: b.Name},
			kubeclient.GracePeriodSeconds(0))).To(Succeed())
		waitBackup(ctx, b)
		Expect(b.Status.Attempts).To(BeNumerically(">", 1))
	}, SpecTimeout(6*time.Minute))

	It("takes another node when the one it reads from is killed", func(ctx SpecContext) {
		shop, b := slowBackup(ctx, "donorkilled")
		from := b.Status.Node
		start := time.Now()
		w := startWriter(ctx, shop, harness.WriterOptions{})
		Expect(shop.Servers().Kill(ctx, from)).To(Succeed())
		waitBackup(ctx, b)
		Expect(b.Status.Attempts).To(BeNumerically(">", 1))
		Expect(shop.WaitHealthy(ctx, recoverTime)).To(Succeed())
		stopAndCheck(ctx, w, start)
	}, SpecTimeout(6*time.Minute))

	It("is waited for when its node is to be the primary", func(ctx SpecContext) {
		shop, b := slowBackup(ctx, "promoted")
		node := b.Status.Node
		Expect(node).NotTo(Equal(status(ctx, shop).Primary))
		start := time.Now()
		w := startWriter(ctx, shop, harness.WriterOptions{})
		kubectlGalera(ctx, shop.Namespace, "promote", shop.Name, node, "--wait")
		waitBackup(ctx, b)
		Expect(b.Status.Attempts).To(BeEquivalentTo(1))
		Expect(b.Status.Node).To(Equal(status(ctx, shop).Primary))
		stopAndCheck(ctx, w, start)
	}, SpecTimeout(6*time.Minute))

	It("passes no row in clear text from the node to its Job, nor from there to the store", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		marker := "MARKER" + rand.Text()[:8]
		Expect(client(ctx, shop).Exec(ctx, shop.Name+"-primary",
			"CREATE OR REPLACE TABLE kept.marked (id INT PRIMARY KEY, v TEXT)",
			"INSERT INTO kept.marked SELECT seq, REPEAT('"+marker+" ', 40) FROM kept.seq_1_to_2000")).To(Succeed())
		workers, err := kube.Hosts().Workers(ctx)
		Expect(err).NotTo(HaveOccurred())
		ports := []uint16{agentapi.BackupPort, harness.StorePort}
		capture, err := harness.StartCapture(ctx, workers, ports, marker)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() { _, _ = capture.Stop() })
		_, b := slowBackup(ctx, "onthewire")
		waitBackup(ctx, b)
		counts, err := capture.Stop()
		Expect(err).NotTo(HaveOccurred())
		for _, port := range ports {
			progress("port %d: %d packets, %d bytes, %d markers", port, counts[port].Packets, counts[port].Bytes,
				counts[port].Markers)
			Expect(counts[port].Markers).To(BeZero(), "port %d", port)
			Expect(counts[port].Suites).NotTo(BeEmpty(), "port %d", port)
		}
		Expect(counts[agentapi.BackupPort].Bytes).To(BeNumerically(">", b.Status.DataSize.Value()),
			"all of the copy was seen")
		Expect(counts[harness.StorePort].Bytes).To(BeNumerically(">", b.Status.StoredSize.Value()),
			"all that was stored was seen")
	}, SpecTimeout(6*time.Minute))

	It("ends well though the operator is killed in the middle", func(ctx SpecContext) {
		_, b := slowBackup(ctx, "operatorkilled")
		Expect(kube.Operator().Kill(ctx)).To(Succeed())
		waitBackup(ctx, b)
		Expect(b.Status.Attempts).To(BeEquivalentTo(1), "the Job goes on")
	}, SpecTimeout(6*time.Minute))

	It("holds a rolling restart of its node back until it has ended", func(ctx SpecContext) {
		shop, b := slowBackup(ctx, "restart")
		setBufferPool(ctx, shop, "201326592")
		waitBackup(ctx, b)
		Expect(b.Status.Attempts).To(BeEquivalentTo(1))
		Expect(shop.WaitHealthy(ctx, recoverTime)).To(Succeed())
	}, SpecTimeout(8*time.Minute))

	It("describes what a store refuses", Label(Input), func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		s := &v1alpha1.GaleraBackupStore{}
		Expect(kube.Get(ctx, kubeclient.ObjectKey{Namespace: shop.Namespace, Name: "offsite"}, s)).To(Succeed())
		expectRefusals(ctx, s, map[string]refusal{
			"nobucket": {func(s *v1alpha1.GaleraBackupStoreSpec) { s.S3.Bucket = "no-such-bucket" }, v1alpha1.ReasonStoreRefused,
				"NoSuchBucket"},
			"wrongca": {func(s *v1alpha1.GaleraBackupStoreSpec) {
				s.S3.CABundle = &v1alpha1.CABundle{ConfigMapName: "kube-root-ca.crt"}
			},
				v1alpha1.ReasonStoreUnreachable, "certificate signed by unknown authority"},
			"nohost": {func(s *v1alpha1.GaleraBackupStoreSpec) { s.S3.Endpoint = "https://no-such-host.invalid" },
				v1alpha1.ReasonStoreUnreachable, "no such host"},
		})
	}, SpecTimeout(8*time.Minute))

	It("is made on schedule, and removed from the store by retention", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		s := &v1alpha1.GaleraBackupStore{}
		Expect(kube.Get(ctx, kubeclient.ObjectKey{Namespace: shop.Namespace, Name: "offsite"}, s)).To(Succeed())
		s.Spec.Retention = &v1alpha1.BackupRetention{KeepLast: 1}
		Expect(kube.Update(ctx, s)).To(Succeed())
		sched := &v1alpha1.GaleraBackupSchedule{ObjectMeta: metav1.ObjectMeta{Namespace: shop.Namespace, Name: "often"},
			Spec: v1alpha1.GaleraBackupScheduleSpec{
				Schedule: "* * * * *", Template: newBackup(shop, "").Spec}}
		sched.Spec.Template.DeletionPolicy = v1alpha1.BackupDelete
		Expect(kube.Create(ctx, sched)).To(Succeed())
		var first v1alpha1.GaleraBackup
		Expect(kube.Until(ctx, "two backups of the schedule", 5*time.Minute, func(ctx context.Context) (bool, string, error) {
			var all v1alpha1.GaleraBackupList
			if err := kube.List(ctx, &all, kubeclient.InNamespace(shop.Namespace),
				kubeclient.MatchingLabels{v1alpha1.LabelSchedule: "often"}); err != nil {
				return false, "", err
			}
			for _, b := range all.Items {
				if first.Name == "" && b.Status.Phase == v1alpha1.BackupCompleted {
					first = b
				}
			}
			return first.Name != "" && apierrors.IsNotFound(kube.Get(ctx, kubeclient.ObjectKeyFromObject(&first),
				&v1alpha1.GaleraBackup{})), first.Name, nil
		})).To(Succeed())
		keys, err := objects.Keys(ctx)
		Expect(err).NotTo(HaveOccurred())
		for _, key := range keys {
			Expect(key).NotTo(ContainSubstring(first.Status.ID), "it was to be removed from the store")
		}
		Expect(kube.Delete(ctx, sched)).To(Succeed())
	}, SpecTimeout(8*time.Minute))

	It("is kept on a volume, and comes back from it", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: shop.Namespace, Name: "backups"},
			Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				Resources: corev1.VolumeResourceRequirements{
					Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}}}}
		Expect(kube.Create(ctx, claim)).To(Succeed())
		store := &v1alpha1.GaleraBackupStore{ObjectMeta: metav1.ObjectMeta{Namespace: shop.Namespace, Name: "disk"},
			Spec: v1alpha1.GaleraBackupStoreSpec{
				Volume:     &v1alpha1.VolumeStore{ClaimName: claim.Name},
				Encryption: v1alpha1.BackupEncryption{Recipients: []string{identity.Recipient().String()}}}}
		Expect(kube.Create(ctx, store)).To(Succeed())
		b := newBackup(shop, "ondisk")
		b.Spec.StoreRef.Name, b.Spec.Verify = "disk", v1alpha1.VerifyChecksum
		Expect(kube.Create(ctx, b)).To(Succeed())
		waitBackup(ctx, b)
		waitVerified(ctx, b, v1alpha1.ReasonVerified, "of it was read")
		c := sampleCluster(shop.Namespace)
		c.Name = "fromdisk"
		c.Spec.BootstrapFrom = &v1alpha1.BootstrapFrom{IdentitySecretRef: v1alpha1.SecretKey{Name: "identity"},
			Backup: &v1alpha1.LocalName{Name: b.Name}}
		back := create(ctx, c)
		Expect(back.WaitReady(ctx, firstReady+backupTime)).To(Succeed())
		for _, pod := range podNames(ctx, back) {
			Expect(tableSum(ctx, back, pod, "kept.t")).To(HavePrefix("20000 rows"), pod)
		}
		Expect(back.Delete(ctx)).To(Succeed())
	}, SpecTimeout(10*time.Minute))

	It("that was altered in the store does not become a database", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		b := newBackup(shop, "altered")
		Expect(kube.Create(ctx, b)).To(Succeed())
		waitBackup(ctx, b)
		dir := b.Status.Directory + "/" + b.Status.ID + "/"
		text, err := objects.Read(ctx, dir+manifest.Name)
		Expect(err).NotTo(HaveOccurred())
		m, err := manifest.Parse(text)
		Expect(err).NotTo(HaveOccurred())
		key := dir + m.Part(0)
		data, err := objects.Read(ctx, key)
		Expect(err).NotTo(HaveOccurred())
		bad := bytes.Clone(data)
		bad[len(bad)-1000] ^= 1
		Expect(objects.Write(ctx, key, bad)).To(Succeed())
		b.Spec.Verify = v1alpha1.VerifyChecksum
		Expect(kube.Update(ctx, b)).To(Succeed())
		waitVerified(ctx, b, v1alpha1.ReasonBackupDamaged, "part-000000 is not what was stored")
		ns := newNamespace(ctx, "altered")
		makeStore(ctx, objects, ns, identity)
		c := sampleCluster(ns)
		c.Spec.BootstrapFrom = &v1alpha1.BootstrapFrom{IdentitySecretRef: v1alpha1.SecretKey{Name: "identity"},
			Store: &v1alpha1.BootstrapStore{Name: "offsite", Namespace: shop.Namespace, Cluster: shop.Name, ID: b.Status.ID}}
		restored := create(ctx, c)
		expectStalled(ctx, restored, v1alpha1.ReasonBackupDamaged, "part-000000 is not what was stored")
		pods, err := restored.Pods().List(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(pods).To(BeEmpty())
		// Once the store is as it was, a change of the spec begins anew.
		Expect(objects.Write(ctx, key, data)).To(Succeed())
		change(ctx, restored, func(s *v1alpha1.GaleraClusterSpec) {
			s.MariaDB.Config = withSetting(s.MariaDB.Config, "max_connections", "99")
		})
		Expect(restored.WaitReady(ctx, firstReady+backupTime)).To(Succeed())
	}, SpecTimeout(12*time.Minute))

	It("is restored and tested though the container that reads the store is killed", func(ctx SpecContext) {
		b := newBackup(sharedCluster(ctx), "killedfetch")
		Expect(kube.Create(ctx, b)).To(Succeed())
		waitBackup(ctx, b)
		b.Spec.Verify, b.Spec.IdentitySecretRef = v1alpha1.VerifyRestore, &v1alpha1.SecretKey{Name: "identity"}
		Expect(kube.Update(ctx, b)).To(Succeed())
		eventually(ctx, func(o Gomega) {
			var pods corev1.PodList
			o.Expect(kube.List(ctx, &pods, kubeclient.InNamespace(b.Namespace),
				kubeclient.MatchingLabels{v1alpha1.LabelBackup: b.Name, "app.kubernetes.io/component": "verify"})).To(Succeed())
			killed := false
			for i := range pods.Items {
				is, err := harness.KillFetch(&pods.Items[i])
				o.Expect(err).NotTo(HaveOccurred())
				killed = killed || is
			}
			o.Expect(killed).To(BeTrue())
		})
		waitVerified(ctx, b, v1alpha1.ReasonVerified, "tables were checked and are good")
		progress("the test was attempted %d times", b.Status.Verification.Attempts)
	}, SpecTimeout(8*time.Minute))

	It("comes back though its restore is killed again and again", func(ctx SpecContext) {
		shop := sharedCluster(ctx)
		b := newBackup(shop, "killedrestore")
		Expect(kube.Create(ctx, b)).To(Succeed())
		waitBackup(ctx, b)
		c := sampleCluster(shop.Namespace)
		c.Name = "again"
		c.Spec.BootstrapFrom = &v1alpha1.BootstrapFrom{IdentitySecretRef: v1alpha1.SecretKey{Name: "identity"},
			Backup: &v1alpha1.LocalName{Name: b.Name}}
		again := create(ctx, c)
		for range 3 {
			eventually(ctx, func(o Gomega) {
				var pods corev1.PodList
				o.Expect(kube.List(ctx, &pods, kubeclient.InNamespace(again.Namespace),
					kubeclient.MatchingLabels{v1alpha1.LabelCluster: "again", "app.kubernetes.io/component": "restore"},
					kubeclient.HasLabels{v1alpha1.LabelMember, batchv1.JobNameLabel})).To(Succeed())
				running := 0
				for i := range pods.Items {
					if p := &pods.Items[i]; p.Status.Phase == corev1.PodRunning || p.Status.Phase == corev1.PodPending {
						running++
						o.Expect(kube.Delete(ctx, p, kubeclient.GracePeriodSeconds(0))).To(Succeed())
					}
				}
				o.Expect(running).To(BeNumerically(">", 0))
			})
			eventually(ctx, func(o Gomega) { o.Expect(kube.Operator().Kill(ctx)).To(Succeed()) }) // once it is back
		}
		Expect(again.WaitReady(ctx, firstReady+2*backupTime)).To(Succeed())
		for _, pod := range podNames(ctx, again) {
			Expect(tableSum(ctx, again, pod, "kept.t")).To(HavePrefix("20000 rows"), pod)
		}
		Expect(again.Delete(ctx)).To(Succeed())
	}, SpecTimeout(15*time.Minute))
})

// refusal is what a store that was changed is refused for.
type refusal struct {
	change       func(*v1alpha1.GaleraBackupStoreSpec)
	reason, says string
}

// expectRefusals makes stores like one that can be used, and waits for what they are refused for.
func expectRefusals(ctx context.Context, like *v1alpha1.GaleraBackupStore, all map[string]refusal) {
	GinkgoHelper()
	for name, c := range all {
		other := &v1alpha1.GaleraBackupStore{ObjectMeta: metav1.ObjectMeta{Namespace: like.Namespace, Name: name},
			Spec: *like.Spec.DeepCopy()}
		c.change(&other.Spec)
		Expect(kube.Create(ctx, other)).To(Succeed())
		Expect(kube.Until(ctx, "the store "+name+" is refused", backupTime, func(ctx context.Context) (bool, string, error) {
			err := kube.Get(ctx, kubeclient.ObjectKeyFromObject(other), other)
			r := meta.FindStatusCondition(other.Status.Conditions, v1alpha1.ConditionReachable)
			if err != nil || r == nil {
				return false, "", err
			}
			return r.Reason == c.reason && strings.Contains(r.Message, c.says), r.Reason + ": " + r.Message, nil
		})).To(Succeed())
		progress("%s: %s", name, meta.FindStatusCondition(other.Status.Conditions, v1alpha1.ConditionReachable).Message)
		Expect(kube.Delete(ctx, other)).To(Succeed())
	}
}

func newBackup(c *harness.Cluster, name string) *v1alpha1.GaleraBackup {
	return &v1alpha1.GaleraBackup{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: name},
		Spec: v1alpha1.GaleraBackupSpec{ClusterRef: v1alpha1.BackupClusterRef{Name: c.Name},
			StoreRef: v1alpha1.LocalName{Name: "offsite"}}}
}
