package galerabackup

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/manifest"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/status"
)

const (
	// maxAttempts is after how many attempts a backup has failed, awayMost for how long a store that is away or full is
	// waited for.
	maxAttempts    = 5
	maxUnavailable = 6 * time.Hour
	// attemptFirst is the pause after the first attempt, which doubles up to attemptPause.
	attemptFirst = 10 * time.Second
	attemptPause = 5 * time.Minute
	// healthyWait is how long a backup waits for all nodes to be Synced; then any that is will do, after primaryWait the
	// primary, too: before a cluster is rebuilt from its last node, a backup is needed most.
	healthyWait = 10 * time.Minute
	primaryWait = 20 * time.Minute
	// progressInterval is how often progress is written down.
	progressInterval = 10 * time.Second
)

// decision is what to do in addition to the status.
type decision struct {
	// run reports whether the present attempt is under way: its Job and its admission are to be there.
	run          bool
	requeueAfter time.Duration
}

// decide brings the status a step further. It is pure.
func decide(to *v1alpha1.GaleraBackupStatus, f facts) decision {
	to.ObservedGeneration = f.backup.Generation
	if to.Phase == v1alpha1.BackupRunning {
		return running(to, f)
	}
	reason, message, stalled := blockingReason(f)
	node := ""
	if reason == "" {
		if node, message = choose(f); node == "" {
			reason = v1alpha1.ReasonBackupWaiting
		}
	}
	wait := pause(to, f.now)
	if reason == "" && wait <= 0 {
		begin(to, f, node)
		return decision{requeueAfter: time.Second}
	}
	to.Phase = v1alpha1.BackupPending
	if reason != "" { // otherwise the conditions explain why the last attempt failed
		setConditions(to, f, reason, message, stalled)
	}
	return decision{requeueAfter: min(whileWaiting, max(wait, time.Second))}
}

// pause is how long the next attempt has to wait.
func pause(to *v1alpha1.GaleraBackupStatus, now time.Time) time.Duration {
	if to.Attempts == 0 || to.AttemptedAt == nil {
		return 0
	}
	return min(attemptFirst<<min(to.Attempts-1, 10), attemptPause) - now.Sub(to.AttemptedAt.Time)
}

// blockingReason returns what keeps a backup from beginning, "" for nothing.
func blockingReason(f facts) (reason, message string, stalled bool) {
	b := f.backup
	refused := unwanted(f)
	switch {
	case refused != "":
		return v1alpha1.ReasonNamespaceRefused, refused, true
	case f.cluster == nil:
		return v1alpha1.ReasonClusterNotFound, fmt.Sprintf(
			"there is no GaleraCluster %q in this namespace: create it, or delete this backup", b.Spec.ClusterRef.Name), true
	case f.store == nil:
		return v1alpha1.ReasonStoreNotFound, fmt.Sprintf(
			"there is no GaleraBackupStore %q in this namespace: create it, or delete this backup", b.Spec.StoreRef.Name), true
	case f.cluster.Paused():
		return v1alpha1.ReasonClusterPaused, "the cluster is paused (annotation galera-operator.io/pause)", false
	case f.cluster.Spec.Hibernate:
		return v1alpha1.ReasonBackupWaiting, "the cluster hibernates", false
	case f.other != "":
		return v1alpha1.ReasonBackupWaiting, "the backup " + f.other + ", of the same cluster, is under way", false
	}
	reason, message = status.StoreProblem(f.store)
	return reason, message, false
}

// choose names the node to read from: Synced, giving nothing else, and not the primary if there is another one; not the
// one of the attempt before, either. Otherwise it returns what it waits for.
func choose(f facts) (node, why string) {
	c := f.cluster
	if op := c.Status.Operation; op != nil {
		return "", fmt.Sprintf("waiting for the cluster's operation %s to end", op.Type)
	}
	if !meta.IsStatusConditionTrue(c.Status.Conditions, v1alpha1.ConditionAvailable) {
		return "", "waiting for the cluster to accept writes"
	}
	var good []string
	for name, s := range f.agents {
		if serves(s) {
			good = append(good, name)
		}
	}
	if len(good) < int(c.Status.Replicas) && f.now.Sub(f.backup.CreationTimestamp.Time) < healthyWait {
		return "", fmt.Sprintf("waiting for all nodes to be Synced: %d of %d are", len(good), c.Status.Replicas)
	}
	slices.Sort(good)
	last := f.backup.Status.Node
	slices.SortStableFunc(good, func(a, b string) int {
		return rank(a, c.Status.Primary, last) - rank(b, c.Status.Primary,
			last)
	})
	switch {
	case len(good) == 0:
		return "", "waiting for a Synced node"
	case good[0] == c.Status.Primary && c.Status.Replicas > 1 && f.now.Before(f.backup.CreationTimestamp.Add(primaryWait)):
		return "", fmt.Sprintf("waiting for a Synced node that is not the primary; the primary is read from %s on",
			f.backup.CreationTimestamp.Add(primaryWait).UTC().Format(time.RFC3339))
	}
	return good[0], ""
}

