package e2e

import (
	"context"
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
	"github.com/galera-operator/galera-operator/test/harness"
)

var _ = Describe("A clone", Ordered, Label(Slow, Faults), func() {
	var objects *harness.ObjectStore
	var identity *age.X25519Identity
	var shop *harness.Cluster
	var dev string
	var want string

	BeforeAll(func(ctx SpecContext) {
		var err error
		enforce(ctx) // the Job of another namespace has to get through
		identity, err = age.GenerateX25519Identity()
		Expect(err).NotTo(HaveOccurred())
		objects, err = harness.StartObjectStore(ctx, kube, newNamespace(ctx, "s3"))
		Expect(err).NotTo(HaveOccurred())
		dev = newNamespace(ctx, "dev")
		makeStore(ctx, objects, dev, identity)
		shop = create(ctx, sampleCluster(newNamespace(ctx, "prod")))
		Expect(shop.WaitReady(ctx, firstReady)).To(Succeed())
		Expect(client(ctx, shop).Exec(ctx, shop.Name+"-primary", "CREATE DATABASE kept",
			"CREATE TABLE kept.t (id INT PRIMARY KEY, v CHAR(64))",
			"INSERT INTO kept.t SELECT seq, SHA1(seq) FROM kept.seq_1_to_20000")).To(Succeed())
		want = tableSum(ctx, shop, shop.Name+"-0", "kept.t")
	}, NodeTimeout(9*time.Minute))

	// cloneOf is a new cluster in dev that begins as a clone of the shop.
	cloneOf := func(name string, nodes int32, rate string) *v1alpha1.GaleraCluster {
		c := sampleCluster(dev)
		c.Name, c.Spec.Replicas = name, nodes
		c.Spec.BootstrapFrom = &v1alpha1.BootstrapFrom{IdentitySecretRef: v1alpha1.SecretKey{Name: "identity"},
			Cluster: &v1alpha1.BootstrapCluster{Name: shop.Name, Namespace: shop.Namespace,
				StoreRef: v1alpha1.LocalName{Name: "offsite"}}}
		if rate != "" {
			c.Spec.BootstrapFrom.Cluster.RateLimit = new(resource.MustParse(rate))
		}
		return c
	}
	// inProgress waits until data of the source come.
	inProgress := func(ctx context.Context, c *harness.Cluster) {
		GinkgoHelper()
		Expect(kube.Until(ctx, "a copy in progress", backupTime, func(ctx context.Context) (bool, string, error) {
			b, err := temporary(ctx, c)
			if b == nil || err != nil {
				return false, "", err
			}
			return b.Status.Phase == v1alpha1.BackupRunning && b.Status.Progress != nil, b.Status.Phase, nil
		})).To(Succeed())
	}
	// ready reports whether the source has been Ready since.
	ready := func(ctx context.Context, since time.Time) {
		GinkgoHelper()
		is, err := shop.Condition(ctx, v1alpha1.ConditionReady)
		Expect(err).NotTo(HaveOccurred())
		Expect(is.Status).To(Equal(metav1.ConditionTrue), is.Message)
		Expect(is.LastTransitionTime.Time).To(BeTemporally("<", since), "the source was not Ready for a while")
	}

	It("in another namespace is refused without consent, by whatever way it is asked for", Label(Input),
		func(ctx SpecContext) {
			c := create(ctx, cloneOf("copy", 3, "5Mi"))
			expectStalled(ctx, c, v1alpha1.ReasonNamespaceNotAllowed, "its owner must add", dev)
			shown := kubectlGalera(ctx, dev, "status", "copy")
			Expect(shown).To(ContainSubstring("NamespaceNotAllowed"))
			progress("%s", shown)
			forged := &v1alpha1.GaleraBackup{ObjectMeta: metav1.ObjectMeta{Namespace: dev, Name: "forged"},
				Spec: v1alpha1.GaleraBackupSpec{ClusterRef: v1alpha1.BackupClusterRef{Name: shop.Name, Namespace: shop.Namespace},
					StoreRef: v1alpha1.LocalName{Name: "offsite"}}}
			Expect(kube.Create(ctx, forged)).To(Succeed())
			eventually(ctx, func(o Gomega) {
				o.Expect(kube.Get(ctx, kubeclient.ObjectKeyFromObject(forged), forged)).To(Succeed())
				s := meta.FindStatusCondition(forged.Status.Conditions, v1alpha1.ConditionStalled)
				o.Expect(s).NotTo(BeNil())
				o.Expect(s.Reason).To(Equal(v1alpha1.ReasonNamespaceNotAllowed))
			})
			Expect(kube.Delete(ctx, forged)).To(Succeed())
			nothingLeft(ctx, objects, c)
			for _, o := range []kubeclient.ObjectList{&corev1.PodList{}, &corev1.PersistentVolumeClaimList{}} {
				Expect(kube.List(ctx, o, kubeclient.InNamespace(dev), kubeclient.MatchingLabels{v1alpha1.LabelCluster: "copy"})).
					To(Succeed())
				Expect(meta.LenList(o)).To(BeZero(), "it must not come up empty")
			}
		}, SpecTimeout(5*time.Minute))

	It("goes on by itself with consent, under a writer, though the operator is killed, and is the source row by row",
		func(ctx SpecContext) {
			start := time.Now()
			w := startWriter(ctx, shop, harness.WriterOptions{Payload: "row of the shop"})
			before := w.Snapshot()
			change(ctx, shop, func(s *v1alpha1.GaleraClusterSpec) { s.AllowedCloneNamespaces = []string{dev} })
			c := kube.Cluster(dev, "copy")
			inProgress(ctx, c)
			Expect(kube.Operator().Kill(ctx)).To(Succeed())
			Expect(kube.Until(ctx, "the volumes are being filled", backupTime, func(ctx context.Context) (bool, string, error) {
				r := status(ctx, c).Restore
				return r != nil && r.Phase != v1alpha1.RestoreFinding, r.Message, nil
			})).To(Succeed())
			Expect(kube.Operator().Kill(ctx)).To(Succeed())
			Expect(c.WaitReady(ctx, firstReady+2*backupTime)).To(Succeed())
			stopAndCheck(ctx, w, start)
			ready(ctx, start)
			rows, err := w.CheckCopy(ctx, c, before)
			Expect(err).NotTo(HaveOccurred())
			s := status(ctx, c)
			progress("Ready after %s with %d rows of %d; %s", time.Since(start).Round(100*time.Millisecond), rows,
				w.Acknowledged(), s.Restore.Message)
			for _, pod := range podNames(ctx, c) {
				Expect(tableSum(ctx, c, pod, "kept.t")).To(Equal(want), pod)
			}
			Expect(s.Restore.Source).To(HavePrefix(status(ctx, shop).ClusterUUID + ":"))
			Expect(s.ClusterUUID).To(Equal(s.Restore.History), "a history of its own")
			joins, err := c.Joins().Since(ctx, start)
			Expect(err).NotTo(HaveOccurred())
			Expect(joins).NotTo(ContainElement("SST"))
			nothingLeft(ctx, objects, c)
			By("writing to both, which have nothing in common any more")
			Expect(client(ctx, c).Exec(ctx, c.Name+"-primary", "DELETE FROM kept.t WHERE id % 2 = 0")).To(Succeed())
			Expect(tableSum(ctx, shop, shop.Name+"-0", "kept.t")).To(Equal(want))
			Expect(c.Delete(ctx)).To(Succeed())
		}, SpecTimeout(12*time.Minute))

	It("that is deleted in the middle leaves nothing, nor one whose source withdraws its consent", func(ctx SpecContext) {
		start := time.Now()
		c := create(ctx, cloneOf("halfway", 1, "1Mi"))
		inProgress(ctx, c)
		Expect(c.Delete(ctx)).To(Succeed())
		nothingLeft(ctx, objects, c)
		c = create(ctx, cloneOf("withdrawn", 1, "1Mi"))
		inProgress(ctx, c)
		change(ctx, shop, func(s *v1alpha1.GaleraClusterSpec) { s.AllowedCloneNamespaces = nil })
		expectStalled(ctx, c, v1alpha1.ReasonNamespaceNotAllowed, "its owner must add")
		nothingLeft(ctx, objects, c)
		change(ctx, shop, func(s *v1alpha1.GaleraClusterSpec) { s.AllowedCloneNamespaces = []string{dev} })
		inProgress(ctx, c)
		Expect(c.Delete(ctx)).To(Succeed())
		nothingLeft(ctx, objects, c)
		Expect(shop.WaitHealthy(ctx, recoverTime)).To(Succeed())
		ready(ctx, start)
	}, SpecTimeout(9*time.Minute))

	It("in its own namespace needs no consent, and encrypts what its source does not", func(ctx SpecContext) {
		plain := sample(dev, "galera-plaintext.yaml")
		plain.Spec.Replicas = 1
		source := create(ctx, plain)
		Expect(source.WaitReady(ctx, firstReady)).To(Succeed())
		Expect(client(ctx, source).Exec(ctx, source.Name+"-primary", "CREATE DATABASE kept",
			"CREATE TABLE kept.t (id INT PRIMARY KEY, v CHAR(64))",
			"INSERT INTO kept.t SELECT seq, SHA1(seq) FROM kept.seq_1_to_500")).To(Succeed())
		asked := cloneOf("own", 1, "")
		asked.Spec.BootstrapFrom.Cluster.Name, asked.Spec.BootstrapFrom.Cluster.Namespace = source.Name, ""
		c := create(ctx, asked)
		Expect(c.WaitReady(ctx, firstReady+backupTime)).To(Succeed())
		Expect(tableSum(ctx, c, c.Name+"-0", "kept.t")).To(Equal(tableSum(ctx, source, source.Name+"-0", "kept.t")))
		nothingLeft(ctx, objects, c)
	}, SpecTimeout(9*time.Minute))
})

