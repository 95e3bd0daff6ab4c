package api

import (
	"context"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// crash ends all servers; shop-1 has most.
func (w *world) crash(seqno int64) {
	for i, pod := range pods {
		w.agents.change(pod, func(r *agentapi.Report) {
			r.Server, r.Phase = nil, galera.PhaseWaiting
			r.Position = galera.Position{UUID: history, Seqno: seqno + int64(i%2)}
		})
	}
}

const (
	// hookSeconds is how long the API server waits for a webhook: the longest that there is.
	hookSeconds = 30
	// promptly is how long a recovery may take that no webhook holds up, on a machine with a lot to do.
	promptly = hookSeconds * 2 / 3 * time.Second
)

// bootstraps requires that a crashed cluster gets its bootstrap before any webhook's time is over.
func (w *world) bootstraps(epoch int64) {
	w.t.Helper()
	w.Eventually(func() int64 { return w.status().Epoch }, promptly).Should(Equal(epoch))
	w.Eventually(w.agents.bootstraps, promptly).
		Should(And(HaveLen(int(epoch)), HaveEach(Or(Equal("Bootstrap shop-1"), Equal("Initialise shop-0")))))
}

// recovers requires that a crashed cluster gets its bootstrap, and all it needs after it.
func (w *world) recovers(epoch int64) {
	w.t.Helper()
	w.bootstraps(epoch)
	w.settle()
	w.Eventually(w.condition("Ready"), promptly).Should(Equal("True Ready"))
}

// refuseCertificates lets a webhook judge all writes of cert-manager's objects in the namespace, which it never does.
func (w *world) refuseCertificates(hook admissionv1.WebhookClientConfig) *admissionv1.ValidatingWebhookConfiguration {
	w.t.Helper()
	config := w.judge(hook, "cert-manager.io", "*/*")
	w.Eventually(func() error {
		cert := &certmanagerv1.Certificate{}
		must(w.t, w.get(cert, "shop-issued"))
		before := cert.DeepCopy()
		cert.Annotations = map[string]string{"test": "refused?"}
		ctx, cancel := context.WithTimeout(w.t.Context(), hookSeconds*time.Second/3) // one that hangs is in force as well
		defer cancel()
		return kube.Patch(ctx, cert, client.MergeFrom(before), client.DryRunAll)
	}).ShouldNot(Succeed(), "the webhook is in force")
	return config
}

var nowhere = admissionv1.WebhookClientConfig{Service: &admissionv1.ServiceReference{Namespace: "default",
	Name: "nowhere"}}

func (w *world) judge(hook admissionv1.WebhookClientConfig, group,
	resource string) *admissionv1.ValidatingWebhookConfiguration {
	w.t.Helper()
	none, seconds := admissionv1.SideEffectClassNone, int32(hookSeconds)
	config := &admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "cert-manager-webhook-"},
		Webhooks: []admissionv1.ValidatingWebhook{{
			Name: "webhook.cert-manager.io", ClientConfig: hook, SideEffects: &none, TimeoutSeconds: &seconds,
			AdmissionReviewVersions: []string{"v1"},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{
				"kubernetes.io/metadata.name": w.cluster.Namespace}},
			Rules: []admissionv1.RuleWithOperations{{Operations: []admissionv1.OperationType{admissionv1.Create,
				admissionv1.Update},
				Rule: admissionv1.Rule{APIGroups: []string{group}, APIVersions: []string{"*"}, Resources: []string{resource}}}},
		}},
	}
	must(w.t, kube.Create(w.t.Context(), config))
	w.t.Cleanup(func() { _ = kube.Delete(context.Background(), config) })
	return config
}

// silentHost takes connections and does not answer.
func silentHost(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			if _, err := l.Accept(); err != nil {
				return
			}
		}
	}()
	return "https://" + l.Addr().String() + "/"
}

// TestRecoveryWhileTheWebhookHangs: what cert-manager's webhook does to certificates is no matter of a recovery.
func TestRecoveryWhileTheWebhookHangs(t *testing.T) {
	w := newWorld(t, "webhook-hangs", spec())
	w.bringUp()
	w.stop()
	url := silentHost(t)
	w.refuseCertificates(admissionv1.WebhookClientConfig{URL: &url})
	w.crash(10)
	startOperator(t, "webhook-hangs", w.agents)
	w.recovers(2)
}

// TestRecoveryWhileTheWebhookIsGone: nor does it matter that it has been failing for a while; then it is reported, and
// what was wanted is made when it works again.
func TestRecoveryWhileTheWebhookIsGone(t *testing.T) {
	w := newWorld(t, "webhook-gone", spec())
	w.bringUp()
	w.stop()
	config := w.refuseCertificates(nowhere)
	must(t, kube.Delete(t.Context(), &certmanagerv1.Certificate{ObjectMeta: metav1.ObjectMeta{Namespace: "webhook-gone",
		Name: "shop-issued"}}))
	startOperator(t, "webhook-gone", w.agents)
	w.Eventually(w.condition("Stalled"), time.Minute).Should(Equal("True CertManagerUnavailable"))
	w.Expect(w.message("Stalled")).To(ContainSubstring("webhook.cert-manager.io"))
	w.Expect(w.condition("Ready")()).To(Equal("True Ready"), "the nodes serve")
	w.crash(10)
	w.recovers(2)
	must(t, kube.Delete(t.Context(), config))
	w.Eventually(func() error { return w.get(&certmanagerv1.Certificate{}, "shop-issued") }, time.Minute).
		Should(Succeed())
	w.Eventually(w.condition("Stalled")).Should(HavePrefix("False"))
}

