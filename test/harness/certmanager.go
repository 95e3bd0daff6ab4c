package harness

import (
	"context"
	"fmt"
	"time"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ScaleCertManager runs that many cert-managers, and waits until it is so.
func ScaleCertManager(ctx context.Context, k *Kube, replicas int32) error {
	at := client.ObjectKey{Namespace: "cert-manager", Name: "cert-manager"}
	d := &appsv1.Deployment{}
	if err := k.Get(ctx, at, d); err != nil {
		return err
	}
	want := d.DeepCopy()
	want.Spec.Replicas = &replicas
	if err := k.Patch(ctx, want, client.MergeFrom(d)); err != nil {
		return err
	}
	return k.Until(ctx, fmt.Sprintf("%d cert-managers run", replicas), time.Minute,
		func(ctx context.Context) (bool, string, error) {
			err := k.Get(ctx, at, d)
			return err == nil && d.Status.ObservedGeneration >= d.Generation && d.Status.Replicas == replicas &&
					d.Status.ReadyReplicas == replicas,
				fmt.Sprintf("%d pods, %d ready", d.Status.Replicas, d.Status.ReadyReplicas), err
		})
}

// BreakWebhook makes every write of cert-manager's objects in the cluster's namespace fail, as it does everywhere
// when cert-manager's webhook is down: it is to be asked of a Service that does not exist. It returns when that is so.
func (c Certificates) BreakWebhook(ctx context.Context) (fix func(context.Context) error, err error) {
	none, fail, path := admissionv1.SideEffectClassNone, admissionv1.Fail, "/validate"
	broken := &admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "galera-tests-" + c.cluster.Namespace},
		Webhooks: []admissionv1.ValidatingWebhook{{
			Name: "webhook.cert-manager.io", SideEffects: &none, FailurePolicy: &fail, AdmissionReviewVersions: []string{"v1"},
			ClientConfig: admissionv1.WebhookClientConfig{
				Service: &admissionv1.ServiceReference{Namespace: c.cluster.Namespace, Name: "nowhere", Path: &path}},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{
				"kubernetes.io/metadata.name": c.cluster.Namespace}},
			Rules: []admissionv1.RuleWithOperations{{Operations: []admissionv1.OperationType{admissionv1.Create,
				admissionv1.Update},
				Rule: admissionv1.Rule{APIGroups: []string{"cert-manager.io"}, APIVersions: []string{"v1"},
					Resources: []string{"*/*"}}}},
		}},
	}
	fix = func(ctx context.Context) error { return client.IgnoreNotFound(c.cluster.Kube.Delete(ctx, broken)) }
	if err := c.cluster.Kube.Create(ctx, broken); err != nil {
		return fix, err
	}
	return fix, c.cluster.Kube.Until(ctx, "certificates are refused", time.Minute,
		func(ctx context.Context) (bool, string, error) {
			probe := &certmanagerv1.Certificate{ObjectMeta: metav1.ObjectMeta{Namespace: c.cluster.Namespace, Name: "probe"},
				Spec: certmanagerv1.CertificateSpec{SecretName: "probe", CommonName: "probe"}}
			probe.Spec.IssuerRef.Name = "missing"
			err := c.cluster.Kube.Create(ctx, probe, client.DryRunAll)
			if err == nil {
				return false, "they are taken", nil
			}
			return true, err.Error(), nil
		})
}
