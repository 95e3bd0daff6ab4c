package galeraarchive

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

const (
	// startTime is how long an archiver may need before its silence is a failure.
	startTime = 2 * time.Minute
	// lagMost is how far the archive may be behind, beside its interval.
	lagMost = time.Minute
	// backupNameMost is how long the name of a GaleraBackup may be.
	backupNameMost = 52
	// tellEvery is how often times that move are written down.
	tellEvery = 10 * time.Second
)

// decide brings status.backup up to date, and names the backup to be made, "" for none. It is pure.
func decide(to *v1alpha1.ArchiveStatus, f facts) (base string) {
	if a := f.archived; a != nil {
		to.Node, to.Segments = a.Node, int64(a.Segment) //nolint:gosec // a segment a second for ever
		if to.ArchivedThrough == nil || a.Through.Sub(to.ArchivedThrough.Time) >= tellEvery {
			to.ArchivedGTID, to.ArchivedThrough = a.GTID, timeOf(a.Through)
		}
		if a.Surveyed {
			to.Chain, to.Gap, to.Base, to.RecoverableFrom = int64(a.Chain), a.Gap, a.Base, timeOf(a.From) //nolint:gosec // as above
		}
	}
	lag(to, f.now)
	to.Reason, to.Message, base = judge(to, f)
	return base
}

// lag tells how far behind the archive is, in steps: a status that changes with every look wakes every watcher.
func lag(to *v1alpha1.ArchiveStatus, now time.Time) {
	if to.ArchivedThrough == nil {
		to.Lag = nil
		return
	}
	d := max(0, now.Sub(to.ArchivedThrough.Time)).Truncate(tellEvery)
	to.Lag = &metav1.Duration{Duration: d}
}

// judge says what is wrong, or waited for.
func judge(to *v1alpha1.ArchiveStatus, f facts) (reason, message, base string) {
	interval := 10 * time.Second
	if i := f.cluster.Spec.Backup.PointInTime.Interval; i != nil {
		interval = i.Duration
	}
	a := f.archived
	switch {
	case a == nil && f.problem.reason != "":
		return f.problem.reason, f.problem.message, ""
	case a == nil && (to.ArchivedThrough == nil || f.now.Sub(to.ArchivedThrough.Time) < startTime):
		return v1alpha1.ReasonArchiverStarting, f.silent, ""
	case a == nil:
		return v1alpha1.ReasonArchiverFailing, f.silent, ""
	case (a.Chain == 0 || !a.Surveyed) && a.Problem != "":
		return or(a.Reason, v1alpha1.ReasonArchiverStarting), a.Problem, ""
	case a.Chain == 0 || !a.Surveyed:
		return v1alpha1.ReasonArchiverStarting, "the archiver looks for where the archive ends", ""
	case a.Base == "":
		return unbased(to, f)
	case to.Lag != nil && to.Lag.Duration > interval+lagMost && a.Problem != "":
		return or(a.Reason, v1alpha1.ReasonArchiverFailing), fmt.Sprintf("nothing is archived since %s: %s", clock(to.ArchivedThrough), a.Problem), ""
	case to.Lag != nil && to.Lag.Duration > interval+lagMost:
		return v1alpha1.ReasonArchiveLags, fmt.Sprintf("the archive is behind: it has what was committed until %s", clock(to.ArchivedThrough)), ""
	}
	return v1alpha1.ReasonArchiving, "any point in time from " + clock(to.RecoverableFrom) + " on can be restored, up to status.backup.archivedThrough", ""
}

// unbased is an archive that no backup leads to yet.
func unbased(to *v1alpha1.ArchiveStatus, f facts) (reason, message, base string) {
	reason, message = v1alpha1.ReasonBaseMissing, "the archive has begun, and needs a backup to go on from"
	if to.Gap != "" {
		reason = v1alpha1.ReasonArchiveGap
		message = "transactions are missing in the archive (" + to.Gap + "): points in time from the next backup on can be restored"
	}
	b := f.base
	switch {
	case b == nil && !meta.IsStatusConditionTrue(f.cluster.Status.Conditions, v1alpha1.ConditionReady):
		message += ", which is asked for when the cluster is Ready: until then a node may not write a binary log yet"
	case b == nil:
		base = baseName(f.cluster, to.Chain)
		message += "; the backup " + base + " is asked for"
	case b.Status.Phase == v1alpha1.BackupFailed:
		message += "; the backup " + b.Name + " has failed: see it, and make another one"
	case b.Status.Phase == v1alpha1.BackupCompleted && b.Status.CompletedAt != nil && f.now.Sub(b.Status.CompletedAt.Time) > startTime:
		message += "; the backup " + b.Name + " is none that it goes on from: make another one"
	case b.Status.Phase == v1alpha1.BackupCompleted:
		message += "; the backup " + b.Name + " is complete, and is being looked at"
	default:
		message += "; the backup " + b.Name + " is being made"
	}
	return reason, message, base
}

// baseName is the backup that is asked for when the archive begins: once, whatever is forgotten.
func baseName(c *v1alpha1.GaleraCluster, chain int64) string {
	name := fmt.Sprintf("%s-base-%s-%d", c.Name, string(c.UID)[:min(len(c.UID), 8)], chain)
	if len(name) <= backupNameMost {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	end := "-base-" + hex.EncodeToString(sum[:6])
	return strings.TrimRight(c.Name[:min(len(c.Name), backupNameMost-len(end))], "-") + end
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func timeOf(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	return &metav1.Time{Time: t.Truncate(time.Second)}
}

func clock(t *metav1.Time) string {
	if t == nil {
		return "never"
	}
	return t.UTC().Format(time.RFC3339)
}
