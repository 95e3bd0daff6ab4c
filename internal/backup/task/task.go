// Package task is what a Job of a backup is given, and what it reports: the vocabulary of the operator and of the
// program in the Job.
package task

import (
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/manifest"
)

// Where a Job's pod has what it needs.
const (
	// EnvTask is the environment variable with the Task, in JSON.
	EnvTask = "BACKUP_TASK"
	// BinDir has the program, in pods of another image.
	BinDir = "/opt/backup"
	// StoreDir has the credentials, and the CA, of the object store.
	StoreDir = "/etc/backup/store"
	// AccessKeyID, SecretAccessKey and SessionToken are files in StoreDir with credentials of S3.
	AccessKeyID     = "access-key-id"
	SecretAccessKey = "secret-access-key"
	SessionToken    = "session-token"
	// ServiceAccountKey is Google's, AccountKey and SASToken are Azure's.
	ServiceAccountKey = "key.json"
	AccountKey        = "account-key"
	SASToken          = "sas-token"
	// CA is the file there with what the endpoint's certificate is verified by.
	CA = "ca.crt"
	// VolumeDir is the volume of a store that is one.
	VolumeDir = "/var/lib/backups"
	// AgentDir has the pair a backup's Job shows to the agent, and the CA it believes.
	AgentDir = "/etc/backup/agent"
	// ClientDir has the archiver's certificate and its key, and the CA of the nodes.
	ClientDir = "/etc/backup/client"
	// ArchiverPort is where the archiver reports Archived.
	ArchiverPort = 8445
	// PathArchived is the path there.
	PathArchived = "/archived"
	// PipeDir is shared by the containers of a restore, Pipe the socket in it that the backup's plaintext comes from.
	PipeDir = "/run/backup"
	Pipe    = PipeDir + "/pipe"
	// KeysDir has the private keys of a restore.
	KeysDir = "/etc/backup/keys"
	// ClusterDir has what an account logs in to a living cluster with: the files host, username, password and CA.
	ClusterDir      = "/etc/backup/cluster"
	ClusterHost     = "host"
	ClusterUser     = "username"
	ClusterPassword = "password"
	// SourceDir has the credentials of a server that is copied, in the files SourceUser and SourcePassword, and its CA.
	SourceDir      = "/etc/backup/source"
	SourceUser     = "username"
	SourcePassword = "password"
	// SourceCADir has its CA, in the file CA.
	SourceCADir = "/etc/backup/source-ca"
	// ResultFile is read by kubelet as the pod's termination message.
	ResultFile = "/dev/termination-log"
	// MaxResult is what Kubernetes keeps of it, in bytes.
	MaxResult = 4096
)

// Task is what one Job does: exactly one of the pointers is set.
type Task struct {
	Store   Store    `json:"store"`
	Check   *Check   `json:"check,omitempty"`
	Backup  *Backup  `json:"backup,omitempty"`
	Find    *Find    `json:"find,omitempty"`
	Restore *Restore `json:"restore,omitempty"`
	Remove  *Remove  `json:"remove,omitempty"`
	// Describe reports a backup that is in the store.
	Describe *Describe `json:"describe,omitempty"`
	Verify   *Verify   `json:"verify,omitempty"`
	Archive  *Archive  `json:"archive,omitempty"`
	// Lease renews the lease by which the nodes of a cluster accept writes.
	Lease *Lease `json:"lease,omitempty"`
	// Serve lets a cluster at another site follow the archive.
	Serve *Serve `json:"serve,omitempty"`
	// Load loads tables of a backup into a living cluster.
	Load *Load `json:"load,omitempty"`
	// Inspect and Import are about a server that is no cluster of the operator.
	Inspect *External `json:"inspect,omitempty"`
	Import  *External `json:"import,omitempty"`
}

// Services that keep objects.
const (
	ServiceS3    = "s3"
	ServiceGCS   = "gcs"
	ServiceAzure = "azure"
)

// Store is a place for backups.
type Store struct {
	// Service is one of the Service constants; "" for a volume.
	Service string `json:"service,omitempty"`
	// Bucket, or container of the Account at Azure.
	Bucket    string `json:"bucket,omitempty"`
	Account   string `json:"account,omitempty"`
	Prefix    string `json:"prefix,omitempty"`
	Endpoint  string `json:"endpoint,omitempty"`
	Region    string `json:"region,omitempty"`
	PathStyle bool   `json:"pathStyle,omitempty"`
	// Credentials reports whether they are in StoreDir; otherwise they are those of the pod's identity.
	Credentials bool `json:"credentials,omitempty"`
	// StorageClass of the parts of backups, Encryption and KMSKey that of all objects, and their Tags, at S3; "" and nil
	// for what the bucket has.
	StorageClass string            `json:"storageClass,omitempty"`
	Encryption   string            `json:"encryption,omitempty"`
	KMSKey       string            `json:"kmsKey,omitempty"`
	Tags         map[string]string `json:"tags,omitempty"`
}