func rank(name, primary, last string) int {
	switch name {
	case primary:
		return 2
	case last:
		return 1
	}
	return 0
}

func serves(s observe.Seen) bool {
	r := s.Report
	return s.Live && r.Server != nil && r.Server.State == galera.NodeSynced && r.Server.Ready && r.Donation == nil &&
		!r.Draining &&
		(r.Backup == nil || !r.Backup.Running)
}

// begin writes down the next attempt.
func begin(to *v1alpha1.GaleraBackupStatus, f facts, node string) {
	b := f.backup
	to.Phase, to.Node, to.Attempts = v1alpha1.BackupRunning, node, to.Attempts+1
	to.AttemptedAt = new(metav1.NewTime(f.now))
	// Another cluster of that name may have come since the attempt before.
	to.ClusterUID, to.Directory = string(f.cluster.UID), directory(f)
	if to.ID == "" {
		to.ID = ID(b)
		to.Recipients = slices.Clone(f.store.Spec.Encryption.Recipients)
	}
	to.Progress = nil
	setConditions(to, f, v1alpha1.ReasonBackupRunning, "copying the data of "+node, false)
}

// ID is the backup's own: that of the object which has made it, by its UID.
func ID(b *v1alpha1.GaleraBackup) string {
	return b.CreationTimestamp.UTC().Format("20060102-150405-") + strings.SplitN(string(b.UID), "-", 2)[0]
}

// directory is where the backup lies in its store. That of a clone lies with the clone: the source's own backups, and
// the archive that goes on from them, may lie in the same bucket, and are not to be mixed with what is short-lived.
func directory(f facts) string {
	of := f.cluster
	if f.clone != nil {
		of = f.clone
	}
	return manifest.Dir(of.Namespace, of.Name, string(of.UID))
}

// running follows an attempt.
func running(to *v1alpha1.GaleraBackupStatus, f facts) decision {
	switch refused := unwanted(f); {
	case f.job.Done && f.job.Result.Error == "" && f.job.Result.Backup != nil && f.job.Result.Backup.ID != to.ID:
		failed(to, f, task.Result{Error: fmt.Sprintf("the Job has stored the backup %q, not %s", f.job.Result.Backup.ID,
			to.ID)})
		return decision{requeueAfter: time.Second}
	case f.job.Done && f.job.Result.Error == "" && f.job.Result.Backup != nil:
		complete(to, f, *f.job.Result.Backup)
		return decision{}
	case f.job.Done:
		failed(to, f, f.job.Result)
		return decision{requeueAfter: time.Second}
	case refused != "":
		failed(to, f, task.Result{Error: refused, Reason: v1alpha1.ReasonNamespaceRefused, Fatal: true})
		return decision{}
	case f.cluster == nil || f.store == nil:
		reason, message, _ := blockingReason(f)
		failed(to, f, task.Result{Error: message, Reason: reason, Fatal: true})
		return decision{}
	case !f.job.Exists && storeProblem(f) != "":
		setConditions(to, f, v1alpha1.ReasonBackupRunning, storeProblem(f), false)
		return decision{requeueAfter: whileWaiting}
	case f.job.Waits != "":
		setConditions(to, f, v1alpha1.ReasonBackupRunning, f.job.Waits, false)
	default:
		progress(to, f)
	}
	return decision{run: true, requeueAfter: whileWaiting}
}

// storeProblem is why no Job may use the store now, "" when one may.
func storeProblem(f facts) string {
	_, message := status.StoreProblem(f.store)
	return message
}

