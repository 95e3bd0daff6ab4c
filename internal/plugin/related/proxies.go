package related

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// Proxy is a proxy of the cluster, with the connections to each node.
type Proxy struct {
	Name  string `json:"name"`
	Mode  string `json:"mode"`
	Ready int32  `json:"ready"`
	Pods  int32  `json:"pods"`
	// Clients are connected, and Waiting of them for a connection to a node.
	Clients int64                      `json:"clients"`
	Waiting int64                      `json:"waiting"`
	Pools   []v1alpha1.ProxyPoolStatus `json:"pools,omitempty"`
}

// proxies describes the proxies of a cluster; there is no area without one.
func proxies(o Objects) (table []Proxy, area *Area) {
	for _, p := range o.Proxies {
		table = append(table, Proxy{Name: p.Name, Mode: p.Spec.Mode, Ready: p.Status.ReadyReplicas, Pods: p.Spec.Replicas,
			Clients: p.Status.Clients, Waiting: p.Status.Waiting, Pools: p.Status.Pools})
		if area == nil {
			area = &Area{State: OK}
		}
		for _, kind := range []string{v1alpha1.ConditionReady, v1alpha1.ConditionEncrypted} {
			c := meta.FindStatusCondition(p.Status.Conditions, kind)
			if c != nil && c.Status == metav1.ConditionTrue || p.Spec.Replicas == 0 {
				continue
			}
			f := Finding{Kind: proxy, Namespace: p.Namespace, Name: p.Name, State: Waiting, Reason: "NotSeen",
				Message: "no operator has seen this proxy yet", Command: "kubectl describe galeraproxy " + p.Name + " -n " +
					p.Namespace}
			if c != nil {
				f.Reason, f.Message = c.Reason, c.Message
			}
			if meta.IsStatusConditionTrue(p.Status.Conditions, v1alpha1.ConditionStalled) || c != nil &&
				(c.Reason == v1alpha1.ReasonPlaintextAccepted || c.Reason == v1alpha1.ReasonPeerUnverified) {
				f.State = Failing
			}
			if f.State == Failing || area.State == OK {
				area.State = f.State
			}
			area.Findings = append(area.Findings, f)
			break
		}
	}
	return table, area
}
