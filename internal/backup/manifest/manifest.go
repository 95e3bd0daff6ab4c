// Package manifest describes a backup as it lies in its store: enough to restore it with nothing but the bucket and the
// private key. It is pure.
package manifest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
)

// Format is the version of a full backup's manifest, IncrementFormat that of an increment's, and the latest that this
// package reads: a program that knows full backups only must not take an increment for one.
const (
	Format          = 1
	IncrementFormat = 2
)

// MaxDepth is the most increments in a chain.
const MaxDepth = 30

const (
	// Name is the manifest's below the directory of a backup. It is written last: without it there is no backup.
	Name = "manifest.json"
	// MaxSize bounds a manifest that is read, in bytes.
	MaxSize = 64 << 20
)

// Compressions of a stream.
const (
	CompressionNone = "None"
	CompressionZstd = "Zstd"
)

// Manifest of one backup.
type Manifest struct {
	// Format is the version of this document.
	Format int `json:"format"`
	// ID is the backup's, unique in its store.
	ID string `json:"id"`
	// Namespace and Cluster are where the data come from, ClusterUID reports which of that name.
	Namespace  string `json:"namespace"`
	Cluster    string `json:"cluster"`
	ClusterUID string `json:"clusterUID"`
	// Node the data were read from.
	Node string `json:"node"`
	// Position in Galera's history, UUID:SEQNO, and GTID the position in the binary log, "" without one.
	Position string `json:"position"`
	GTID     string `json:"gtid,omitempty"`
	// Line is the line of history of the data, and Session the time in which the cluster's binary log was archived without
	// a break, "" when it was not: both report which archive the backup is a base of.
	Line    binlog.Line `json:"line,omitzero"`
	Session string      `json:"session,omitempty"`
	// Base is the backup that this one adds to, nil for a full one. LSN is InnoDB's where an increment of this one
	// begins, 0 when there can be none.
	Base *Base  `json:"base,omitempty"`
	LSN  uint64 `json:"lsn,omitempty"`
	// ServerVersion that wrote the data, and the processor it ran on (GOARCH).
	ServerVersion string    `json:"serverVersion"`
	Arch          string    `json:"arch"`
	StartedAt     time.Time `json:"startedAt"`
	CompletedAt   time.Time `json:"completedAt"`
	// Compression of the stream: None or Zstd. It is compressed first, then encrypted.
	Compression string `json:"compression"`
	// Recipients are the age public keys it was encrypted for: any of their private keys reads it.
	Recipients []string `json:"recipients"`
	// Keys are the fingerprints of the keys that the data in the stream are encrypted with (package atrest), by number;
	// nil when they are not encrypted in themselves.
	Keys map[string]string `json:"keys,omitempty"`
	// Algorithm is what they are encrypted with, "" when they are not.
	Algorithm string `json:"algorithm,omitempty"`
	// Created are the settings that the data directory keeps from its creation (mycnf.Created), nil in manifests of
	// earlier releases.
	Created map[string]string `json:"created,omitempty"`
	// StreamBytes is the length of mariadb-backup's stream (mbstream), StreamSHA256 its checksum in hexadecimal.
	StreamBytes  int64  `json:"streamBytes"`
	StreamSHA256 string `json:"streamSHA256"`
	// Attempt is the directory of the parts, below the backup's: a Job that is being given up may still write there.
	Attempt string `json:"attempt,omitempty"`
	// Parts, one after the other, are the encrypted stream.
	Parts []Part `json:"parts"`
}

// Base is the backup of the same directory that an increment adds to.
type Base struct {
	ID string `json:"id"`
	// Checksum is its manifest's, LSN its LSN.
	Checksum string `json:"checksum"`
	LSN      uint64 `json:"lsn"`
	// Depth is the number of increments in the chain, with the one that names this base.
	Depth int `json:"depth"`
}

