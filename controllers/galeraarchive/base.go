package galeraarchive

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

const (
	// maxBackupName is how long the name of a GaleraBackup may be.
	maxBackupName = 52
	// basesAtOnce is how many bases are asked for without delay; later ones follow after baseEvery. Each is a full backup
	// that stays.
	basesAtOnce  = 3
	baseInterval = time.Hour
	// maxDamaged bounds how many damaged backups the archiver is named.
	maxDamaged = 100
)

// unbased is an archive that no backup leads to yet.
func unbased(to *v1alpha1.ArchiveStatus, f facts) (reason, message, base string) {
	reason, message = v1alpha1.ReasonBaseMissing, "the archive has begun, and needs a backup to continue from"
	if to.Gap != "" {
		reason = v1alpha1.ReasonArchiveGap
		message = "transactions are missing in the archive (" + to.Gap +
			"): points in time from the next backup on can be restored"
	}
	name := baseName(f.cluster, f.store, to.Chain)
	b := f.backup(name)
	switch {
	case b == nil && !meta.IsStatusConditionTrue(f.cluster.Status.Conditions, v1alpha1.ConditionReady):
		message += ", which is asked for when the cluster is Ready: until then a node may not write a binary log yet"
	case b == nil && f.nextBase().After(f.now):
		message += fmt.Sprintf(
			"; the backup %s is asked for at %s: the archive has had a gap several times, and a full backup is made once an "+
				"hour then",
			name, f.nextBase().UTC().Format(time.RFC3339))
	case b == nil:
		base = name
		message += "; the backup " + name + " is asked for"
	case b.Status.Phase == v1alpha1.BackupFailed:
		message += "; the backup " + name + " has failed: see it, and make another one"
	case b.Damaged():
		message += "; the backup " + name + " is damaged: make another one"
	case b.Status.Phase == v1alpha1.BackupCompleted && b.Status.CompletedAt != nil &&
		f.now.Sub(b.Status.CompletedAt.Time) > startTimeout:
		message += "; the archive cannot continue from the backup " + name + ": make another one"
	case b.Status.Phase == v1alpha1.BackupCompleted:
		message += "; the backup " + name + " is complete, and is being checked"
	default:
		message += "; the backup " + name + " is being made"
	}
	return reason, message, base
}

// backup returns the one of a name, nil for none.
func (f facts) backup(name string) *v1alpha1.GaleraBackup {
	i := slices.IndexFunc(f.backups, func(b v1alpha1.GaleraBackup) bool { return b.Name == name })
	if i < 0 {
		return nil
	}
	return &f.backups[i]
}

// nextBase returns the earliest time of the next base. Where statements fail again and again on a cluster of one node,
// the archive begins anew each time.
func (f facts) nextBase() (at time.Time) {
	asked := 0
	for _, b := range f.backups {
		if b.Labels[v1alpha1.LabelArchiveOf] != string(f.cluster.UID) || b.Spec.StoreRef != f.cluster.Spec.Backup.StoreRef {
			continue
		}
		asked++
		if due := b.CreationTimestamp.Add(baseInterval); due.After(at) {
			at = due
		}
	}
	if asked < basesAtOnce {
		return time.Time{}
	}
	return at
}

// damaged returns the IDs of the cluster's backups that were found damaged, and whether there are more than the
// archiver is named.
func (f facts) damaged() (ids []string, more bool) {
	for i := range f.backups {
		if b := &f.backups[i]; b.Damaged() && b.Status.ClusterUID == string(f.cluster.UID) && b.Status.ID != "" {
			ids = append(ids, b.Status.ID)
		}
	}
	slices.Sort(ids)
	return ids[:min(len(ids), maxDamaged)], len(ids) > maxDamaged
}

// baseName is the backup that is asked for when the archive begins in a store: once, whatever is forgotten.
func baseName(c *v1alpha1.GaleraCluster, s *v1alpha1.GaleraBackupStore, chain int64) string {
	end := fmt.Sprintf("-base-%s-%d", shortHash(string(c.UID)+"/"+string(s.UID), 4), chain)
	if len(c.Name)+len(end) <= maxBackupName {
		return c.Name + end
	}
	end = "-base-" + shortHash(c.Name+"/"+string(c.UID)+"/"+string(s.UID)+"/"+fmt.Sprint(chain), 6)
	return strings.TrimRight(c.Name[:min(len(c.Name), maxBackupName-len(end))], "-") + end
}

// shortHash is some bytes of a checksum, in hexadecimal.
func shortHash(text string, bytes int) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:bytes])
}
