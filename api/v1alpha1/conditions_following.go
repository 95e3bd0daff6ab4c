package v1alpha1

// ConditionFollowing is True when the cluster applies what the server of spec.bootstrapFrom.external writes, or what
// the archive of spec.replicaOf gets. It is there until the cluster is independent of that.
const ConditionFollowing = "Following"

// ConditionWithinMaxLag is True while NAME-readonly of a cluster that follows leads to its nodes: they are no further
// behind than spec.readOnlyService.maxLag. It is there with that only, until the cluster is independent.
const ConditionWithinMaxLag = "WithinMaxLag"

// Reasons of WithinMaxLag.
const (
	ReasonWithinMaxLag = "WithinMaxLag"
	ReasonLagExceeded  = "LagExceeded"
	ReasonLagUnknown   = "LagUnknown"
)

// Reasons of Following.
const (
	ReasonFollowing       = "Following"
	ReasonChannelStarting = "ChannelStarting"
	ReasonChannelStopped  = "ChannelStopped"
	ReasonChannelHeld     = "ChannelHeld"
	ReasonCuttingOver     = "CuttingOver"
	ReasonChannelFatal    = "ChannelFatal"
	ReasonSourcePurged    = "SourcePurged"
	ReasonReseeding       = "Reseeding"
	// ReasonCutoverDiverged: another server has written what the cluster has applied than the last position.
	ReasonCutoverDiverged = "CutoverDiverged"
	// ReasonArchiveRefused: the archive of spec.replicaOf does not go on from where the cluster is.
	ReasonArchiveRefused = "ArchiveRefused"
	// ReasonPromotionUnrecorded: the store has no record that the cluster takes over; ReasonPromotionLost: it has the
	// record that another one has.
	ReasonPromotionUnrecorded = "PromotionUnrecorded"
	ReasonPromotionLost       = "PromotionLost"
	// ReasonSwitchingSite: all nodes refuse writes, so that another site can take over.
	ReasonSwitchingSite = "SwitchingSite"
	// ReasonSwitchWithdrawn: the token of spec.cutover is void.
	ReasonSwitchWithdrawn = "SwitchWithdrawn"
	// ReasonCutoverRemoved: spec.cutover was removed after it was recorded that the cluster takes over.
	ReasonCutoverRemoved = "CutoverRemoved"
	// ReasonSuperseded: another cluster has taken over from this one.
	ReasonSuperseded = "Superseded"
	// ReasonWriteLeaseEnded: nodes refuse writes, because their lease is not renewed.
	ReasonWriteLeaseEnded = "WriteLeaseEnded"
	// ReasonWriteLeaseEnding: the lease is turned off, and is renewed until no node needs it any more.
	ReasonWriteLeaseEnding = "WriteLeaseEnding"
)
