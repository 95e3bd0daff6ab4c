package proxy

import (
	"cmp"
	"slices"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// Of returns the proxies of a cluster that are not being deleted, the oldest first.
func Of(c *v1alpha1.GaleraCluster, all []v1alpha1.GaleraProxy) (out []*v1alpha1.GaleraProxy) {
	for i := range all {
		p := &all[i]
		if p.Namespace == c.Namespace && p.Spec.ClusterRef.Name == c.Name && p.DeletionTimestamp == nil {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b *v1alpha1.GaleraProxy) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// Endpoint returns the proxy that binding Secrets lead to, nil without one: the first that takes writes.
func Endpoint(proxies []*v1alpha1.GaleraProxy) *v1alpha1.GaleraProxy {
	for _, p := range proxies {
		if p.Spec.Mode != v1alpha1.ProxyReadOnly {
			return p
		}
	}
	return nil
}

// Proxied reports whether proxies can log in for a user. Names of other users are for the namespace of the cluster.
func Proxied(u *v1alpha1.GaleraUser, proxies []*v1alpha1.GaleraProxy) Condition {
	if why := refusal(u); why != "" {
		return Condition{Reason: v1alpha1.ReasonProxyRefused, Message: why}
	}
	for _, p := range proxies {
		for _, r := range p.Status.RefusedUsers {
			switch {
			case r.Namespace != u.Namespace || r.Name != u.Name:
			case u.Namespace == p.Namespace:
				return Condition{Reason: v1alpha1.ReasonProxyRefused, Message: "the GaleraProxy " + p.Name + ": " + r.Message}
			default:
				return Condition{Reason: v1alpha1.ReasonProxyRefused, Message: "the GaleraProxy " + p.Name +
					" does not take this account: status.refusedUsers of it has the reason. Choose another name for the account"}
			}
		}
	}
	return Condition{True: true, Reason: v1alpha1.ReasonProxySupported,
		Message: "every GaleraProxy of the cluster can log in for this account"}
}
