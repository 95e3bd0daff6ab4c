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

// nextLease is how far the lease is in force after this pass. It is recorded before the nodes need one, or do not any
// more: a pass publishes what an earlier one has recorded.
//
//	"", Ending → Starting  all nodes serve, and have heard of a renewal, or one needs one already: the status was lost
//	Starting   → Held      all nodes accept writes by the lease only
//	Held       → Ended     a node is to refuse writes
//	Ended      → Held      none is
func nextLease(in Input, before string) string {
	if !in.cluster().WantsWriteLease() {
		return leaseUnwanted(in, before)
	}
	guards := func(_ galera.Member, r agentapi.LeaseReport) bool { return r.Guarded && !r.Ended }
	switch before {
	case "", v1alpha1.WriteLeaseEnding:
		// One that receives an SST was started without it, and would have to be killed if the lease ended meanwhile.
		if guarded(in) || allLeased(in, func(m galera.Member, r agentapi.LeaseReport) bool {
			return r.Heard && takesWrites(m)
		}) {
			return v1alpha1.WriteLeaseStarting
		}
		if len(stillLeased(in)) == 0 {
			return ""
		}
	case v1alpha1.WriteLeaseStarting:
		if allLeased(in, guards) {
			return v1alpha1.WriteLeaseHeld
		}
	case v1alpha1.WriteLeaseHeld:
		if len(leaseless(in)) > 0 {
			return v1alpha1.WriteLeaseEnded
		}
	case v1alpha1.WriteLeaseEnded:
		if allLeased(in, guards) {
			return v1alpha1.WriteLeaseHeld
		}
	}
	return before
}

// leaseUnwanted is the same of a lease that is not wanted.
//
//	Starting, Held, Ended → Ending  all nodes have heard of a renewal since: another cluster may have taken over before
//	""                    → Ending  a node needs one: a person who is certain that none has taken over has removed it
//	Ending                → ""      no node needs one any more: until then it is renewed, or those would refuse writes
func leaseUnwanted(in Input, before string) string {
	switch {
	case !v1alpha1.MayLease(in.cluster()):
		return ""
	case before == "" && guarded(in), before == v1alpha1.WriteLeaseEnding && len(stillLeased(in)) > 0:
		return v1alpha1.WriteLeaseEnding
	case before == "", before == v1alpha1.WriteLeaseEnding:
		return ""
	case len(in.Snapshot.Members) > 0 && len(unheard(in)) == 0:
		return v1alpha1.WriteLeaseEnding
	}
	return before
}

// unheard are the nodes of which it is not known that they have heard of a renewal since the lease was turned off: a
// report may be of an earlier time at which it was.
func unheard(in Input) (names []string) {
	for _, m := range in.Snapshot.Members {
		r := in.report(m.Name)
		if r == nil || r.Lease == nil || !r.Lease.Heard || r.Lease.Ended ||
			r.Lease.UnwantedHeard != in.cluster().Generation {
			names = append(names, m.Name)
		}
	}
	return names
}

// allLeased reports whether something is true of what each member reports of the lease.
func allLeased(in Input, of func(galera.Member, agentapi.LeaseReport) bool) bool {
	for _, m := range in.Snapshot.Members {
		if r := in.report(m.Name); r == nil || r.Lease == nil || !of(m, *r.Lease) {
			return false
		}
	}
	return len(in.Snapshot.Members) > 0
}

