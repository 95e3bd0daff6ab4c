package v1alpha1

// ConditionFollowing is True when the cluster applies what the server of spec.bootstrapFrom.external writes, or what
// the archive of spec.replicaOf gets. It is there until the cluster is independent of that.
const ConditionFollowing = "Following"

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
	// ReasonArchiveRefused: the archive of spec.replicaOf does not go on from where the cluster is.
	ReasonArchiveRefused = "ArchiveRefused"
	// ReasonPromotionUnrecorded: the store has no record that the cluster takes over; ReasonPromotionLost: it has the
	// record that another one has.
	ReasonPromotionUnrecorded = "PromotionUnrecorded"
	ReasonPromotionLost       = "PromotionLost"
	// ReasonSuperseded: another cluster has taken over from this one.
	ReasonSuperseded = "Superseded"
)
