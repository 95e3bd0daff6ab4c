package status

import (
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/proxy"
)

// proxiesEncrypted requires of every proxy with pods that both of its channels are proved: that of clients, and that to
// the nodes. A proof counts that was made lately, and while plaintext was to be refused. Where clients may connect
// without TLS, a proxy is not judged either.
func proxiesEncrypted(in Input) (condition, bool) {
	if in.Config.TLS.Clients != galera.PolicyRequired {
		return condition{}, true
	}
	if in.Facts.ProxiesUnknown {
		return unproved("the GaleraProxies of the namespace cannot be read"), false
	}
	for i := range in.Facts.Proxies {
		p := &in.Facts.Proxies[i]
		e := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionEncrypted)
		waiting := "waiting for evidence from the GaleraProxy " + p.Name
		switch {
		case !hasPods(p):
		case e == nil:
			return unproved(waiting), false
		case e.Status == metav1.ConditionTrue:
			if why := outdated(p.Status.Proof, in.Now); why != "" {
				return unproved(waiting + because(why)), false
			}
		case e.Reason == v1alpha1.ReasonNotYetProved:
			return unproved(waiting + because(e.Message)), false
		default:
			return no(e.Reason, "the GaleraProxy "+p.Name+because(e.Message)), false
		}
	}
	return condition{}, true
}

// hasPods reports whether a proxy may have pods. Its status has their number as of the spec that it describes, and a
// proxy whose name is taken gets none.
func hasPods(p *v1alpha1.GaleraProxy) bool {
	r := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionReady)
	none := p.Spec.Replicas == 0 && p.Status.ObservedGeneration == p.Generation ||
		r != nil && r.Reason == v1alpha1.ReasonNameTaken
	return p.Status.Replicas > 0 || !none
}

// outdated explains why a proof does not count, "" when it does.
func outdated(p *v1alpha1.ProxyProof, now time.Time) string {
	switch {
	case p == nil || p.Clients != v1alpha1.TLSRequired:
		return "it was not proved since spec.tls.clients is " + v1alpha1.TLSRequired
	case !proxy.Lately(p, now):
		return "it was proved last at " + p.ProvedAt.UTC().Format(time.RFC3339)
	}
	return ""
}

// proxiesSuffix names the proxies that count in the proof.
func proxiesSuffix(in Input) string {
	n := 0
	for i := range in.Facts.Proxies {
		if hasPods(&in.Facts.Proxies[i]) && in.Config.TLS.Clients == galera.PolicyRequired {
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