// Check writes, reads and deletes an object, and counts the backups.
type Check struct {
	// Recipients are the age public keys that backups are encrypted for. Each must be one: its last characters are a
	// checksum.
	Recipients []string `json:"recipients,omitempty"`
	// SingleWriter allows a store that creates nothing conditionally.
	SingleWriter bool `json:"singleWriter,omitempty"`
}

// Backup copies a node's data into the store.
type Backup struct {
	// Manifest is what is known of the backup before.
	Manifest manifest.Manifest `json:"manifest"`
	// Attempt is the number of the attempt. One that was given up, and goes on all the same, leaves later ones alone.
	Attempt int32 `json:"attempt,omitempty"`
	// Dir is the directory it is to lie in; "" for that of its cluster.
	Dir string `json:"dir,omitempty"`
	// Address of the node's agent, HOST:PORT, and the name in its certificate.
	Address    string `json:"address"`
	ServerName string `json:"serverName"`
	// Rate bounds what is read from the node, in bytes per second; 0 for no bound.
	Rate int64 `json:"rate,omitempty"`
	// Level is that of the compression (archive.Options).
	Level string `json:"level,omitempty"`
	// SingleWriter reports whether the store creates nothing conditionally, and nothing else writes to it.
	SingleWriter bool `json:"singleWriter,omitempty"`
}

// Find looks for a backup, and tries the private keys on it.
type Find struct {
	// Dir is a directory of the store, ID the backup's; "" for the latest below Dir.
	Dir string `json:"dir"`
	ID  string `json:"id,omitempty"`
	// IDField is the field that ID is given in, for messages; "" where none names a backup (spec.replicaOf).
	IDField string `json:"idField,omitempty"`
	// Checksum is that of its manifest, "" if it is not on record.
	Checksum string `json:"checksum,omitempty"`
	// Target is the point in time to restore, nil for the backup itself. Without an ID the latest backup before it is
	// taken.
	Target *binlog.Target `json:"target,omitempty"`
	// After is the last transaction of another cluster that the one of the backup had followed before the archive began,
	// "" for any archive: with a Target, one that began before is that of an earlier time in which it accepted writes.
	After string `json:"after,omitempty"`
	// Damaged are the directories, with the ID, of backups that a test has found damaged: without an ID none of them is
	// taken, nor an increment of one.
	Damaged []string `json:"damaged,omitempty"`
	// Created is as in Restore.
	Created map[string]string `json:"created,omitempty"`
}

// Replay applies the archive to a restored backup.
type Replay struct {
	Target binlog.Target `json:"target"`
	// From and To are the numbers of the first and the last segment that are needed, 0 for none; Bytes is what they hold.
	From  uint64 `json:"from,omitempty"`
	To    uint64 `json:"to,omitempty"`
	Bytes int64  `json:"bytes,omitempty"`
	// Sum is the checksum of the last segment's head, which covers all before.
	Sum string `json:"sum,omitempty"`
	// Domain is the archive's, Chain the number of the segment that the chain has begun with.
	Domain uint32 `json:"domain,omitempty"`
	Chain  uint64 `json:"chain,omitempty"`
	// Settings of the cluster's configuration.
	Settings map[string]string `json:"settings,omitempty"`
}

// Remove deletes one backup, if its manifest has the Checksum; "" for any.
type Remove struct {
	Dir      string `json:"dir"`
	ID       string `json:"id"`
	Checksum string `json:"checksum,omitempty"`
	// Others are the IDs of backups in Dir that are known not to add to it: their manifests need not be read.
	Others []string `json:"others,omitempty"`
}

// Describe names a backup whose manifest is read, and whose parts are looked for.
type Describe struct {
	Dir string `json:"dir"`
	ID  string `json:"id"`
}

// Verify tests a backup.
type Verify struct {
	// Dir is the directory the backup lies in, ID the backup's, Checksum that of its manifest.
	Dir      string `json:"dir"`
	ID       string `json:"id"`
	Checksum string `json:"checksum,omitempty"`
	// Restore reports whether it is restored, and every table checked; otherwise it is read only.
	Restore bool `json:"restore,omitempty"`
	// History is a UUID for the data while they are restored.
	History string `json:"history,omitempty"`
	// Keys are as in Restore.
	Keys map[string]string `json:"keys,omitempty"`
}

