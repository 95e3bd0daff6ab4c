package archival

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/location"
	"github.com/galera-operator/galera-operator/internal/backup/policy/increments"
)

const (
	// maxBackupName is how long the name of a GaleraBackup may be.
	maxBackupName = 52
	// basesAtOnce is how many bases are asked for without delay; later ones follow after baseInterval, and those that
	// replace one that cannot be used after up to maxBaseInterval. Each is a full backup that stays.
	basesAtOnce     = 3
	baseInterval    = time.Hour
	maxBaseInterval = 24 * time.Hour
	// maxDamaged bounds how many damaged backups the archiver is named.
	maxDamaged = 100
)

// Request is a backup that is asked for.
type Request struct {
	Name string // "" for none
	// Failed is the one of that name that has failed, and is deleted first; nil for none. Nothing of it is a backup.
	Failed *v1alpha1.GaleraBackup
}

// withoutBase is an archive that no backup leads to yet.
func withoutBase(to *v1alpha1.ArchiveStatus, f Facts) (reason, message string, ask Request) {
	reason, message = v1alpha1.ReasonBaseMissing, "the archive has begun, and needs a backup to continue from"
	if to.Gap != "" {
		reason = v1alpha1.ReasonArchiveGap
		message = "transactions are missing in the archive (" + to.Gap +
			"): points in time from the next backup on can be restored"
	}
	next := f.nextTry(to.Chain)
	name, b := next.name, next.existing
	if next.why != "" {
		message += "; the backup " + next.why
	}
	switch {
	case b != nil && b.Status.Phase == v1alpha1.BackupCompleted:
		return reason, message + "; the backup " + name + " is complete, and is being checked", Request{}
	case b != nil && b.Status.Phase != v1alpha1.BackupFailed:
		return reason, message + "; the backup " + name + " is being made", Request{}
	case b != nil && b.Labels[v1alpha1.LabelArchiveOf] != string(f.Cluster.UID):
		return reason, message + ". It was not created by the operator: delete it", Request{}
	case b != nil && f.Archived.Unread: // what has failed may be complete all the same
		return reason, message + "; the next one is asked for when the store can be read: " + f.Archived.Kept, Request{}
	case !meta.IsStatusConditionTrue(f.Cluster.Status.Conditions, v1alpha1.ConditionReady):
		return reason, message + "; the next one is asked for when the cluster is Ready: until then a node may not write a " +
			"binary log yet", Request{}
	case next.due.After(f.Now):
		return reason,
			message + fmt.Sprintf("; the backup %s is asked for at %s: the archive has needed several, and a full "+
				"backup is made once an hour at most then", name, next.due.UTC().Format(time.RFC3339)), Request{}
	}
	return reason, message + "; the backup " + name + " is asked for", Request{name, b}
}

// try is an attempt at a backup that a chain can continue from.
type try struct {
	name     string
	existing *v1alpha1.GaleraBackup // the one of that name, nil for none
	why      string                 // why the chain does not continue from the last one, "" if there is none
	due      time.Time              // when the backup is asked for
}

