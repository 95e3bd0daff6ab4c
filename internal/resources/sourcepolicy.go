package resources

import (
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/galera-operator/galera-operator/api/v1alpha1"
)

// ComponentSource is the value of the component's label on the pod that serves an archive to the cluster.
const ComponentSource = "source"

// portServed is where that pod reports how far the archive is.
const portServed = 8445

// sourcePod selects that pod.
func sourcePod(c *v1alpha1.GaleraCluster) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{v1alpha1.LabelCluster: c.Name,
		labelComponent: ComponentSource}}
}

// SourcePolicy returns who may reach the pod that serves an archive: the cluster's nodes; and everyone how far the
// archive is, which is nothing secret: the operator and kubelet ask. It is nil where the spec wants no policies.
func SourcePolicy(c *v1alpha1.GaleraCluster) *networkingv1.NetworkPolicy {
	if on := c.Spec.NetworkPolicy.Enabled; on != nil && !*on {
		return nil
	}
	return &networkingv1.NetworkPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: networkingv1.SchemeGroupVersion.String(), Kind: "NetworkPolicy"},
		ObjectMeta: ownedMeta(c, SourceName(c)),
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: *sourcePod(c),
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
			Ingress: []networkingv1.NetworkPolicyIngressRule{
				{From: []networkingv1.NetworkPolicyPeer{{PodSelector: voters(c)}}, Ports: policyPorts(PortClients)},
				{Ports: policyPorts(portServed)},
			},
		},
	}
}