// Result is what a Job reports.
type Result struct {
	// Error explains why it has failed, "" when it has not; Reason is one of the Reason constants.
	Error  string `json:"error,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Fatal reports whether another attempt would fail as well.
	Fatal bool `json:"fatal,omitempty"`
	// Damaged is the ID of the backup that BackupDamaged is about, maybe one that an increment adds to; "" for unknown.
	Damaged string `json:"damaged,omitempty"`
	// TookSeconds is how long the program was at work.
	TookSeconds float64 `json:"tookSeconds,omitempty"`

	Backup   *Stored   `json:"backup,omitempty"`
	Replay   *Replay   `json:"replay,omitempty"`
	Restored *Restored `json:"restored,omitempty"`
	Checked  *Checked  `json:"checked,omitempty"`
	Verified *Verified `json:"verified,omitempty"`
	Source   *Source   `json:"source,omitempty"`
	Loaded   *Loaded   `json:"loaded,omitempty"`
}

// Stored is a backup as a status describes it.
type Stored struct {
	ID            string    `json:"id"`
	Dir           string    `json:"dir"`
	Node          string    `json:"node,omitempty"`
	Position      string    `json:"position,omitempty"`
	GTID          string    `json:"gtid,omitempty"`
	ServerVersion string    `json:"serverVersion,omitempty"`
	StartedAt     time.Time `json:"startedAt,omitzero"`
	CompletedAt   time.Time `json:"completedAt,omitzero"`
	StreamBytes   int64     `json:"streamBytes,omitempty"`
	StoredBytes   int64     `json:"storedBytes,omitempty"`
	// Checksum is the manifest's.
	Checksum string `json:"checksum,omitempty"`
	// Keys are the fingerprints of the keys that the data are encrypted with, by number.
	Keys map[string]string `json:"keys,omitempty"`
	// ClusterUID and Recipients are the manifest's, where the operator does not know them.
	ClusterUID string   `json:"clusterUID,omitempty"`
	Recipients []string `json:"recipients,omitempty"`
	// Base is the ID of the backup that it is an increment of, "" for a full one; Depth the number of increments in the
	// chain. LSN is where an increment of it begins, 0 for none. Full is why it is full though an increment was asked for.
	Base  string `json:"base,omitempty"`
	Depth int    `json:"depth,omitempty"`
	LSN   uint64 `json:"lsn,omitempty"`
	Full  string `json:"full,omitempty"`
}

// Restored is what a volume was filled with.
type Restored struct {
	ID string `json:"id"`
	// Position of the data in their new history, Source in the old one.
	Position string `json:"position"`
	Source   string `json:"source"`
	// GTID is the last transaction of the archive that was applied, "" when none was to be.
	GTID string `json:"gtid,omitempty"`
	// Late is how many transactions after it name a time before the target.
	Late int `json:"late,omitempty"`
}

// Verified is what a test has found good.
type Verified struct {
	// ID is the backup's.
	ID     string `json:"id"`
	Tables int    `json:"tables,omitempty"`
	// Segments are those of the archive that were found whole, and in order: from the backup before this one on.
	Segments int `json:"segments,omitempty"`
}

// Checked is what lies in a store that can be used.
type Checked struct {
	Backups int `json:"backups"`
	// Latest are some of them, the newest first.
	Latest []Stored `json:"latest,omitempty"`
	// Unread names an object that the store does not give out, and why.
	Unread string `json:"unread,omitempty"`
}

// Reasons of a failure. They are also reasons of conditions (api/v1alpha1).
const (
	ReasonStoreUnreachable       = "StoreUnreachable"
	ReasonStoreRefused           = "StoreRefused"
	ReasonStoreFull              = "StoreFull"
	ReasonBackupNotFound         = "BackupNotFound"
	ReasonBackupAmbiguous        = "BackupAmbiguous"
	ReasonBackupDamaged          = "BackupDamaged"
	ReasonBackupMisplaced        = "BackupMisplaced"
	ReasonBackupNeeded           = "BackupNeeded"
	ReasonArchiveDamaged         = "ArchiveDamaged"
	ReasonWrongKey               = "WrongKey"
	ReasonVersionRefused         = "VersionRefused"
	ReasonVolumeNotEmpty         = "VolumeNotEmpty"
	ReasonDiskFull               = "DiskFull"
	ReasonNodeFailed             = "NodeFailed"
	ReasonToolFailed             = "ToolFailed"
	ReasonPointInTimeUnavailable = "PointInTimeUnavailable"
	ReasonReplayFailed           = "ReplayFailed"
	ReasonKeyNeeded              = "KeyNeeded"
	ReasonForbiddenSetting       = "ForbiddenSetting"

	ReasonTargetExists  = "TargetExists"
	ReasonTableNotFound = "TableNotFound"
	ReasonTableRefused  = "TableRefused"
	ReasonLoadFailed    = "LoadFailed"
	ReasonLoadDiffers   = "LoadDiffers"

	ReasonSourceUnreachable = "SourceUnreachable"
	ReasonSourceRefused     = "SourceRefused"
	ReasonSourceChanged     = "SourceChanged"
	ReasonImportRefused     = "ImportRefused"
	ReasonImportDiffers     = "ImportDiffers"
)
