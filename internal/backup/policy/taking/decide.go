package taking

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/clone"
	"github.com/galera-operator/galera-operator/internal/backup/manifest"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/status"
)

const (
	// maxAttempts is after how many attempts a backup has failed, maxUnavailable how long a store that is away or full is
	// waited for, with as many attempts at least: a backup may have waited for its cluster all that time.
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

// Decision is what to do in addition to the status.
type Decision struct {
	// Run reports whether the present attempt is in progress: its Job and its admission are to be there.
	Run          bool
	RequeueAfter time.Duration
	// Damaged is the ID of a backup that the tested one adds to, and that was found damaged; "" for none. It is held
	// against that backup before the status is written.
	Damaged string
}

// Decide brings the status a step further. It is pure.
func Decide(to *v1alpha1.GaleraBackupStatus, f Facts) Decision {
	to.ObservedGeneration = f.Backup.Generation
	if to.Phase == v1alpha1.BackupRunning {
		return running(to, f)
	}
	reason, message, stalled := blockingReason(f)
	var nodes []string
	if reason == "" {
		if nodes, message = choose(f); len(nodes) == 0 {
			reason = v1alpha1.ReasonWaitingForCluster
		}
	}
	wait := pause(to.Attempts, to.AttemptedAt, f.Now)
	if reason == "" && wait <= 0 {
		begin(to, f, nodes)
		return Decision{RequeueAfter: time.Second}
	}
	to.Phase = v1alpha1.BackupPending
	if reason != "" { // otherwise the conditions explain why the last attempt failed
		setConditions(to, f, reason, message, stalled)
	}
	return Decision{RequeueAfter: min(PollInterval, max(wait, time.Second))}
}

// pause is how long the next attempt has to wait after so many attempts, the last at a time.
func pause(attempts int32, last *metav1.Time, now time.Time) time.Duration {
	if attempts == 0 || last == nil {
		return 0
	}
	return min(attemptFirst<<min(attempts-1, 10), attemptPause) - now.Sub(last.Time)
}

// blockingReason returns what keeps a backup from beginning, "" for nothing.
func blockingReason(f Facts) (reason, message string, stalled bool) {
	b := f.Backup
	refused := unwanted(f)
	switch {
	case refused != "":
		return v1alpha1.ReasonNamespaceNotAllowed, refused, true
	case f.Cluster == nil:
		return v1alpha1.ReasonClusterNotFound, fmt.Sprintf(
			"there is no GaleraCluster %q in this namespace: create it, or delete this backup", b.Spec.ClusterRef.Name), true
	case f.Store == nil:
		return v1alpha1.ReasonStoreNotFound, fmt.Sprintf(
			"there is no GaleraBackupStore %q in this namespace: create it, or delete this backup", b.Spec.StoreRef.Name), true
	case f.Cluster.Paused():
		return v1alpha1.ReasonClusterPaused, "the cluster is paused: remove its annotation " + v1alpha1.AnnotationPause, false
	case f.Cluster.Spec.Hibernate:
		return v1alpha1.ReasonWaitingForCluster, "the cluster hibernates: set its spec.hibernate to false", false
	case f.Other != "":
		return v1alpha1.ReasonWaitingForCluster, "the backup " + f.Other + ", of the same cluster, is in progress", false
	}
	reason, message = status.StoreProblem(f.Store)
	return reason, message, false
}

// choose names the nodes that may be read, the best first: Synced, giving nothing else, and not the primary if there is
// another one; not the one of the attempt before, either. Otherwise it returns what it waits for.
func choose(f Facts) (nodes []string, why string) {
	c := f.Cluster
	if op := c.Status.Operation; op != nil {
		return nil, fmt.Sprintf("waiting for the cluster's operation %s to end", op.Type)
	}
	if !meta.IsStatusConditionTrue(c.Status.Conditions, v1alpha1.ConditionAvailable) {
		return nil, "waiting for the cluster to accept writes"
	}
	var good []string
	for name, s := range f.Agents {
		if serves(s) {
			good = append(good, name)
		}
	}
	if len(good) < int(c.Status.Replicas) && f.Now.Sub(f.Backup.CreationTimestamp.Time) < healthyWait {
		return nil, fmt.Sprintf("waiting for all nodes to be Synced: %d of %d are", len(good), c.Status.Replicas)
	}
	slices.Sort(good)
	last := f.Backup.Status.Node
	slices.SortStableFunc(good, func(a, b string) int {
		return rank(a, c.Status.Primary, last) - rank(b, c.Status.Primary,
			last)
	})
	switch {
	case len(good) == 0:
		return nil, "waiting for a Synced node"
	case good[0] == c.Status.Primary && c.Status.Replicas > 1 && f.Now.Before(f.Backup.CreationTimestamp.Add(primaryWait)):
		return nil, fmt.Sprintf("waiting for a Synced node that is not the primary; the primary is read from %s on",
			f.Backup.CreationTimestamp.Add(primaryWait).UTC().Format(time.RFC3339))
	}
	if last := len(good) - 1; last > 0 && good[last] == c.Status.Primary {
		good = good[:last]
	}
	return good, ""
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
func begin(to *v1alpha1.GaleraBackupStatus, f Facts, nodes []string) {
	b := f.Backup
	to.Phase, to.Node, to.Attempts = v1alpha1.BackupRunning, nodes[0], to.Attempts+1
	to.AttemptedAt = new(metav1.NewTime(f.Now))
	// Another cluster of that name may have come since the attempt before.
	to.ClusterUID, to.Directory = string(f.Cluster.UID), directory(f)
	if to.ID == "" {
		to.ID = ID(b)
		to.Recipients = slices.Clone(f.Store.Spec.Encryption.Recipients)
	}
	to.Progress = nil
	what := "the data of "
	if addTo(to, f, nodes); to.Incremental != nil && to.Incremental.Base != "" {
		what = "what has changed since the backup " + to.Incremental.Base + " on "
	}
	setConditions(to, f, v1alpha1.ReasonBackupRunning, "copying "+what+to.Node, false)
}

// ID is the backup's own: that of the object which has made it, by its UID.
func ID(b *v1alpha1.GaleraBackup) string {
	return b.CreationTimestamp.UTC().Format("20060102-150405-") + strings.SplitN(string(b.UID), "-", 2)[0]
}

// directory is where the backup lies in its store. That of a clone lies with the clone: the source's own backups, and
// the archive that goes on from them, may lie in the same bucket, and are not to be mixed with what is short-lived.
func directory(f Facts) string {
	of := f.Cluster
	if f.Clone != nil {
		of = f.Clone
	}
	return manifest.Dir(of.Namespace, of.Name, string(of.UID))
}

// running follows an attempt.
func running(to *v1alpha1.GaleraBackupStatus, f Facts) Decision {
	if f.Job.Location != nil {
		to.Store = f.Job.Location
	}
	switch refused := unwanted(f); {
	case f.Job.Done && f.Job.Result.Error == "" && f.Job.Result.Backup != nil && f.Job.Result.Backup.ID != to.ID:
		failed(to, f, task.Result{Error: fmt.Sprintf("the Job has stored the backup %q, not %s", f.Job.Result.Backup.ID,
			to.ID)})
		return Decision{RequeueAfter: time.Second}
	case f.Job.Done && f.Job.Result.Error == "" && f.Job.Result.Backup != nil:
		complete(to, f, *f.Job.Result.Backup)
		return Decision{}
	case f.Job.Done:
		failed(to, f, f.Job.Result)
		return Decision{RequeueAfter: time.Second}
	case refused != "":
		failed(to, f, task.Result{Error: refused, Reason: v1alpha1.ReasonNamespaceNotAllowed, Fatal: true})
		return Decision{}
	case f.Cluster == nil || f.Store == nil:
		reason, message, _ := blockingReason(f)
		failed(to, f, task.Result{Error: message, Reason: reason, Fatal: true})
		return Decision{}
	case !f.Job.Exists && storeProblem(f) != "":
		setConditions(to, f, v1alpha1.ReasonBackupRunning, storeProblem(f), false)
		return Decision{RequeueAfter: PollInterval}
	case f.Job.Waits != "":
		setConditions(to, f, v1alpha1.ReasonBackupRunning, f.Job.Waits, false)
	default:
		progress(to, f)
	}
	return Decision{Run: true, RequeueAfter: PollInterval}
}

// storeProblem is why no Job may use the store now, "" when one may.
func storeProblem(f Facts) string {
	_, message := status.StoreProblem(f.Store)
	return message
}

// failed ends an attempt, and the backup if another one makes no sense.
func failed(to *v1alpha1.GaleraBackupStatus, f Facts, r task.Result) {
	reason := r.Reason
	if reason == "" {
		reason = v1alpha1.ReasonBackupFailed
	}
	to.Progress = nil
	incrementFailed(to, reason)
	if r.Fatal || last(to, f, reason) {
		to.Phase = v1alpha1.BackupFailed
		setConditions(to, f, reason, fmt.Sprintf("%s (attempt %d); nothing is stored that counts as a backup. Correct the "+
			"cause, and create another backup", r.Error, to.Attempts), true)
		return
	}
	to.Phase = v1alpha1.BackupPending
	setConditions(to, f, reason, fmt.Sprintf("attempt %d has failed and is made again: %s", to.Attempts, r.Error), false)
}

// last reports whether no further attempt is made. A store that is away or full may be well again tomorrow.
func last(to *v1alpha1.GaleraBackupStatus, f Facts, reason string) bool {
	if reason == v1alpha1.ReasonStoreUnreachable || reason == v1alpha1.ReasonStoreFull {
		return f.Now.Sub(f.Backup.CreationTimestamp.Time) >= maxUnavailable && to.Attempts >= maxAttempts
	}
	if adds(to) && reason != v1alpha1.ReasonStoreRefused { // it counts, and after the third one a full backup is made
		return false
	}
	return to.Attempts >= maxAttempts
}

func complete(to *v1alpha1.GaleraBackupStatus, f Facts, s task.Stored) {
	to.Phase, to.Progress = v1alpha1.BackupCompleted, nil
	to.Node, to.Position, to.GTID, to.ServerVersion, to.Checksum = s.Node, s.Position, s.GTID, s.ServerVersion, s.Checksum
	to.StartedAt, to.CompletedAt = new(metav1.NewTime(s.StartedAt)), new(metav1.NewTime(s.CompletedAt))
	to.DataSize, to.StoredSize = size(s.StreamBytes), size(s.StoredBytes)
	to.EncryptionKeys = nil
	for _, id := range slices.Sorted(maps.Keys(s.Keys)) {
		to.EncryptionKeys = append(to.EncryptionKeys, v1alpha1.EncryptionKeyStatus{ID: id, Fingerprint: s.Keys[id]})
	}
	setConditions(to, f, v1alpha1.ReasonBackupCompleted, fmt.Sprintf("%s in the store, read from %s at %s%s",
		to.StoredSize, s.Node, s.Position, chained(to, s)), false)
}

// progress records how far the node's agent is.
func progress(to *v1alpha1.GaleraBackupStatus, f Facts) {
	r := f.Agents[to.Node].Report
	if r.Backup == nil || r.Backup.ID != to.ID || !r.Backup.Running || to.Progress != nil &&
		f.Now.Sub(updated(to, f)) < progressInterval {
		return
	}
	took := f.Now.Sub(r.Backup.Since)
	p := &v1alpha1.BackupProgress{BytesDone: *size(r.Backup.Bytes)}
	if seconds := int64(took / time.Second); seconds > 0 {
		p.Rate = size(r.Backup.Bytes / seconds)
	}
	if total := r.DataBytes; total > 0 && !adds(to) {
		p.BytesTotal = size(total)
		p.Summary = fmt.Sprintf("%d%%", min(99, 100*r.Backup.Bytes/total))
		if rate := rate(p); rate > 0 && total > r.Backup.Bytes {
			p.ETA = new(metav1.NewTime(f.Now.Add(time.Duration((total-r.Backup.Bytes)/rate) * time.Second).
				Truncate(time.Second)))
		}
	}
	to.Progress = p
	to.ProgressAt = new(metav1.NewTime(f.Now))
}

// rate is in bytes per second, 0 in the first second.
func rate(p *v1alpha1.BackupProgress) int64 {
	if p.Rate == nil {
		return 0
	}
	return p.Rate.Value()
}

func updated(to *v1alpha1.GaleraBackupStatus, f Facts) time.Time {
	if to.ProgressAt == nil {
		return f.Now.Add(-progressInterval)
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

// SetEnd sets Stalled and Reconciling as the end of a backup, or of its last test, has them.
func SetEnd(to *v1alpha1.GaleraBackupStatus, generation int64) {
	c, stalled := meta.FindStatusCondition(to.Conditions, v1alpha1.ConditionComplete), to.Phase == v1alpha1.BackupFailed
	if v := meta.FindStatusCondition(to.Conditions, v1alpha1.ConditionVerified); v != nil && !stalled {
		c, stalled = v, v.Status == metav1.ConditionFalse && v.Reason != v1alpha1.ReasonVerifying
	}
	if c != nil {
		status.SetProgress(&to.Conditions, generation, status.Progress{Stalled: stalled, Reason: c.Reason,
			Message: c.Message})
	}
}

func setConditions(to *v1alpha1.GaleraBackupStatus, f Facts, reason, message string, stalled bool) {
	done := to.Phase == v1alpha1.BackupCompleted
	g := f.Backup.Generation
	status.SetCondition(&to.Conditions, g, v1alpha1.ConditionComplete, done, reason, message)
	status.SetProgress(&to.Conditions, g, status.Progress{Working: !done && to.Phase != v1alpha1.BackupFailed,
		Stalled: stalled, Reason: reason, Message: message})
}

// unwanted returns the reason why a backup may not be of the cluster it names, "" when it may. Consent is asked for
// until the copy is complete.
func unwanted(f Facts) string {
	b := f.Backup
	namespace, name := b.Source()
	switch {
	case f.Clone != nil && clone.Admits(f.Cluster, b.Namespace):
		return ""
	case f.Clone != nil && namespace != b.Namespace:
		return clone.Refusal(namespace, name, b.Namespace)
	case namespace != b.Namespace:
		return fmt.Sprintf(
			"a backup is of a cluster in its own namespace: to copy the cluster %s/%s, create a GaleraCluster with "+
				"spec.bootstrapFrom.cluster, and delete this backup", namespace, name)
	case f.Clone == nil && clone.Owner(b) != nil:
		return fmt.Sprintf("no GaleraCluster %q asks for this backup: delete it", clone.Owner(b).Name)
	}
	return "" // there is no such cluster: that is reported with another reason
}
