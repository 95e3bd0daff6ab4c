package e2e

import (
	"bytes"
	"compress/gzip"
	"context"
	"strings"
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

var _ = Describe("A backup of another server", Ordered, Label(Slow, Faults), func() {
	var ns string
	var old *harness.ForeignServer
	var objects *harness.ObjectStore
	var c *harness.Cluster
	app := &application{}
	const path, rows = "old/full.xb.gz", "SELECT CONCAT(COUNT(*), ' ', BIT_XOR(CRC32(CONCAT(id, v)))) FROM shop.t"

	BeforeAll(func(ctx SpecContext) {
		ns = newNamespace(ctx, "adopted")
		var err error
		objects, err = harness.StartObjectStore(ctx, kube, newNamespace(ctx, "s3"))
		Expect(err).NotTo(HaveOccurred())
		identity, err := age.GenerateX25519Identity()
		Expect(err).NotTo(HaveOccurred())
		makeStore(ctx, objects, ns, identity)
		old = followingSource(ctx, ns)
		app.writeTo(old)
		stream, err := old.BackUp(ctx)
		Expect(err).NotTo(HaveOccurred())
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		_, err = z.Write(stream)
		Expect(err).NotTo(HaveOccurred())
		Expect(z.Close()).To(Succeed())
		Expect(objects.Write(ctx, path, packed.Bytes())).To(Succeed())
		progress("a backup of %d bytes, as %d by gzip", len(stream), packed.Len())
	}, NodeTimeout(6*time.Minute))

	It("is refused by an image of another series, and the cluster is not started", Label(Input), func(ctx SpecContext) {
		wanted := sampleCluster(ns)
		wanted.Spec.BootstrapFrom = &v1alpha1.BootstrapFrom{External: &v1alpha1.BootstrapExternal{
			Method: v1alpha1.MethodBackup, Host: old.Host, Insecure: true, Follow: true,
			CredentialsSecretRef: v1alpha1.LocalName{Name: "old"},
			Backup:               &v1alpha1.ExternalBackup{StoreRef: v1alpha1.LocalName{Name: "offsite"}, Path: path}}}
		c = create(ctx, wanted)
		expectStalled(ctx, c, v1alpha1.ReasonVersionRefused, "the backup is of MariaDB 10.11", "set spec.image")
		var claims corev1.PersistentVolumeClaimList
		Expect(kube.List(ctx, &claims, kubeclient.InNamespace(ns))).To(Succeed())
		Expect(claims.Items).To(HaveLen(1), "only the first node's volume is filled")
	}, SpecTimeout(5*time.Minute))

	It("fills the first volume, though its Job is killed, and the cluster goes on with what the server writes",
		func(ctx SpecContext) {
			have, err := c.Get(ctx)
			Expect(err).NotTo(HaveOccurred())
			patched := have.DeepCopy()
			patched.Spec.Image = harness.OldImage
			Expect(kube.Patch(ctx, patched, kubeclient.MergeFrom(have))).To(Succeed())
			var pod corev1.Pod
			Expect(kube.Until(ctx, "a Job at work", 4*time.Minute, func(ctx context.Context) (bool, string, error) {
				var pods corev1.PodList
				err := kube.List(ctx, &pods, kubeclient.InNamespace(ns), kubeclient.HasLabels{v1alpha1.LabelMember})
				for _, p := range pods.Items {
					if strings.Contains(p.Name, "-restore-") && p.Status.Phase == corev1.PodRunning {
						pod = p
						return true, "", nil
					}
				}
				return false, "", err
			})).To(Succeed())
			Expect(kube.Delete(ctx, &pod, kubeclient.GracePeriodSeconds(0))).To(Succeed())
			Expect(c.WaitReady(ctx, 8*time.Minute)).To(Succeed())
			Expect(c.WaitCondition(ctx, v1alpha1.ConditionFollowing, metav1.ConditionTrue, v1alpha1.ReasonFollowing,
				2*time.Minute)).To(Succeed())
			have, err = c.Get(ctx)
			Expect(err).NotTo(HaveOccurred())
			s := have.Status.Restore
			progress("%s", s.Message)
			Expect(s.Phase).To(Equal(v1alpha1.RestoreCompleted))
			Expect(s.External.GTID).To(HavePrefix("3-7-"))
			Expect(s.External.Version).To(HavePrefix("10.11"))
			Expect(s.Position).To(HavePrefix(have.Status.ClusterUUID + ":"))
		}, SpecTimeout(14*time.Minute))

	It("is read by Jobs only, and counts as no backup of the cluster", func(ctx SpecContext) {
		var pods corev1.PodList
		Expect(kube.List(ctx, &pods, kubeclient.InNamespace(ns))).To(Succeed())
		for _, p := range pods.Items {
			if !strings.HasPrefix(p.Name, c.Name+"-") || p.Labels["batch.kubernetes.io/job-name"] != "" {
				continue
			}
			for _, v := range p.Spec.Volumes {
				Expect(v.Secret != nil && v.Secret.SecretName == "s3").To(BeFalse(), "%s mounts the store's credentials", p.Name)
			}
		}
		var backups v1alpha1.GaleraBackupList
		Expect(kube.List(ctx, &backups, kubeclient.InNamespace(ns))).To(Succeed())
		Expect(backups.Items).To(BeEmpty())
		store := &v1alpha1.GaleraBackupStore{}
		Expect(kube.Get(ctx, kubeclient.ObjectKey{Namespace: ns, Name: "offsite"}, store)).To(Succeed())
		Expect(store.Status.Backups).To(HaveValue(BeZero()))
		keys, err := objects.Keys(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(keys).To(ConsistOf(path))
	}, SpecTimeout(2*time.Minute))

	It("has every row of the server on every node after the cutover", func(ctx SpecContext) {
		cl := client(ctx, c)
		app.writeAlsoTo(ctx, c)
		progress("%s", kubectlGalera(ctx, ns, "cutover", c.Name))
		Expect(kube.Until(ctx, "the application with the cluster", time.Minute,
			func(context.Context) (bool, string, error) { return app.moved() >= 20, "", nil })).To(Succeed())
		app.stop()
		var want string
		Expect(old.DB.QueryRowContext(ctx, rows).Scan(&want)).To(Succeed())
		var last string
		Expect(old.DB.QueryRowContext(ctx, "SELECT MAX(id) FROM shop.t").Scan(&last)).To(Succeed())
		for _, pod := range podNames(ctx, c) {
			Expect(cl.QueryPod(ctx, pod, rows+" WHERE id <= "+last)).To(Equal(want))
		}
	}, SpecTimeout(5*time.Minute))
})
