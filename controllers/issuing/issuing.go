// Package issuing asks cert-manager for a certificate before its time.
package issuing

import (
	"context"
	"slices"
	"time"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	cmmeta "github.com/cert-manager/cert-manager/pkg/apis/meta/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// RetryInterval is how long after a failed attempt cert-manager is asked again.
const RetryInterval = time.Minute

// Again makes cert-manager issue a certificate now, the way its own command line does. Without one it does nothing.
func Again(ctx context.Context, c client.StatusClient, cert *certmanagerv1.Certificate, now time.Time) error {
	if cert == nil {
		return nil
	}
	asked := certmanagerv1.CertificateCondition{
		Type: certmanagerv1.CertificateConditionIssuing, Status: cmmeta.ConditionTrue, Reason: "ManuallyTriggered",
		Message: "galera-operator requests a new certificate", ObservedGeneration: cert.Generation,
		LastTransitionTime: &metav1.Time{Time: now},
	}
	changed := cert.DeepCopy()
	i := slices.IndexFunc(changed.Status.Conditions,
		func(c certmanagerv1.CertificateCondition) bool { return c.Type == asked.Type })
	switch {
	case i < 0:
		changed.Status.Conditions = append(changed.Status.Conditions, asked)
	case changed.Status.Conditions[i].Status == cmmeta.ConditionTrue,
		since(changed.Status.Conditions[i].LastTransitionTime, now) < RetryInterval:
		return nil
	default:
		changed.Status.Conditions[i] = asked
	}
	return c.Status().Patch(ctx, changed, client.MergeFromWithOptions(cert, client.MergeFromWithOptimisticLock{}))
}

func since(t *metav1.Time, now time.Time) time.Duration {
	if t == nil {
		return RetryInterval
	}
	return now.Sub(t.Time)
}
