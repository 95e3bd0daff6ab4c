package v1alpha1

// Condition types of a GaleraCluster.
const (
	// ConditionReady is True when the cluster is as the spec asks for: every node is Synced in one Primary component, the
	// wanted configuration runs on all of them and the TLS policy is observed to be in force; or, with spec.hibernate, all
	// nodes are stopped. It is False during routine work: alarms belong on Available and Stalled.
	ConditionReady = "Ready"
	// ConditionAvailable is True while the cluster accepts writes: the node behind the Service NAME-primary is in the
	// Primary component and serves.
	ConditionAvailable = "Available"
	// ConditionReconciling is True while the operator works towards the spec (kstatus).
	ConditionReconciling = "Reconciling"
	// ConditionStalled is True when manual action is required (kstatus).
	ConditionStalled = "Stalled"
	// ConditionPaused is True while the annotation AnnotationPause keeps the operator from acting.
	ConditionPaused = "Paused"
	// ConditionEncrypted is True when every channel was observed, on every node, to use TLS with the cluster's certificate
	// and to refuse plaintext.
	ConditionEncrypted = "Encrypted"
	// ConditionEncryptedAtRest is True when every node's agent has read the files on its volume, the last of them less
	// than a few minutes ago and all of them within two days, and found none in clear that MariaDB can encrypt, and no
	// gcache in clear. It is there with spec.encryption only.
	ConditionEncryptedAtRest = "EncryptedAtRest"
	// ConditionCertificatesValid is True when the published certificate is valid and loaded by all nodes.
	ConditionCertificatesValid = "CertificatesValid"
	// ConditionQuorumHealthy is True when the cluster is one Primary component.
	ConditionQuorumHealthy = "QuorumHealthy"
	// ConditionUpToDate is True when every node runs with what the spec and this operator ask for, and every agent is the
	// operator's. It is False while a restart or the replacement of an agent waits for a maintenance window: the cluster
	// is Ready meanwhile.
	ConditionUpToDate = "UpToDate"
	// ConditionDurable is True when the settings put an acknowledged write on the disk of the node that acknowledged it.
	ConditionDurable = "Durable"
	// ConditionCPUStarved is True while a node's container got no processor for a second or longer within the last minute.
	// A node that gets none for five seconds is evicted by the others.
	ConditionCPUStarved = "CPUStarved"
	// ConditionPointInTimeRecoverable is True when the archive of the binary log goes on from a backup without a gap, and
	// keeps up. It is there with spec.backup.pointInTime only.
	ConditionPointInTimeRecoverable = "PointInTimeRecoverable"
)

