package api

import (
	"slices"
	"testing"
	"time"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/pki"
	"github.com/galera-operator/galera-operator/internal/pki/pkitest"
)

var pods = []string{"shop-0", "shop-1", "shop-2"}

// published is the Secret the pods mount, in short.
func (w *world) published() (leaf string, cas []string, id string) {
	s := &corev1.Secret{}
	if w.get(s, "shop-tls") != nil {
		return "", nil, ""
	}
	return pki.Fingerprints(s.Data["tls.crt"])[0], pki.Fingerprints(s.Data["ca.crt"]), observe.Publication(s)
}

// load makes a member take over what is published, and its server load it.
func (w *world) load(pod string) {
	w.t.Helper()
	s := &corev1.Secret{}
	must(w.t, w.get(s, "shop-tls"))
	leaf := pki.Parse(s.Data["tls.crt"])[0]
	w.agents.change(pod, func(r *agentapi.Report) {
		r.TLS.Installed, r.TLS.Loaded = observe.Publication(s), observe.Publication(s)
		r.TLS.PublishedCAs = pki.Fingerprints(s.Data["ca.crt"])
		r.TLS.TrustedCAs = append(slices.Clone(r.TLS.TrustedCAs), r.TLS.PublishedCAs...)
		proved(r, pki.Pair{Leaf: leaf}.Serial(), pods...)
	})
}

func (w *world) step() string {
	if tls := w.status().TLS; tls != nil {
		return tls.Step
	}
	return ""
}

func print1(pem []byte) string { return pki.Fingerprints(pem)[0] }

func TestCAReplacement(t *testing.T) {
	t.Parallel()
	s := spec()
	s.TLS.DropOldCA = v1alpha1.DropManual
	s.TLS.ClientTrustDelay = &metav1.Duration{Duration: 30 * time.Minute} // the leaf lasts an hour, and bounds it
	w := newWorld(t, "new-ca", s)
	w.bringUp()
	for _, p := range pods {
		w.load(p)
	}
	w.Eventually(w.condition("CertificatesValid")).Should(HavePrefix("True"))
	oldLeaf, oldCAs, _ := w.published()
	next := pkitest.NewCA("private") // the same subject
	both := []string{oldCAs[0], print1(next.PEM)}

	issue(t, w.cluster, next)
	w.Eventually(func() []string { _, cas, _ := w.published(); return cas }).Should(Equal(both))
	w.Eventually(w.step).Should(Equal("DistributingTrust"))
	w.Expect(w.condition("CertificatesValid")()).To(Equal("False OldCATrusted"))
	w.load("shop-0")
	w.load("shop-1")
	w.Consistently(func() string { leaf, _, _ := w.published(); return leaf }, time.Second).Should(Equal(oldLeaf),
		"shop-2 does not trust it yet")
	w.load("shop-2")
	w.Eventually(func() string { return w.message("CertificatesValid") }).Should(ContainSubstring("; clients have until "))
	w.Expect(w.status().TLS.NewCAServedAfter.Time).To(BeTemporally(">", time.Now().Add(20*time.Minute)))
	trust := &corev1.ConfigMap{}
	must(t, w.get(trust, "shop-ca"))
	w.Expect(pki.Fingerprints([]byte(trust.Data["ca.crt"]))).To(Equal(both), "clients can read it meanwhile")
	w.Consistently(func() string { leaf, _, _ := w.published(); return leaf }, time.Second).Should(Equal(oldLeaf),
		"clients have their time")
	w.edit(func(c *v1alpha1.GaleraCluster) { c.Spec.TLS.ClientTrustDelay.Duration = 0 })

	w.Eventually(func() string { leaf, _, _ := w.published(); return leaf }).ShouldNot(Equal(oldLeaf))
	w.Eventually(func() *metav1.Time { return w.status().TLS.NewCAServedAfter }).Should(BeNil())
	_, cas, _ := w.published()
	w.Expect(cas).To(Equal(both))
	w.load("shop-0")
	w.load("shop-1")
	w.Eventually(func() string { return w.message("CertificatesValid") }).Should(ContainSubstring("(shop-2)"),
		"names who is waited for")
	w.load("shop-2")

	w.Eventually(w.step).Should(Equal("AwaitingApproval"))
	w.Expect(w.message("CertificatesValid")).To(ContainSubstring("drop-old-ca"))
	w.edit(func(c *v1alpha1.GaleraCluster) {
		c.Annotations = map[string]string{v1alpha1.AnnotationDropCA: oldCAs[0][:16]}
	})
	w.Eventually(func() []string { _, cas, _ := w.published(); return cas }).Should(Equal(both[1:]))
	primary := w.status().Primary
	w.load("shop-2")
	w.Eventually(w.step).Should(Equal("RemovingOldCA"))
	w.Expect(w.message("CertificatesValid")).To(ContainSubstring("until its next restart"))
	w.Expect(w.agents.given()).To(HaveLen(1), "no node is restarted before all have read it")
	w.load("shop-0")
	w.load("shop-1")
	w.Eventually(w.agents.given).Should(HaveLen(4))
	w.Expect(w.agents.given()[3]).To(Equal("Restart "+primary), "the primary last")
	w.Eventually(w.condition("CertificatesValid")).Should(HavePrefix("True"))
	w.Eventually(w.condition("Ready")).Should(Equal("True Ready"))
	w.Expect(w.status().TLS.TrustedCAs).To(HaveLen(1))
	w.Expect(w.status().TLS.TrustedCAs[0].State).To(Equal(v1alpha1.CACurrent))
}

