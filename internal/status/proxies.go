package status

import (
	"strconv"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// proxiesEncrypted requires of every proxy with pods that both of its channels are proved: that of clients, and that to
// the nodes. Where clients may connect without TLS, a proxy is not judged either.
func proxiesEncrypted(in Input) (condition, bool) {
	if in.Config.TLS.Clients != galera.PolicyRequired {
		return condition{}, true
	}
	if in.Facts.ProxiesUnknown {
		return unproved("the GaleraProxies of the namespace cannot be read"), false
	}
	for _, p := range in.Facts.Proxies {
		e := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionEncrypted)
		switch {
		case p.Status.Replicas == 0 || e != nil && e.Status == metav1.ConditionTrue:
		case e == nil || e.Reason == v1alpha1.ReasonNotYetProved:
			message := ""
			if e != nil {
				message = e.Message
			}
			return unproved("waiting for evidence from the GaleraProxy " + p.Name + because(message)), false
		default:
			return no(e.Reason, "the GaleraProxy "+p.Name+because(e.Message)), false
		}
	}
	return condition{}, true
}

// proxiesSuffix names the proxies that count in the proof.
func proxiesSuffix(in Input) string {
	n := 0
	for _, p := range in.Facts.Proxies {
		if p.Status.Replicas > 0 && in.Config.TLS.Clients == galera.PolicyRequired {
			n++
		}
	}
	switch n {
	case 0:
		return ""
	case 1:
		return " and a proxy"
	}
	return " and " + strconv.Itoa(n) + " proxies"
}
