package resources

import (
	cmv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// Prunable returns one empty list for each kind of which a change of the spec may leave something behind.
func Prunable() []client.ObjectList {
	return []client.ObjectList{&networkingv1.NetworkPolicyList{}, &corev1.ServiceList{}, &v1alpha1.GaleraUserList{},
		&corev1.SecretList{}}
}

// PrunableCertificates returns the same for cert-manager's kinds.
func PrunableCertificates() []client.ObjectList {
	return []client.ObjectList{&cmv1.IssuerList{}}
}

// LeftBehind reports whether an object belongs to a feature that the spec no longer asks for. Only the kinds named here
// ever are: no volume, no password but the exporter's, and no CA's Certificate or key, because trust in it may outlive
// its use.
func LeftBehind(c *v1alpha1.GaleraCluster, config agentapi.NodeConfig, opts Options, users bool, o client.Object) bool {
	name, ours := o.GetName(), metav1.IsControlledBy(o, c)
	switch o.(type) {
	case *networkingv1.NetworkPolicy:
		return ours && (name == networkPolicyName(c) && NetworkPolicy(c, opts) == nil || name == jobsPolicyName(c) &&
			JobsPolicy(c) == nil || name == copyPolicyName(c) && CopyPolicy(c, opts) == nil)
	case *corev1.Service:
		return ours && name == ArbitratorName(c) && config.Arbitrator == nil
	case *v1alpha1.GaleraUser, *corev1.Secret:
		return ours && name == ExporterName(c) && Exporter(c) == nil
	case *cmv1.Issuer: // the right to sign goes
		return ours && (name == caIssuerName(c) && c.Spec.TLS.IssuerRef != nil || name == clientCAIssuerName(c) &&
			!users)
	}
	return false
}
