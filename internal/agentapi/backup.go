package agentapi

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"regexp"
	"time"

	"github.com/galera-operator/galera-operator/internal/galera"
)

// BackupPort is the agent's mTLS port that gives backups, to the caller whose key the operator has admitted.
const BackupPort = 8444

const (
	// PathBackups takes POST of a BackupAdmission on ControlPort.
	PathBackups = "/v1/backups"
	// PathBackup followed by the id of an admitted backup, answers GET on BackupPort with mariadb-backup's stream, and
	// after it the trailer TrailerBackup with a BackupEnd.
	PathBackup = "/v1/backup/"
	// QueryBase of PathBackup asks for what has changed since a backup that was read from this member, and names its
	// id. The member gives a full copy where it cannot.
	QueryBase = "base"
	// QueryLSN of PathBackup is the LSN of the backup that QueryBase names.
	QueryLSN = "lsn"
	// TrailerBackup is absent when the stream was cut off.
	TrailerBackup = "Galera-Backup"
)

// BackupAdmitted is how long an admission holds: the operator repeats it while it wants the backup.
const BackupAdmitted = 2 * time.Minute

var (
	backupID = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`)
	keyHash  = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// BackupAdmission lets the holder of a key take one backup.
type BackupAdmission struct {
	// ID of the backup.
	ID string `json:"id"`
	// KeySHA256 is KeyHash of the certificate the caller shows.
	KeySHA256 string `json:"keySHA256"`
}

// Check refuses what is no admission.
func (a BackupAdmission) Check() error {
	if !backupID.MatchString(a.ID) || !keyHash.MatchString(a.KeySHA256) {
		return errors.New("a backup has an id of lower-case letters, digits and '-', and keySHA256 is 64 hexadecimal digits")
	}
	return nil
}

// KeyHash is the SHA-256 of a certificate's public key, in hexadecimal.
func KeyHash(c *x509.Certificate) string {
	sum := sha256.Sum256(c.RawSubjectPublicKeyInfo)
	return hex.EncodeToString(sum[:])
}

// BackupEnd is what the agent knows at the end of a stream.
type BackupEnd struct {
	// Error explains why the backup is none, "" for a complete one.
	Error string `json:"error,omitempty"`
	// Position in Galera's history and, with a binary log, its GTID.
	Position string `json:"position,omitempty"`
	GTID     string `json:"gtid,omitempty"`
	// Line is the line of history of the data, the same one from the beginning of the copy to its end.
	Line galera.Line `json:"line,omitzero"`
	// Keys are the fingerprints of the encryption keys that the node's server had, by number, nil without; Algorithm is
	// what it encrypts with.
	Keys      map[string]string `json:"keys,omitempty"`
	Algorithm string            `json:"algorithm,omitempty"`
	// ServerVersion and Arch are the node's.
	ServerVersion string `json:"serverVersion,omitempty"`
	Arch          string `json:"arch,omitempty"`
	// Created are the settings that the data directory keeps from its creation, nil where they are not known.
	Created map[string]string `json:"created,omitempty"`
	// LSN is where an increment of this copy begins, 0 when there can be none.
	LSN uint64 `json:"lsn,omitempty"`
	// FromLSN is where this copy begins, 0 for a full one; Full is why it is full, "" where no increment was asked for.
	FromLSN uint64 `json:"fromLSN,omitempty"`
	Full    string `json:"full,omitempty"`
}

// BackupReport is the backup a member gives, or gave last.
type BackupReport struct {
	ID    string    `json:"id"`
	Since time.Time `json:"since"`
	// Bytes given so far. They alone make no new Generation.
	Bytes int64 `json:"bytes"`
	// Running reports whether it is given now. Otherwise Problem explains why it failed, "" when it did not.
	Running bool   `json:"running,omitempty"`
	Problem string `json:"problem,omitempty"`
}

// BackupResult is the answer to PathBackups.
type BackupResult struct {
	Message string `json:"message,omitempty"`
}

// AdmitBackup announces to an agent who may take a backup of it. An error explains why none is given.
func (c *Client) AdmitBackup(ctx context.Context, host string, a BackupAdmission) error {
	var result BackupResult
	return c.ask(ctx, host, PathBackups, a, &result, &result.Message)
}
