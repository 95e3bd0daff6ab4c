package galeracluster

import (
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// targets are the agents of pods that have an address.
func (r *Reconciler) targets(f observe.Facts) []observe.Target {
	_, _, ca := observe.PairOf(f.Published)
	if len(ca) == 0 {
		return nil
	}
	trust := string(ca) // one for all, as long as they are followed
	var out []observe.Target
	for i := range observe.Size(f) {
		name := resources.PodName(f.Cluster, i)
		p := f.Pods[name]
		if p == nil || p.Status.PodIP == "" {
			continue
		}
		out = append(out, observe.Target{Pod: name, UID: p.UID, Address: p.Status.PodIP,
			ServerName: resources.ServerName(f.Cluster, name), CA: trust})
	}
	if t, ok := arbitratorTarget(f, trust); ok {
		out = append(out, t)
	}
	return out
}
