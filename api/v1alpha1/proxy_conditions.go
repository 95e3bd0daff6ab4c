package v1alpha1

// Reasons of conditions of proxies. docs/conditions.md explains each of them.
const (
	ReasonProxyStarting  = "ProxyStarting"
	ReasonProxyFailing   = "ProxyFailing"
	ReasonProxyOutdated  = "ProxyOutdated"
	ReasonNoPrimaryKnown = "NoPrimaryKnown"
	ReasonScaledToZero   = "ScaledToZero"
	ReasonProxyRefused   = "ProxyRefused"
	ReasonProxySupported = "ProxySupported"
)

// LabelProxy names the GaleraProxy an object belongs to.
const LabelProxy = "galera-operator.io/proxy"

// AnnotationTrusts records at the pods of a proxy which CAs they were made with, as fingerprints, and at the Deployment
// which ones they were given since: ProxySQL forgets none before it ends.
const AnnotationTrusts = "galera-operator.io/trusts"