// failed ends an attempt, and the backup if another one makes no sense.
func failed(to *v1alpha1.GaleraBackupStatus, f facts, r task.Result) {
	reason := r.Reason
	if reason == "" {
		reason = v1alpha1.ReasonBackupFailed
	}
	to.Progress = nil
	if r.Fatal || last(to, f, reason) {
		to.Phase = v1alpha1.BackupFailed
		setConditions(to, f, reason, fmt.Sprintf("%s (attempt %d); nothing is stored that counts as a backup", r.Error,
			to.Attempts), true)
		return
	}
	to.Phase = v1alpha1.BackupPending
	setConditions(to, f, reason, fmt.Sprintf("attempt %d has failed and is made again: %s", to.Attempts, r.Error), false)
}

// last reports whether no further attempt is made. A store that is away or full may be well again tomorrow.
func last(to *v1alpha1.GaleraBackupStatus, f facts, reason string) bool {
	if reason == v1alpha1.ReasonStoreUnreachable || reason == v1alpha1.ReasonStoreFull {
		return f.now.Sub(f.backup.CreationTimestamp.Time) >= maxUnavailable
	}
	return to.Attempts >= maxAttempts
}

func complete(to *v1alpha1.GaleraBackupStatus, f facts, s task.Stored) {
	to.Phase, to.Progress = v1alpha1.BackupCompleted, nil
	to.Node, to.Position, to.GTID, to.ServerVersion, to.Checksum = s.Node, s.Position, s.GTID, s.ServerVersion, s.Checksum
	to.StartedAt, to.CompletedAt = new(metav1.NewTime(s.StartedAt)), new(metav1.NewTime(s.CompletedAt))
	to.DataSize, to.StoredSize = size(s.StreamBytes), size(s.StoredBytes)
	setConditions(to, f, v1alpha1.ReasonBackupDone, fmt.Sprintf("%s in the store, read from %s at %s", to.StoredSize,
		s.Node, s.Position), false)
}

// progress records how far the node's agent is.
func progress(to *v1alpha1.GaleraBackupStatus, f facts) {
	r := f.agents[to.Node].Report
	if r.Backup == nil || r.Backup.ID != to.ID || !r.Backup.Running || to.Progress != nil &&
		f.now.Sub(updated(to, f)) < progressInterval {
		return
	}
	took := f.now.Sub(r.Backup.Since)
	p := &v1alpha1.BackupProgress{BytesDone: *size(r.Backup.Bytes)}
	if seconds := int64(took / time.Second); seconds > 0 {
		p.Rate = size(r.Backup.Bytes / seconds)
	}
	if total := r.DataBytes; total > 0 {
		p.BytesTotal = size(total)
		p.Summary = fmt.Sprintf("%d%%", min(99, 100*r.Backup.Bytes/total))
		if rate := rate(p); rate > 0 && total > r.Backup.Bytes {
			p.ETA = new(metav1.NewTime(f.now.Add(time.Duration((total-r.Backup.Bytes)/rate) * time.Second).
				Truncate(time.Second)))
		}
	}
	to.Progress = p
	to.ProgressAt = new(metav1.NewTime(f.now))
}

// rate is in bytes per second, 0 in the first second.
func rate(p *v1alpha1.BackupProgress) int64 {
	if p.Rate == nil {
		return 0
	}
	return p.Rate.Value()
}

func updated(to *v1alpha1.GaleraBackupStatus, f facts) time.Time {
	if to.ProgressAt == nil {
		return f.now.Add(-progressInterval)
	}
	return to.ProgressAt.Time
}

// size is a number of bytes, as people read it.
func size(bytes int64) *resource.Quantity {
	for _, unit := range []int64{1 << 20, 1 << 10} {
		if bytes >= 16*unit {
			bytes = bytes / unit * unit
			break
		}
	}
	return resource.NewQuantity(bytes, resource.BinarySI)
}

func setConditions(to *v1alpha1.GaleraBackupStatus, f facts, reason, message string, stalled bool) {
	done := to.Phase == v1alpha1.BackupCompleted
	g := f.backup.Generation
	status.SetCondition(&to.Conditions, g, v1alpha1.ConditionComplete, done, reason, message)
	status.SetProgress(&to.Conditions, g, status.Progress{Working: !done && to.Phase != v1alpha1.BackupFailed,
		Stalled: stalled, Reason: reason, Message: message})
}
