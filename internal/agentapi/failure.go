package agentapi

import (
	"time"
)

// Failure is why a member cannot run, from facts.
type Failure struct {
	// Reason is one of the Failure… constants.
	Reason string `json:"reason"`
	// Message is a sentence for the user.
	Message string    `json:"message"`
	At      time.Time `json:"at"`
	// ExitCode of mariadbd or of the tool that failed, where there was one.
	ExitCode int `json:"exitCode,omitempty"`
}

// Reasons of a Failure.
const (
	FailureNoProvider     = "GaleraProviderMissing" // the image has no libgalera_smm.so
	FailureNoServer       = "MariaDBMissing"        // the image has no mariadbd that could be run
	FailureToolMissing    = "ToolMissing"           // mariadb-backup, socat, rsync, stunnel …
	FailureInitialisation = "InitialisationFailed"
	FailureRecovery       = "PositionUnknown" // mariadbd --wsrep-recover failed
	FailureStart          = "ServerExited"    // mariadbd exited before it was Synced
	FailureSettings       = "SettingsRefused" // mariadbd names a setting it does not know or accept
	FailureZeroUUID       = "ZeroClusterUUID" // Primary with the zero UUID: stopped
	FailureForeignUUID    = "ForeignClusterUUID"
	FailureCertificate    = "CertificateUnusable"
	FailureDiskFull       = "DiskFull"
	// FailureKeys: the keys of the encryption at rest are missing, or are not those of the data. Nothing is started.
	FailureKeys = "KeysUnusable"
	// FailureTransfer: a state transfer (SST or IST) broke off; the message contains the exit code and the
	// output of its programs.
	FailureTransfer = "TransferFailed"
	// FailureStalled: an SST or IST made no progress for StateTransferConfig.Stall, and mariadbd was killed (package
	// lifecycle). Conditions show it with the reason TransferFailed.
	FailureStalled = "TransferStalled"
	// FailureDonorLost: the donor left the group, or gave up, in the middle of a transfer.
	FailureDonorLost = "TransferDonorLost"
	// FailureOtherCluster: the data are those of another cluster, by the record on the volume.
	FailureOtherCluster = "OtherCluster"
	// FailureDiverged: the member holds write-sets the Primary component never had (same UUID).
	FailureDiverged = "HistoryDiverged"
	// FailureInconsistent: the group has voted the member out because its data differ from the others'. It rejoins by SST,
	// and is never bootstrapped.
	FailureInconsistent = "Inconsistent"
	// FailureLeft: a member that had served lost its group, and was restarted.
	FailureLeft = "LeftTheGroup"
	// FailureOrderBook: the order book on the volume cannot be read. The member refuses orders and does not
	// start: it might repeat a bootstrap, or not know that its data were given up.
	FailureOrderBook = "OrderBookDamaged"
	// FailureDowngrade: the image's mariadbd is of an older series than one that has used the data here, or
	// than all possible donors.
	FailureDowngrade = "Downgrade"
	// FailureUpgrade: mariadb-upgrade failed. The member serves, with system tables of an earlier version.
	FailureUpgrade = "UpgradeFailed"
	// FailureConfig: the published NodeConfig cannot be read, or does not name this member.
	FailureConfig = "ConfigUnusable"
	// FailureHung: mariadbd runs and has not answered on its socket for too long.
	FailureHung = "ServerHung"
	// FailureLogin: mariadbd runs, and refuses the agent's login. What it serves is not known.
	FailureLogin = "LoginRefused"
	// FailureRoot: the server refuses the statements that set root's password. The member serves.
	FailureRoot = "RootRefused"
	// FailureExamining: the examination of the data directory (mariadbd --wsrep-recover) takes too long. It continues.
	FailureExamining = "ExaminationSlow"
	// FailureFrozen: the data volume has not answered a small write for too long. The server is not killed.
	FailureFrozen = "VolumeFrozen"
	// FailureReadOnly: the data volume refuses writes, so that no order can be recorded, and none is taken.
	FailureReadOnly = "VolumeReadOnly"
)

// ConfigReason is why a published configuration was not loaded.
type ConfigReason string

const (
	// ConfigSettings are settings that mariadbd does not know, accept, or start with. Agents of earlier releases report no
	// reason.
	ConfigSettings ConfigReason = "Settings"
	// ConfigUnchecked are settings that mariadbd has not checked: it could not be run, or did not end in time.
	ConfigUnchecked ConfigReason = "Unchecked"
	// ConfigUnreadable is a file that is missing, or cannot be read.
	ConfigUnreadable ConfigReason = "Unreadable"
	// ConfigInvalid is a document that is none of this agent's cluster, or of another release.
	ConfigInvalid ConfigReason = "Invalid"
	// ConfigNotWritten are files for mariadbd that could not be written.
	ConfigNotWritten ConfigReason = "NotWritten"
)
