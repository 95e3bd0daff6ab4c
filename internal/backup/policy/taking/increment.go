package taking

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/manifest"
	"github.com/galera-operator/galera-operator/internal/backup/policy/increments"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

const (
	// incrementAttempts is after how many failed attempts to make an increment a full backup is made.
	incrementAttempts = 3
	// maxReason bounds what a Job says of a full backup, in bytes.
	maxReason = 1000
)

// addTo writes down which backup an increment adds to, and the node that it is read from then.
func addTo(to *v1alpha1.GaleraBackupStatus, f Facts, nodes []string) {
	before := to.Incremental
	to.Incremental = nil
	if f.Backup.Spec.Incremental == nil {
		return
	}
	to.Incremental = &v1alpha1.BackupChain{}
	if before != nil {
		to.Incremental.Failures = before.Failures
	}
	if to.Incremental.Failures >= incrementAttempts {
		to.Incremental.FullBecause = "the attempts to make an increment have failed"
		return
	}
	base, why := increments.Base(increments.Wanted{Backup: f.Backup, Store: f.Store, Directory: to.Directory,
		Recipients: to.Recipients, Nodes: nodes}, f.Backups)
	if to.Incremental.FullBecause = why; base == nil {
		return
	}
	to.Node = base.Status.Node
	to.Incremental.Base, to.Incremental.Depth = base.Status.ID, 1
	if of := base.Status.Incremental; of != nil {
		to.Incremental.Depth += of.Depth
	}
}

// adds reports whether the present attempt is one at an increment.
func adds(to *v1alpha1.GaleraBackupStatus) bool {
	return to.Incremental != nil && to.Incremental.Base != ""
}

// incrementFailed counts an attempt at an increment that has failed. A full backup would have failed for the store as
// well.
func incrementFailed(to *v1alpha1.GaleraBackupStatus, reason string) {
	switch reason {
	case v1alpha1.ReasonStoreUnreachable, v1alpha1.ReasonStoreFull, v1alpha1.ReasonStoreRefused:
		return
	}
	if adds(to) {
		to.Incremental.Failures++
	}
}

// chained records the place of a stored backup in a chain, and describes it.
func chained(to *v1alpha1.GaleraBackupStatus, s task.Stored) string {
	to.LSN = int64(min(s.LSN, math.MaxInt64)) //nolint:gosec // bounded
	if s.Base != "" {
		to.Incremental = &v1alpha1.BackupChain{Base: s.Base,
			Depth: int32(min(s.Depth, manifest.MaxDepth))} //nolint:gosec // bounded
		return fmt.Sprintf(", increment %d of a chain, added to %s", s.Depth, s.Base)
	}
	if to.Incremental == nil {
		return ""
	}
	full := strings.ToValidUTF8(s.Full[:min(len(s.Full), maxReason)], "")
	to.Incremental = &v1alpha1.BackupChain{FullBecause: cmp.Or(full, to.Incremental.FullBecause)}
	return "; it is a full backup: " + cmp.Or(to.Incremental.FullBecause, "the reason is not known")
}
