package v1alpha1

// States of status.writeLease.
const (
	WriteLeaseStarting = "Starting"
	WriteLeaseHeld     = "Held"
	WriteLeaseEnded    = "Ended"
	WriteLeaseEnding   = "Ending"
)

// MayLease reports whether nodes of a cluster may be given a lease: it is kept in the store of the archive, and a
// cluster that follows another one accepts no writes anyway.
func MayLease(c *GaleraCluster) bool { return c.ArchivesBinlog() && !c.Follows() }

// WantsWriteLease reports whether nodes are to accept writes only while a lease in the store is renewed.
func (c *GaleraCluster) WantsWriteLease() bool {
	return MayLease(c) && c.Spec.Backup.PointInTime.WriteLease
}

// NeedsWriteLease reports whether they do: once all have heard of a renewal, until none is wanted and all have heard of
// one again (status.writeLease).
func (c *GaleraCluster) NeedsWriteLease() bool {
	return MayLease(c) && c.Status.WriteLease != "" && c.Status.WriteLease != WriteLeaseEnding
}

// RenewsWriteLease reports whether the lease is renewed: until no node needs one any more.
func (c *GaleraCluster) RenewsWriteLease() bool {
	return c.WantsWriteLease() || MayLease(c) && c.Status.WriteLease != ""
}