// Extends reports why an increment does not add to a base with this manifest, "" when it does.
func (m Manifest) Extends(base Manifest, checksum string) string {
	depth := 1
	if base.Base != nil {
		depth = base.Base.Depth + 1
	}
	switch {
	case m.Base == nil || m.Base.ID != base.ID:
		return "it is not an increment of that backup"
	case m.Base.Checksum != checksum:
		return "the manifest of that backup is another one than when the increment was made"
	case m.Base.LSN != base.LSN || base.LSN == 0 || m.Base.Depth != depth:
		return "its LSN, or its place in the chain, does not fit that backup"
	}
	return ""
}

// Part is one object of the encrypted stream.
type Part struct {
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// Dir is where the backups of a cluster lie in a store. Clusters of one name, here or in another Kubernetes, are
// distinguished by their UID.
func Dir(namespace, cluster, uid string) string {
	return path.Join(namespace, cluster, strings.SplitN(uid, "-", 2)[0])
}

// Part is the path of a part below the directory of its backup.
func (m Manifest) Part(index int) string { return path.Join(m.Attempt, PartName(index)) }

// id is the name of a backup in its directory.
var id = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`)

// fits reports whether a manifest names a base, nil for none, as its format does.
func (b *Base) fits(m Manifest) bool {
	if b == nil {
		return m.Format == Format
	}
	return m.Format == IncrementFormat && id.MatchString(b.ID) && b.ID != m.ID && b.LSN > 0 && b.Depth >= 1 &&
		b.Depth <= MaxDepth
}

// attempt is the name of one.
var attempt = regexp.MustCompile(`^[a-z0-9]{0,32}$`)

// PartName is the name of a part.
func PartName(index int) string { return fmt.Sprintf("part-%06d", index) }

// StoredBytes is the length of all parts together.
func (m Manifest) StoredBytes() (sum int64) {
	for _, p := range m.Parts {
		sum += p.Size
	}
	return sum
}

// Checksum is the SHA-256 of the manifest's own text, in hexadecimal: it covers the checksums of all parts.
func Checksum(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// maxPart is larger than any object of a store, so that sums of sizes are sizes.
const maxPart = 1 << 45

// Parse reads a manifest. The error describes what is wrong with one that cannot be used.
func Parse(text []byte) (Manifest, error) {
	var m Manifest
	if err := json.Unmarshal(text, &m); err != nil {
		return m, fmt.Errorf("the manifest is damaged: %w", err)
	}
	switch {
	case m.Format > IncrementFormat:
		return m, fmt.Errorf("the manifest has format %d, and this program reads up to %d: use a later release", m.Format,
			IncrementFormat)
	case m.Format < 1 || m.ID == "" || len(m.Parts) == 0:
		return m, errors.New("the manifest is damaged: it names no format, no ID or no parts")
	case !m.Base.fits(m):
		return m, fmt.Errorf("the manifest is damaged: format %d, base %+v", m.Format, m.Base)
	case !attempt.MatchString(m.Attempt):
		return m, fmt.Errorf("the manifest is damaged: attempt %q", m.Attempt)
	case m.Compression != CompressionNone && m.Compression != CompressionZstd:
		return m, fmt.Errorf("the manifest is damaged: compression %q", m.Compression)
	}
	for _, p := range m.Parts {
		if p.Size < 0 || p.Size > maxPart {
			return m, fmt.Errorf("the manifest is damaged: a part of %d bytes", p.Size)
		}
	}
	return m, nil
}

// Later reports whether the backup was written by a later series of MariaDB than version, which could not read it.
// Versions that cannot be read are not compared.
func Later(backup, version string) bool {
	a, okA := series(backup)
	b, okB := series(version)
	return okA && okB && (a[0] > b[0] || a[0] == b[0] && a[1] > b[1])
}

func series(version string) (s [2]int, ok bool) {
	n, err := fmt.Sscanf(version, "%d.%d", &s[0], &s[1])
	return s, err == nil && n == len(s)
}