// TestErrorsThatStay: an object that cannot be written makes no pause between two checks long; it is reported, and made
// when it can be.
func TestErrorsThatStay(t *testing.T) {
	w := newWorld(t, "errors-stay", spec())
	w.bringUp()
	w.stop()
	config := w.judge(nowhere, "", "services")
	must(t, kube.Delete(t.Context(), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "errors-stay",
		Name: "shop-primary"}}))
	started := time.Now()
	startOperator(t, "errors-stay", w.agents)
	w.Eventually(func() int { return len(w.agents.given()) }, time.Second).Should(Equal(1), "nothing is to be done")
	// Pauses that double would be of 20 s by then. One of ours is of 5 s, and a busy machine may add to it.
	w.Consistently(func() time.Duration { return w.agents.longestPause(started) }, 36*time.Second, time.Second).
		Should(BeNumerically("<", 12*time.Second))
	w.Expect(w.get(&corev1.Service{}, "shop-primary")).NotTo(Succeed(), "it is refused all the time")
	w.Eventually(w.condition("Stalled"), 15*time.Second).Should(Equal("True AdmissionRefused"))
	w.Expect(w.message("Stalled")).To(And(ContainSubstring("Kind=Service"), ContainSubstring("failed calling webhook"),
		ContainSubstring("tried again")))
	w.Expect(w.condition("Available")()).To(HavePrefix("True"), "the nodes serve")
	w.crash(10)
	w.bootstraps(2)
	w.settle()
	must(t, kube.Delete(t.Context(), config))
	w.Eventually(func() error { return w.get(&corev1.Service{}, "shop-primary") }, time.Minute).Should(Succeed())
	w.Eventually(w.condition("Stalled")).Should(HavePrefix("False"))
	w.Eventually(w.condition("Ready")).Should(Equal("True Ready"))
}

// touch makes the API server check a CRD again that is being deleted: when its finalizer's last write meets a
// conflict, it waits for another change of more than the condition Terminating, or five minutes.
func touch(t *testing.T, crd *metav1.PartialObjectMetadata) {
	before := crd.DeepCopy()
	crd.Annotations = map[string]string{"test": time.Now().String()}
	must(t, client.IgnoreNotFound(kube.Patch(t.Context(), crd, client.MergeFrom(before))))
}

// TestCertManagerIsRemovedAndInstalledAgain: its CRDs are removed under a running operator, are missing when one
// starts, and come back.
func TestCertManagerIsRemovedAndInstalledAgain(t *testing.T) {
	dir, err := moduleDir("github.com/cert-manager/cert-manager")
	must(t, err)
	crds := envtest.CRDInstallOptions{Paths: []string{filepath.Join(dir, "deploy", "crds")}, ErrorIfPathMissing: true,
		MaxTime: installTime}
	install := func() error {
		_, err := envtest.InstallCRDs(config, crds)
		return err
	}
	t.Cleanup(func() { must(t, install()) })
	w := newWorld(t, "no-cert-manager", spec())
	w.bringUp()
	uninstall := func() {
		must(t, envtest.UninstallCRDs(config, crds))
		w.Eventually(func() (left []string, err error) {
			all := &metav1.PartialObjectMetadataList{}
			all.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1",
				Kind: "CustomResourceDefinitionList"})
			err = kube.List(t.Context(), all)
			for _, crd := range all.Items {
				if strings.HasSuffix(crd.Name, "cert-manager.io") {
					left = append(left, crd.Name)
					touch(t, &crd)
				}
			}
			return left, err
		}, time.Minute, time.Second).Should(BeEmpty())
	}

	uninstall()
	w.Eventually(w.condition("Stalled"), 30*time.Second).Should(Equal("True CertManagerMissing"))
	w.Expect(w.condition("Ready")()).To(Equal("True Ready"), "the nodes serve")
	w.crash(10)
	w.recovers(2)
	old := w.status().Primary
	w.agents.change(old, func(r *agentapi.Report) { r.Server, r.Phase = nil, galera.PhaseWaiting })
	w.Eventually(func() string { return w.status().Primary }).ShouldNot(Equal(old))
	w.settle()

	w.stop()
	w.crash(20)
	startOperator(t, "no-cert-manager", w.agents)
	w.recovers(3)
	w.Eventually(w.condition("Stalled")).Should(Equal("True CertManagerMissing"))
	w.Expect(w.message("Stalled")).To(ContainSubstring("install it"))

	must(t, install())
	for _, name := range []string{"shop-issued", "shop-ca-pair"} {
		w.Eventually(func() error { return w.get(&certmanagerv1.Certificate{}, name) }).Should(Succeed(), name)
	}
	w.Eventually(w.condition("Stalled")).Should(HavePrefix("False"))
	must(t, kube.Delete(t.Context(), &certmanagerv1.Certificate{ObjectMeta: metav1.ObjectMeta{Namespace: "no-cert-manager",
		Name: "shop-issued"}}))
	w.Eventually(func() error { return w.get(&certmanagerv1.Certificate{}, "shop-issued") }).Should(Succeed(),
		"they are watched again")

	uninstall()
	w.Eventually(w.condition("Stalled"), 30*time.Second).Should(Equal("True CertManagerMissing"))
	must(t, install())
	w.Eventually(func() error { return w.get(&certmanagerv1.Certificate{}, "shop-issued") }).Should(Succeed(),
		"without another operator")
	w.Eventually(w.condition("Stalled")).Should(HavePrefix("False"))
}
