package v1alpha1

// States of status.writeLease.
const (
	WriteLeaseStarting = "Starting"
	WriteLeaseHeld     = "Held"
	WriteLeaseEnded    = "Ended"
)

// WantsWriteLease reports whether nodes are to accept writes only while a lease in the store is renewed. A cluster that
// follows another one accepts none anyway.
func (c *GaleraCluster) WantsWriteLease() bool {
	return c.ArchivesBinlog() && c.Spec.Backup.PointInTime.WriteLease && !c.Follows()
}

// NeedsWriteLease reports whether they do: once all have heard of a renewal, until none is wanted and all have heard of
// one again (status.writeLease).
func (c *GaleraCluster) NeedsWriteLease() bool {
	return c.ArchivesBinlog() && !c.Follows() && c.Status.WriteLease != ""
}

// RenewsWriteLease reports whether the lease is renewed.
func (c *GaleraCluster) RenewsWriteLease() bool { return c.WantsWriteLease() || c.NeedsWriteLease() }