// Reasons of conditions. docs/conditions.md explains each of them and the remedy.
const (
	ReasonReady       = "Ready"
	ReasonHibernated  = "Hibernated"
	ReasonHibernating = "Hibernating"
	ReasonHealthy     = "Healthy"
	ReasonDone        = "Done"
	ReasonAvailable   = "Available"
	ReasonNotPaused   = "NotPaused"
	// ReasonPaused is also a reason of a GaleraBenchmark.
	ReasonPaused = "Paused"

	// Reasons of UpToDate.
	ReasonUpToDate           = "UpToDate"
	ReasonUpdating           = "Updating"
	ReasonMaintenancePending = "MaintenancePending"

	// Reasons of Durable.
	ReasonDurable     = "Durable"
	ReasonFlushedLate = "FlushedLate"

	// Problems with the environment: certificates, volumes, hosts, images and settings.
	ReasonIssuerNotFound         = "IssuerNotFound"
	ReasonIssuerNotReady         = "IssuerNotReady"
	ReasonCertManagerMissing     = "CertManagerMissing"
	ReasonCertManagerUnavailable = "CertManagerUnavailable"
	ReasonCertificatePending     = "CertificatePending"
	ReasonCertificateRefused     = "CertificateRefused"
	ReasonCertificateExpired     = "CertificateExpired"
	ReasonSecretWrongKind        = "SecretWrongKind"
	ReasonStorageClassMissing    = "StorageClassMissing"
	ReasonVolumeNotExpandable    = "VolumeNotExpandable"
	ReasonVolumeExpanding        = "VolumeExpanding"
	ReasonClaimHeld              = "ClaimHeld"
	ReasonUnschedulable          = "Unschedulable"
	ReasonImageUnusable          = "ImageUnusable"
	ReasonDowngradeRefused       = "DowngradeRefused"
	ReasonPodMetadataRefused     = "PodMetadataRefused"
	ReasonSidecarFailing         = "SidecarFailing"
	ReasonUpgradeRefused         = "UpgradeRefused"
	ReasonImagePullFailed        = "ImagePullFailed"
	ReasonForbiddenSetting       = "ForbiddenSetting"
	ReasonSettingsRefused        = "SettingsRefused"
	ReasonNameConflict           = "NameConflict"
	ReasonUndecodable            = "Undecodable"
	ReasonAdmissionRefused       = "AdmissionRefused"
	ReasonTransferToolsMissing   = "TransferToolsMissing"
	ReasonTransferFailed         = "TransferFailed"
	ReasonDiskFull               = "DiskFull"
	ReasonStatementBlocked       = "StatementBlocked"

	// ReasonNoProcessor is the reason of CPUStarved.
	ReasonNoProcessor = "NoProcessor"

	// States of the component.
	ReasonFirstStart           = "FirstStart"
	ReasonJoining              = "Joining"
	ReasonRestarting           = "Restarting"
	ReasonUpgrading            = "Upgrading"
	ReasonUpgradeFailed        = "UpgradeFailed"
	ReasonScaling              = "Scaling"
	ReasonRecovering           = "Recovering"
	ReasonQuorumLost           = "QuorumLost"
	ReasonWaitingForMembers    = "WaitingForMembers"
	ReasonPositionUnknown      = "PositionUnknown"
	ReasonDataLost             = "DataLost"
	ReasonForeignData          = "ForeignData"
	ReasonForeignMembers       = "ForeignMembers"
	ReasonForeignPeers         = "ForeignPeers"
	ReasonIdentityUnknown      = "IdentityUnknown"
	ReasonOrderBookDamaged     = "OrderBookDamaged"
	ReasonTwoPrimaryComponents = "TwoPrimaryComponents"
	ReasonMemberFailed         = "MemberFailed"
	ReasonAgentUnreachable     = "AgentUnreachable"
	ReasonNoMajority           = "NoMajority"
	ReasonPrimaryNotServing    = "PrimaryNotServing"
	ReasonConfigurationStale   = "ConfigurationStale"

	// Encryption.
	ReasonProved               = "Proved"
	ReasonDisabled             = "Disabled"
	ReasonPartlyEncrypted      = "PartlyEncrypted"
	ReasonPlaintextAccepted    = "PlaintextAccepted"
	ReasonPlaintextSessions    = "PlaintextSessions"
	ReasonPeerUnverified       = "PeerUnverified"
	ReasonSwitching            = "Switching"
	ReasonSwitchRefused        = "SwitchRefused"
	ReasonRebootstrapRequired  = "RebootstrapRequired"
	ReasonNotYetProved         = "NotYetProved"
	ReasonCertificateNotLoaded = "CertificateNotLoaded"
	ReasonOldCATrusted         = "OldCATrusted"
	ReasonRenewalRefused       = "RenewalRefused"

	// Encryption at rest.
	ReasonKeysPending   = "KeysPending"
	ReasonKeysMissing   = "KeysMissing"
	ReasonKeysRefused   = "KeysRefused"
	ReasonKeysUnusable  = "KeysUnusable"
	ReasonFilesInClear  = "FilesInClear"
	ReasonGCacheInClear = "GCacheInClear"

	// Requests by annotation.
	ReasonRequestRefused = "RequestRefused"
)
