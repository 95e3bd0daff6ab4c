package e2e

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/test/harness"
)

// noProviderImage is an image that looks like a database image and has no Galera provider.
const noProviderImage = "galera-test-no-provider:3"

// Clusters of one node, all made at the beginning: each waits for its own correction.
var _ = Describe("Input that cannot work", Label(Core, Input), Ordered, ContinueOnFailure, func() {
	var ns string
	clusters := map[string]*harness.Cluster{}

	BeforeAll(func(ctx SpecContext) {
		image, err := kube.Operator().DefaultImage(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(harness.LoadVariant(ctx, noProviderImage, image, "USER root",
			"RUN find / -xdev -name 'libgalera*.so*' -delete")).To(Succeed())
		ns = newNamespace(ctx, "input")
		Expect(kube.Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "secret-root"}, StringData: map[string]string{"passwort": "x"},
		})).To(Succeed())
		for name, options := range map[string][]harness.Option{
			"issuer":     {harness.Issuer("late")},
			"image":      {harness.Image(noProviderImage)},
			"class":      {harness.StorageClass(lateClass(ns))},
			"secret":     nil,
			"scheduling": {nowhere},
		} {
			clusters[name] = create(ctx, harness.Build(ns, name, append(options, harness.Replicas(1))...))
		}
	}, NodeTimeout(5*time.Minute))

	It("an issuer that does not exist: says so, and goes on once it exists", func(ctx SpecContext) {
		c := clusters["issuer"]
		expectStalled(ctx, c, v1alpha1.ReasonIssuerNotFound, "late")
		Expect(createIssuer(ctx, ns, "late")).To(Succeed())
		Expect(c.WaitReady(ctx, firstReady)).To(Succeed())
		expectLogin(ctx, c, "issuer-0")
		By("warning that a shared issuer admits every certificate it has signed")
		eventually(ctx, func(o Gomega) {
			cond, err := c.Condition(ctx, v1alpha1.ConditionCertificatesValid)
			o.Expect(err).NotTo(HaveOccurred())
			o.Expect(cond).NotTo(BeNil())
			o.Expect(cond.Message).To(ContainSubstring("the holder of any certificate of this issuer"))
		})
	}, SpecTimeout(6*time.Minute))

	It("an image without the Galera provider: says so, and goes on with another image", func(ctx SpecContext) {
		c := clusters["image"]
		expectStalled(ctx, c, v1alpha1.ReasonImageUnusable)
		change(ctx, c, func(s *v1alpha1.GaleraClusterSpec) { s.Image = "" })
		Expect(c.WaitReady(ctx, firstReady)).To(Succeed())
	}, SpecTimeout(6*time.Minute))

	It("a storage class that does not exist: says so, and goes on once it exists", func(ctx SpecContext) {
		c := clusters["class"]
		expectStalled(ctx, c, v1alpha1.ReasonStorageClassMissing, lateClass(ns))
		Expect(copyDefaultClass(ctx, lateClass(ns))).To(Succeed())
		DeferCleanup(func(ctx SpecContext) {
			Expect(kube.Delete(ctx, &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: lateClass(ns)}})).To(Succeed())
		})
		Expect(c.WaitReady(ctx, firstReady)).To(Succeed())
	}, SpecTimeout(6*time.Minute))

	It("a root Secret without a password: says so, and goes on once it has one", func(ctx SpecContext) {
		c := clusters["secret"]
		expectStalled(ctx, c, v1alpha1.ReasonSecretWrongKind, "secret-root", "password")
		changeRootPassword(ctx, ns, "secret", "a password of the user's own")
		Expect(c.WaitReady(ctx, firstReady)).To(Succeed())
		expectLogin(ctx, c, "secret-0")
		By("hurrying kubelet to another password, too")
		secret := changeRootPassword(ctx, ns, "secret", "another password of the user's own")
		Eventually(func() (string, error) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "secret-0"}}
			err := kube.Get(ctx, keyOf(pod), pod)
			return pod.Annotations[v1alpha1.AnnotationSync], err
		}).WithContext(ctx).WithTimeout(shortly).Should(HaveSuffix("-" + secret.ResourceVersion))
		expectLogin(ctx, c, "secret-0")
	}, SpecTimeout(6*time.Minute))

	It("hosts that do not exist: says so, and goes on once corrected", func(ctx SpecContext) {
		c := clusters["scheduling"]
		expectStalled(ctx, c, v1alpha1.ReasonUnschedulable, "scheduling-0")
		change(ctx, c, func(s *v1alpha1.GaleraClusterSpec) { s.Scheduling.NodeSelector = nil })
		Expect(c.WaitReady(ctx, firstReady)).To(Succeed())
	}, SpecTimeout(6*time.Minute))

	It("an even number of nodes: is refused with the reason", func(ctx SpecContext) {
		err := kube.Create(ctx, harness.Build(ns, "two", harness.Replicas(2)))
		Expect(err).To(MatchError(ContainSubstring("replicas must be 1, 3, 5 or 7: with an even number")))
	}, SpecTimeout(time.Minute))
})