// stillLeased are the nodes that need a lease, or may: their agents do not answer, or what is published has it still.
func stillLeased(in Input) (names []string) {
	for _, m := range in.Snapshot.Members {
		r := in.report(m.Name)
		if m.Pod.Exists && (in.Config.Lease || r == nil || r.Lease != nil && r.Lease.Guarded) {
			names = append(names, m.Name)
		}
	}
	return names
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
	case !c.WantsWriteLease() && !c.NeedsWriteLease():
		return passing(v1alpha1.ReasonWriteLeaseEnded, refusing(names)+" until it is read there that no lease is needed any "+
			"more (ConfigMap "+c.Name+"-config), which takes kubelet a minute at most")
	case c.Status.WriteLease == v1alpha1.WriteLeaseStarting && !lasting(in, names):
		return passing(v1alpha1.ReasonWriteLeaseEnded, refusing(names)+" until the pods of the Deployment "+c.Name+
			"-lease have renewed the lease of spec.backup.pointInTime.writeLease. If they do not: "+noLease(c))
	}
	return blockingWith(v1alpha1.ReasonWriteLeaseEnded, fmt.Sprintf(
		"kubectl logs -n %s -l app.kubernetes.io/component=lease --prefix --tail=5", c.Namespace),
		"%s: the lease of spec.backup.pointInTime.writeLease is not renewed%s. Restore the way of the pods of the "+
			"Deployment %s-lease to the store, and to the nodes: they accept writes again at once, unless another cluster has "+
			"taken over%s%s",
		refusing(names), neverRenewed(c), c.Name, unknownToLease(in, names), unwantedLease(c))
}

// lasting reports whether one of the nodes has refused writes for some time: the store may have been lost with the
// status, or as the lease was turned on.
func lasting(in Input, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return in.report(name).Lease.Settled })
}

// neverRenewed is why a lease is not renewed that was not held so far, "" where the archive's status has nothing.
func neverRenewed(c *v1alpha1.GaleraCluster) string {
	if b := c.Status.Backup; c.Status.WriteLease == v1alpha1.WriteLeaseStarting && b != nil && b.Message != "" {
		return " (" + b.Message + ")"
	}
	return ""
}

// unknownToLease is what some nodes may wait for that others do not.
func unknownToLease(in Input, names []string) string {
	b := in.cluster().Status.Backup
	serving := 0
	for _, m := range in.Snapshot.Members {
		if takesWrites(m) {
			serving++
		}
	}
	if len(names) == serving || b == nil || b.Message == "" {
		return ""
	}
	return ". These pods learn of a node that was added once the archive has its store: " + b.Message
}

// leaseEnding reports who is waited for until a lease that is turned off counts as such, and whom it is renewed for
// then.
func leaseEnding(in Input) *validate.Problem {
	c, names := in.cluster(), stillLeased(in)
	if waits := unheard(in); c.NeedsWriteLease() && !c.WantsWriteLease() && !c.Refuses() && len(waits) > 0 {
		return passing(v1alpha1.ReasonWriteLeaseEnding, "the write lease is turned off, which counts once these nodes have "+
			"heard of a reading of the store from after that, as another cluster may have taken over otherwise: "+
			strings.Join(waits, ", ")+". An agent that does not answer has to return, and one of an earlier release to be "+
			"updated. If it is certain that no other cluster has taken over, or will: "+forgetLease(c))
	}
	if c.Status.WriteLease != v1alpha1.WriteLeaseEnding || len(names) == 0 {
		return nil
	}
	return passing(v1alpha1.ReasonWriteLeaseEnding, "the write lease is turned off, and is renewed until it is known "+
		"that these nodes need it no longer: "+strings.Join(names, ", ")+". One whose agent does not answer has to return, "+
		"or its pod to be deleted. To wait no longer: "+forgetLease(c))
}

// unwantedLease is what becomes of a lease that is not wanted any more.
func unwantedLease(c *v1alpha1.GaleraCluster) string {
	if c.WantsWriteLease() {
		return ". If the store is lost for good, turn the lease off (spec.backup.pointInTime.writeLease: false): what is " +
			"to be done then is reported here"
	}
	return ". That it is turned off counts then. If the store is lost, and it is certain that no other cluster has " +
		"taken over, or will: " + forgetLease(c)
}

// forgetLease is the command that has nodes need no lease.
func forgetLease(c *v1alpha1.GaleraCluster) string {
	return kubectl("patch", "galeracluster", c.Name, "-n", c.Namespace, "--subresource=status", "--type=merge", "-p",
		`{"status":{"writeLease":null}}`)
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
