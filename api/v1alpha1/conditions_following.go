package v1alpha1

// ConditionFollowing is True when the cluster applies what the server of spec.bootstrapFrom.external writes. It is
// there until the cluster is independent of that server.
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
)