// changeRootPassword writes the Secret of root's password, which it returns.
func changeRootPassword(ctx context.Context, ns, cluster, password string) *corev1.Secret {
	GinkgoHelper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: cluster + "-root"}}
	Eventually(func() error {
		if err := kube.Get(ctx, keyOf(secret), secret); err != nil {
			return err
		}
		if secret.Data == nil {
			secret.Data = map[string][]byte{}
		}
		secret.Data["password"] = []byte(password)
		return kube.Update(ctx, secret)
	}).WithContext(ctx).WithTimeout(shortly).Should(Succeed())
	return secret
}

func nowhere(s *v1alpha1.GaleraClusterSpec) {
	s.Scheduling.NodeSelector = map[string]string{"galera-operator.io/no-such-host": "true"}
}

func lateClass(ns string) string { return "late-" + ns }

// copyDefaultClass makes a StorageClass like the default one.
func copyDefaultClass(ctx context.Context, name string) error {
	var list storagev1.StorageClassList
	if err := kube.List(ctx, &list); err != nil {
		return err
	}
	for _, have := range list.Items {
		if have.Annotations["storageclass.kubernetes.io/is-default-class"] != "true" {
			continue
		}
		have.ObjectMeta = metav1.ObjectMeta{Name: name}
		return kube.Create(ctx, &have)
	}
	return harness.ErrRequirement
}

// expectStalled waits until a person is asked to act, in words that contain all of texts; and
// checks that Ready says the same.
func expectStalled(ctx context.Context, c *harness.Cluster, reason string, texts ...string) {
	GinkgoHelper()
	Expect(c.WaitCondition(ctx, v1alpha1.ConditionStalled, metav1.ConditionTrue, reason, 2*time.Minute)).To(Succeed())
	eventually(ctx, func(o Gomega) { // an observation that failed meanwhile may be reported first
		have, err := c.Get(ctx)
		o.Expect(err).NotTo(HaveOccurred())
		stalled := meta.FindStatusCondition(have.Status.Conditions, v1alpha1.ConditionStalled)
		o.Expect(stalled).NotTo(BeNil())
		for _, t := range texts {
			o.Expect(stalled.Message).To(ContainSubstring(t))
		}
		ready := meta.FindStatusCondition(have.Status.Conditions, v1alpha1.ConditionReady)
		o.Expect(ready).NotTo(BeNil())
		o.Expect(ready.Status).To(Equal(metav1.ConditionFalse), ready.Message)
		o.Expect(ready.Reason).To(Equal(reason), ready.Message)
	})
}

// expectLogin sees that root comes in with its password.
func expectLogin(ctx context.Context, c *harness.Cluster, pod string) {
	GinkgoHelper()
	cl := client(ctx, c)
	Eventually(func() (string, error) { return cl.QueryPod(ctx, pod, "SELECT 1") }).WithContext(ctx).WithTimeout(shortly).
		Should(Equal("1"))
}
