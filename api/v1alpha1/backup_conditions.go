package v1alpha1

// ConditionReachable of a GaleraBackupStore is True when an object was written, read and deleted there at the last
// check.
const ConditionReachable = "Reachable"

// ConditionVerified of a GaleraBackup is True when it has passed the test that spec.verify asks for.
const ConditionVerified = "Verified"

// Reasons of conditions of backups, stores, schedules and restores. docs/conditions.md explains each of them.
const (
	ReasonReachable        = "Reachable"
	ReasonChecking         = "Checking"
	ReasonStoreUnreachable = "StoreUnreachable"
	ReasonStoreRefused     = "StoreRefused"
	ReasonStoreFull        = "StoreFull"
	ReasonStoreNotFound    = "StoreNotFound"
	// ReasonStoreChanged: a store names another location than the one where a backup lies.
	ReasonStoreChanged = "StoreChanged"

	ReasonWaitingForCluster = "WaitingForCluster"
	ReasonBackupRunning     = "BackupRunning"
	ReasonBackupCompleted   = "BackupCompleted"
	ReasonBackupFailed      = "BackupFailed"
	ReasonBackupNotFound    = "BackupNotFound"
	ReasonBackupDamaged     = "BackupDamaged"
	// ReasonArchiveDamaged: a segment of the archive is missing, or is not what was archived.
	ReasonArchiveDamaged = "ArchiveDamaged"
	// ReasonBackupAmbiguous: several clusters of one name have backups in a store.
	ReasonBackupAmbiguous = "BackupAmbiguous"
	// ReasonBackupMisplaced: the manifest of a backup names another cluster than its directory.
	ReasonBackupMisplaced    = "BackupMisplaced"
	ReasonVerified           = "Verified"
	ReasonVerifying          = "Verifying"
	ReasonVerificationFailed = "VerificationFailed"
	ReasonRemovingBackup     = "RemovingBackup"
	ReasonNodeFailed         = "NodeFailed"
	ReasonToolFailed         = "ToolFailed"

	ReasonRestoring      = "Restoring"
	ReasonRestoreFailed  = "RestoreFailed"
	ReasonWrongKey       = "WrongKey"
	ReasonVersionRefused = "VersionRefused"
	// ReasonKeyNeeded: the data in the backup are encrypted with keys that the cluster does not have.
	ReasonKeyNeeded      = "KeyNeeded"
	ReasonVolumeNotEmpty = "VolumeNotEmpty"

	// Of spec.bootstrapFrom.external.
	ReasonCredentialsMissing = "CredentialsMissing"
	ReasonSourceUnreachable  = "SourceUnreachable"
	ReasonSourceRefused      = "SourceRefused"
	ReasonSourceUnsuitable   = "SourceUnsuitable"
	ReasonSourceChanged      = "SourceChanged"
	ReasonImportRefused      = "ImportRefused"
	ReasonImportDiffers      = "ImportDiffers"

	// Of a GaleraRestore.
	ReasonAccessPreparing  = "AccessPreparing"
	ReasonTargetExists     = "TargetExists"
	ReasonTableNotFound    = "TableNotFound"
	ReasonTableRefused     = "TableRefused"
	ReasonLoadFailed       = "LoadFailed"
	ReasonLoadDiffers      = "LoadDiffers"
	ReasonRestoreCompleted = "RestoreCompleted"

	ReasonPointInTimeUnavailable = "PointInTimeUnavailable"
	ReasonReplayFailed           = "ReplayFailed"

	ReasonArchiving        = "Archiving"
	ReasonArchiverStarting = "ArchiverStarting"
	ReasonArchiverFailing  = "ArchiverFailing"
	ReasonArchiveGap       = "ArchiveGap"
	ReasonArchiveLags      = "ArchiveLags"
	ReasonBaseMissing      = "BaseMissing"
	// ReasonPruningPaused: any point in time can be restored, and nothing of the archive is removed.
	ReasonPruningPaused = "PruningPaused"

	ReasonScheduled       = "Scheduled"
	ReasonSuspended       = "Suspended"
	ReasonScheduleInvalid = "ScheduleInvalid"
	ReasonExpiring        = "Expiring"
	ReasonNumbersAligned  = "NumbersAligned"
)

// AnnotationStoreLocation of a Job is the StoreLocation that its store named when it was made.
const AnnotationStoreLocation = "galera-operator.io/store-location"

// Labels of backups' objects.
const (
	// LabelBackup names the GaleraBackup an object belongs to.
	LabelBackup = "galera-operator.io/backup"
	// LabelStore names the GaleraBackupStore an object belongs to.
	LabelStore = "galera-operator.io/backup-store"
	// LabelSchedule names the GaleraBackupSchedule a GaleraBackup was made by.
	LabelSchedule = "galera-operator.io/backup-schedule"
	// LabelArchiveOf is the UID of the GaleraCluster whose archive a GaleraBackup was asked for by.
	LabelArchiveOf = "galera-operator.io/archive-of"
	// LabelRestore names the GaleraRestore an object belongs to.
	LabelRestore = "galera-operator.io/restore"
	// LabelRestoreTarget names the GaleraDatabase of the new database that the Job of a GaleraRestore loads into.
	LabelRestoreTarget = "galera-operator.io/restore-target"
	// LabelMember names the node a restore's Job is for.
	LabelMember = "galera-operator.io/member"
)