// TestExpiry: what has expired does not keep out what comes after it, whichever node is silent.
func TestExpiry(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "expiry", spec())
	w.ca = pkitest.NewCA("first")
	issueUntil := func(ca pkitest.CA, end time.Time) { issueLeaf(t, w.cluster, ca, pkitest.Leaf{NotAfter: end}) }
	// A busy operator may see a short-lived one when it has expired, and publish none: it gets another.
	issueShort := func(before string) {
		t.Helper()
		w.Eventually(func() string {
			issueUntil(w.ca, time.Now().Add(4*time.Second))
			for end := time.Now().Add(4 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
				if leaf, _, _ := w.published(); leaf != before {
					return leaf
				}
			}
			return before
		}).ShouldNot(Equal(before), "the same CA")
	}
	w.Eventually(func() error { return w.get(&corev1.ConfigMap{}, "shop-config") }).Should(Succeed())
	issueShort("")
	runPods(t, w.statefulSet())
	w.Eventually(w.condition("CertificatesValid")).Should(Equal("False CertificateExpired"))
	first, _, _ := w.published()

	issueShort(first)
	second, _, _ := w.published()
	w.Eventually(w.condition("CertificatesValid")).Should(Equal("False CertificateExpired"))
	issueUntil(pkitest.NewCA("second"), time.Now().Add(time.Hour))
	w.Eventually(func() string { leaf, _, _ := w.published(); return leaf }).ShouldNot(Equal(second),
		"another CA, as no node can use the old leaf")
	_, cas, _ := w.published()
	w.Expect(cas).To(HaveLen(2), "and the old one stays trusted")
}

// TestRenewals: each request is recorded before anything is done, and acted upon once.
func TestRenewals(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "renewals", spec())
	putCA := func(ca pkitest.CA) {
		must(t, kube.Create(t.Context(), &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: "renewals", Name: "shop-ca-pair",
				Labels: map[string]string{v1alpha1.LabelCluster: "shop"}},
			Data: map[string][]byte{"tls.crt": ca.PEM, "ca.crt": ca.PEM},
		}))
	}
	putCA(w.ca)
	w.bringUp()
	asked := func(of, token string) func() bool {
		return func() bool {
			return slices.ContainsFunc(w.status().TLS.Renewals, func(r v1alpha1.RenewalStatus) bool {
				return r.Of == of && r.Token == token && r.CompletedAt == nil
			})
		}
	}
	annotate := func(value string) {
		w.edit(func(c *v1alpha1.GaleraCluster) { c.Annotations = map[string]string{v1alpha1.AnnotationRenew: value} })
	}
	annotate("leaf")
	w.Eventually(w.condition("Stalled")).Should(Equal("True RenewalRefused"))
	w.Expect(w.condition("Ready")()).To(Equal("True Ready"))
	annotate("leaf@1")
	w.Eventually(asked("leaf", "1")).Should(BeTrue())
	w.Eventually(w.issuing).Should(BeTrue())
	issue(t, w.cluster, w.ca)
	w.issued()
	w.Eventually(asked("leaf", "1")).Should(BeFalse())
	w.Consistently(w.issuing, time.Second).Should(BeFalse(), "once for each token")

	annotate("leaf@1,ca@1")
	w.Eventually(func() error { return w.get(&corev1.Secret{}, "shop-ca-pair") }).ShouldNot(Succeed(),
		"cert-manager makes another")
	next := pkitest.NewCA("private")
	putCA(next)
	w.Eventually(asked("leaf-of-ca", print1(next.PEM)[:16])).Should(BeTrue(),
		"cert-manager does not renew a leaf because its CA is another")
	w.Eventually(w.issuing).Should(BeTrue())
	w.Expect(asked("ca", "1")()).To(BeFalse())
	issue(t, w.cluster, next)
	w.issued()
	w.Eventually(asked("leaf-of-ca", print1(next.PEM)[:16])).Should(BeFalse())
	w.Consistently(w.issuing, time.Second).Should(BeFalse())
	w.Expect(w.get(&corev1.Secret{}, "shop-ca-pair")).To(Succeed(), "it is replaced once")
}

func (w *world) issuing() bool {
	c := &certmanagerv1.Certificate{}
	must(w.t, w.get(c, "shop-issued"))
	return slices.ContainsFunc(c.Status.Conditions, func(c certmanagerv1.CertificateCondition) bool {
		return c.Type == certmanagerv1.CertificateConditionIssuing && c.Status == "True"
	})
}

// issued does what cert-manager does at the end.
func (w *world) issued() {
	c := &certmanagerv1.Certificate{}
	must(w.t, w.get(c, "shop-issued"))
	c.Status.Conditions = nil
	must(w.t, kube.Status().Update(w.t.Context(), c))
}
