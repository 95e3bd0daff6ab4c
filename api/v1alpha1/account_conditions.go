package v1alpha1

// Condition types of a GaleraUser and a GaleraDatabase; ConditionReady is another.
const (
	// ConditionApplied is True when the account or the database is in the server as the spec asks for.
	ConditionApplied = "Applied"
	// ConditionPasswordRotated is True when the account accepts one password, and the binding Secret holds it. It is False
	// while two are accepted, and while a new one is waited for.
	ConditionPasswordRotated = "PasswordRotated"
	// ConditionProxied is True when the proxies of the cluster can log in for the account. It is absent without a proxy.
	ConditionProxied = "Proxied"
)

// Reasons of conditions of users and databases. docs/conditions.md explains each of them.
const (
	ReasonApplied             = "Applied"
	ReasonNamespaceNotAllowed = "NamespaceNotAllowed"
	ReasonWaitingCluster      = "ClusterBusy"
	ReasonExistsAlready       = "ExistsAlready"
	ReasonOwnedByAnother      = "OwnedByAnother"
	ReasonGrantNotAllowed     = "GrantNotAllowed"
	ReasonGrantWaits          = "GrantWaits"
	ReasonServerRefused       = "ServerRefused"
	ReasonPluginMissing       = "PluginMissing"
	ReasonPasswordMissing     = "PasswordMissing"
	ReasonNameTaken           = "NameTaken"
	ReasonTLSUnavailable      = "TLSUnavailable"
	ReasonRotated             = "Rotated"
	ReasonRotating            = "Rotating"
	ReasonOldPasswordAccepted = "OldPasswordAccepted"
	ReasonNoPassword          = "NoPassword"
	ReasonDropping            = "Dropping"
)

// LabelUser names the GaleraUser an object belongs to.
const LabelUser = "galera-operator.io/user"