// nextTry returns the present attempt. One that has failed is no backup, and is made again under its name. One that
// is complete and cannot be used stays: the next has another name, and follows later each time.
func (f Facts) nextTry(chain int64) (t try) {
	t.due = f.nextBase()
	for n := 1; ; n++ {
		t.name = baseName(f.Cluster, f.Store, chain, n)
		b := f.backup(t.name)
		t.existing = b
		switch {
		case b == nil:
			return t
		case b.Status.Phase == v1alpha1.BackupFailed:
			t.why, t.due = t.name+" has failed: "+completeMessage(b), later(t.due, b.CreationTimestamp.Add(baseInterval))
			return t
		case location.Changed(b.Status.Store, f.Store) != "" && b.Status.Phase == v1alpha1.BackupCompleted:
			t.why = t.name + " lies elsewhere: " + location.Changed(b.Status.Store, f.Store)
			continue // it is none of this archive's
		case b.Damaged():
			t.why = t.name + " is damaged"
		case f.overdue(b):
			t.why = t.name + " is none that the archive can continue from"
			if f.Archived.Unfit != "" && f.Archived.Unfit == b.Status.ID {
				t.why += ": " + f.Archived.UnfitWhy
			}
			if n == 1 && f.Archived.Segment > uint64(chain) { //nolint:gosec // positive
				// Its node had not written to its binary log since its start, so that the backup names an earlier transaction
				// than the chain begins with. Now every node has written.
				continue
			}
		default:
			return t
		}
		t.due = later(t.due, b.CreationTimestamp.Add(min(baseInterval<<min(n-1, 10), maxBaseInterval)))
	}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// overdue reports whether the archiver has had the time to find a complete backup: one that cannot read the store finds
// none. When it was complete goes by the operator's clock: by that of its Job, or its node, it may still have to come.
func (f Facts) overdue(b *v1alpha1.GaleraBackup) bool {
	if f.Archived.Unread || b.Status.Phase != v1alpha1.BackupCompleted || b.Status.CompletedAt == nil {
		return false
	}
	at := b.Status.CompletedAt.Time
	c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionComplete)
	if c != nil && c.Status == metav1.ConditionTrue {
		at = c.LastTransitionTime.Time
	}
	return f.Now.Sub(at) > startTimeout
}

// completeMessage is why a backup has failed.
func completeMessage(b *v1alpha1.GaleraBackup) string {
	if c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionComplete); c != nil {
		return c.Message
	}
	return "see its conditions"
}

// backup returns the one of a name, nil for none.
func (f Facts) backup(name string) *v1alpha1.GaleraBackup {
	i := slices.IndexFunc(f.Backups, func(b v1alpha1.GaleraBackup) bool { return b.Name == name })
	if i < 0 {
		return nil
	}
	return &f.Backups[i]
}

// nextBase returns the earliest time of the next base. Where statements fail again and again on a cluster of one node,
// the archive begins anew each time.
func (f Facts) nextBase() (at time.Time) {
	asked := 0
	for _, b := range f.Backups {
		if b.Labels[v1alpha1.LabelArchiveOf] != string(f.Cluster.UID) || b.Spec.StoreRef != f.Cluster.Spec.Backup.StoreRef {
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

// Damaged returns the IDs of the cluster's backups that were found damaged, or add to one that was, and whether there
// are more than the archiver is named.
func (f Facts) Damaged() (ids []string, more bool) {
	broken := increments.Broken(f.Backups)
	for i := range f.Backups {
		if b := &f.Backups[i]; broken[b.Status.ID] && b.Status.ClusterUID == string(f.Cluster.UID) {
			ids = append(ids, b.Status.ID)
		}
	}
	slices.Sort(ids)
	return ids[:min(len(ids), maxDamaged)], len(ids) > maxDamaged
}

// baseName is the backup that is asked for when the archive begins in a store, whatever is forgotten. try counts those
// of a chain, from 1 on.
func baseName(c *v1alpha1.GaleraCluster, s *v1alpha1.GaleraBackupStore, chain int64, try int) string {
	of := fmt.Sprint(chain)
	if try > 1 {
		of += fmt.Sprintf("-%d", try)
	}
	end := fmt.Sprintf("-base-%s-%s", shortHash(string(c.UID)+"/"+string(s.UID), 4), of)
	if len(c.Name)+len(end) <= maxBackupName {
		return c.Name + end
	}
	end = "-base-" + shortHash(c.Name+"/"+string(c.UID)+"/"+string(s.UID)+"/"+of, 6)
	return strings.TrimRight(c.Name[:min(len(c.Name), maxBackupName-len(end))], "-") + end
}

// shortHash is some bytes of a checksum, in hexadecimal.
func shortHash(text string, bytes int) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:bytes])
}
