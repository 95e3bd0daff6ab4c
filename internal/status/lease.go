package status

import (
	"fmt"
	"slices"
	"strings"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/validate"
)

// nextLease is how far the lease is in force after this pass. It is recorded before the nodes need one: a pass
// publishes what an earlier one has recorded.
//
//	""        → Starting  all nodes have heard of a renewal, or one needs one already: the status was lost
//	Starting  → Held      all nodes accept writes by the lease only
//	Held      → Ended     a node is to refuse writes
//	Ended     → Held      none is
//	all       → ""        none is wanted, and all nodes have heard of a renewal: another cluster may have taken over
//	                      otherwise. A person who is certain that none has removes it
func nextLease(in Input, before string) string {
	c := in.cluster()
	all := func(of func(agentapi.LeaseReport) bool) bool {
		for _, m := range in.Snapshot.Members {
			if r := in.report(m.Name); r == nil || r.Lease == nil || !of(*r.Lease) {
				return false
			}
		}
		return len(in.Snapshot.Members) > 0
	}
	good := func(r agentapi.LeaseReport) bool { return r.Heard && !r.Ended }
	switch wanted := c.WantsWriteLease(); {
	case before == "" && !wanted, before != "" && !wanted && (!c.NeedsWriteLease() || all(good)):
		return ""
	case !wanted:
		return before
	}
	switch before {
	case "":
		if guarded(in) || all(func(r agentapi.LeaseReport) bool { return r.Heard }) {
			return v1alpha1.WriteLeaseStarting
		}
	case v1alpha1.WriteLeaseStarting:
		if all(func(r agentapi.LeaseReport) bool { return r.Guarded && !r.Ended }) {
			return v1alpha1.WriteLeaseHeld
		}
	case v1alpha1.WriteLeaseHeld:
		if len(leaseless(in)) > 0 {
			return v1alpha1.WriteLeaseEnded
		}
	case v1alpha1.WriteLeaseEnded:
		if all(func(r agentapi.LeaseReport) bool { return r.Guarded && !r.Ended }) {
			return v1alpha1.WriteLeaseHeld
		}
	}
	return before
}

// guarded reports whether a node accepts writes by the lease only.
func guarded(in Input) bool {
	return slices.ContainsFunc(in.Snapshot.Members, func(m galera.Member) bool {
		r := in.report(m.Name)
		return r != nil && r.Lease != nil && r.Lease.Guarded
	})
}

// leaseless are the nodes that refuse writes because they have heard of no renewal for too long. One that was started
// has heard of one when it serves.
func leaseless(in Input) (names []string) {
	for _, m := range in.Snapshot.Members {
		if r := in.report(m.Name); r != nil && r.Lease != nil && r.Lease.Ended && takesWrites(m) {
			names = append(names, m.Name)
		}
	}
	return names
}

// leaseEnded reports nodes that refuse writes because their lease is not renewed.
func leaseEnded(in Input) *validate.Problem {
	c, names := in.cluster(), leaseless(in)
	switch {
	case len(names) == 0 || c.Refuses():
		return nil
	case c.Status.WriteLease == v1alpha1.WriteLeaseStarting:
		return passing(v1alpha1.ReasonWriteLeaseEnded, refusing(names)+" until the pods of the Deployment "+c.Name+
			"-lease have renewed the lease of spec.backup.pointInTime.writeLease. If they do not: "+noLease(c))
	}
	return blockingWith(v1alpha1.ReasonWriteLeaseEnded, fmt.Sprintf(
		"kubectl logs -n %s -l app.kubernetes.io/component=lease --prefix --tail=5", c.Namespace),
		"%s: the lease of spec.backup.pointInTime.writeLease is not renewed. Restore the way of the pods of the Deployment "+
			"%s-lease to the store, and to the nodes: they accept writes again at once, unless another cluster has taken over%s",
		refusing(names), c.Name, unwantedLease(c))
}

// unwantedLease is what becomes of a lease that is not wanted any more.
func unwantedLease(c *v1alpha1.GaleraCluster) string {
	if c.WantsWriteLease() {
		return ""
	}
	return fmt.Sprintf(". That it is turned off counts then. If the store is lost, and it is certain that no other "+
		"cluster has taken over, or will: kubectl patch galeracluster %s -n %s --subresource=status --type=merge -p "+
		`'{"status":{"writeLease":null}}'`, c.Name, c.Namespace)
}

// noLease is why there is none, as the archive's status has it.
func noLease(c *v1alpha1.GaleraCluster) string {
	if b := c.Status.Backup; b != nil && b.Message != "" {
		return b.Message
	}
	return "see their logs"
}

func refusing(names []string) string {
	if len(names) == 1 {
		return names[0] + " refuses writes"
	}
	return strings.Join(names, ", ") + " refuse writes"
}