// temporary is the backup that a clone begins with, nil for none.
func temporary(ctx context.Context, c *harness.Cluster) (*v1alpha1.GaleraBackup, error) {
	b := &v1alpha1.GaleraBackup{}
	err := kube.Get(ctx, kubeclient.ObjectKey{Namespace: c.Namespace, Name: c.Name + "-clone"}, b)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return b, err
}

// nothingLeft waits until neither the temporary backup of a clone, nor its Jobs, its key and its data in the store are
// there.
func nothingLeft(ctx context.Context, objects *harness.ObjectStore, c *harness.Cluster) {
	GinkgoHelper()
	Expect(kube.Until(ctx, "nothing is left of the copy", backupTime, func(ctx context.Context) (bool, string, error) {
		b, err := temporary(ctx, c)
		if err != nil || b != nil {
			return false, "the GaleraBackup is there", err
		}
		mine := kubeclient.MatchingLabels{v1alpha1.LabelBackup: c.Name + "-clone"}
		for _, l := range []kubeclient.ObjectList{&batchv1.JobList{}, &corev1.PodList{}, &corev1.SecretList{}} {
			if err := kube.List(ctx, l, kubeclient.InNamespace(c.Namespace), mine); err != nil || meta.LenList(l) > 0 {
				return false, "its Jobs or its key are there", err
			}
		}
		keys, err := objects.Keys(ctx)
		return len(keys) == 0, "in the store: " + firstOf(keys), err
	})).To(Succeed())
}

func firstOf(keys []string) string {
	if len(keys) == 0 {
		return ""
	}
	return keys[0]
}
