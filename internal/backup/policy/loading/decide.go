// Package loading decides about a GaleraRestore: what it waits for, when a Job begins, and what an ended one means. It
// is pure: controllers/galerarestore gathers the facts and acts.
package loading

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/location"
	"github.com/galera-operator/galera-operator/internal/backup/outcome"
	"github.com/galera-operator/galera-operator/internal/backup/policy/restoration"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/status"
)

const (
	// PollInterval is how often a pass is made while waiting for something that sends no event.
	PollInterval = 5 * time.Second
	// maxFailures is after how many failed Jobs a restore is given up.
	maxFailures = 5
	// firstPause is the pause after a failure, which doubles up to maxPause.
	firstPause = 10 * time.Second
	maxPause   = 5 * time.Minute
)

// Facts are what one pass decides from.
type Facts struct {
	Restore *v1alpha1.GaleraRestore
	Cluster *v1alpha1.GaleraCluster // nil when there is none
	// Source is where the backup lies, Blocker why that is not known.
	Source  restoration.Source
	Blocker restoration.Problem
	// Access is what the account and the databases of the load lack, the zero value for nothing.
	Access restoration.Problem
	// Stuck reports whether a person has to do something about that.
	Stuck bool
	// Taken reports whether the new database belongs to another owner.
	Taken bool
	Job   outcome.Outcome // of the last attempt
	// Copied is how far that Job is with copying another server, nil while it has not answered.
	Copied *task.Copied
	// Agents is what is known of the agents of the cluster.
	Agents map[string]observe.Seen
	Now    time.Time
}

// Decision is what is to be there in addition to the status.
type Decision struct {
	Find         bool // the Job that looks for the backup
	Access       bool // the account, and the databases
	Load         bool // the Job that loads
	RequeueAfter time.Duration
}

// Decide brings a status a step further. It is pure.
func Decide(to *v1alpha1.GaleraRestoreStatus, f Facts) Decision {
	to.ObservedGeneration = f.Restore.Generation
	switch to.Phase {
	case "", v1alpha1.RestorePending:
		return pending(to, f)
	case v1alpha1.RestoreFinding:
		return finding(to, f)
	case v1alpha1.RestoreLoading:
		d := loading(to, f)
		to.Progress = progress(to, f)
		return d
	}
	return Decision{}
}

// pending waits for what is missing, and begins.
func pending(to *v1alpha1.GaleraRestoreStatus, f Facts) Decision {
	to.Phase = v1alpha1.RestorePending
	if p := blocking(f); p.Reason != "" {
		set(to, f, p.Reason, p.Message, stalls(p.Reason))
		return Decision{RequeueAfter: PollInterval}
	}
	to.Phase, to.StartedAt = v1alpha1.RestoreFinding, new(metav1.NewTime(f.Now))
	begin(to, f)
	set(to, f, v1alpha1.ReasonRestoring, firstMessage(f.Restore), false)
	return Decision{RequeueAfter: time.Second}
}

// begin writes an attempt down: its Job has a name of its own.
func begin(to *v1alpha1.GaleraRestoreStatus, f Facts) {
	to.Attempts++
	to.AttemptedAt = new(metav1.NewTime(f.Now))
}

// beginLoad begins the first attempt of the load, which has all its attempts, whatever it took to find the source.
func beginLoad(to *v1alpha1.GaleraRestoreStatus, f Facts) {
	to.Failures, to.Outages = 0, 0
	begin(to, f)
}

// stalls reports whether a person has to do something.
func stalls(reason string) bool {
	return reason != v1alpha1.ReasonChecking && reason != v1alpha1.ReasonClusterNotReady
}

// blocking returns what keeps a restore from going on.
func blocking(f Facts) restoration.Problem {
	c := f.Cluster
	problem := func(reason, format string, args ...any) restoration.Problem {
		return restoration.Problem{Reason: reason, Message: fmt.Sprintf(format, args...)}
	}
	switch {
	case c == nil:
		return problem(v1alpha1.ReasonClusterNotFound,
			"there is no GaleraCluster %q in this namespace: create it, or delete this restore", f.Restore.Spec.ClusterRef.Name)
	case c.Spec.TLS.Clients == v1alpha1.TLSDisabled:
		return problem(v1alpha1.ReasonTableRefused, "the cluster %s offers clients no TLS, without which no table is "+
			"loaded: set its spec.tls.clients to Enabled", c.Name)
	case c.Paused():
		return problem(v1alpha1.ReasonClusterNotReady, "the cluster %s is paused (annotation galera-operator.io/pause)",
			c.Name)
	case c.Spec.Hibernate:
		return problem(v1alpha1.ReasonClusterNotReady, "the cluster %s hibernates", c.Name)
	case !meta.IsStatusConditionTrue(c.Status.Conditions, v1alpha1.ConditionReady):
		return problem(v1alpha1.ReasonClusterNotReady, "waiting for the cluster %s to be Ready", c.Name)
	}
	if f.Blocker.Reason != "" {
		return f.Blocker
	}
	return restoration.Moved(f.Restore.Status.Location, f.Source.Store, "create another GaleraRestore")
}

// finding follows the Job that looks for the backup.
func finding(to *v1alpha1.GaleraRestoreStatus, f Facts) Decision {
	r := f.Job.Result
	if f.Restore.Spec.From.External != nil {
		return inspecting(to, f)
	}
	switch {
	case f.Job.Done && location.Changed(f.Job.Location, f.Source.Store) != "":
		return failed(to, f, task.Result{Error: "the store was changed while the backup was looked for",
			Reason: v1alpha1.ReasonStoreChanged})
	case f.Job.Done && f.Source.Exchanged(r.Backup) != "":
		return failed(to, f, task.Result{Error: f.Source.Exchanged(r.Backup), Fatal: true,
			Reason: v1alpha1.ReasonBackupDamaged})
	case f.Job.Done && f.Source.FoundDamaged(r.Backup) != "":
		return failed(to, f, task.Result{Error: f.Source.FoundDamaged(r.Backup), Reason: v1alpha1.ReasonBackupDamaged})
	case f.Job.Done && r.Error == "" && r.Backup != nil:
		to.Phase, to.ID, to.Directory, to.Store = v1alpha1.RestoreLoading, r.Backup.ID, r.Backup.Dir, f.storeName()
		to.Location, to.Checksum, to.Replay = f.Job.Location, r.Backup.Checksum, restoration.FoundReplay(r.Replay)
		beginLoad(to, f)
		set(to, f, v1alpha1.ReasonAccessPreparing, "making an account for "+describe(f.Restore), false)
		return Decision{RequeueAfter: time.Second}
	case f.Job.Done:
		return failed(to, f, r)
	}
	return waiting(to, f, Decision{Find: true, RequeueAfter: PollInterval})
}

func (f Facts) storeName() string {
	if f.Source.Store == nil {
		return ""
	}
	return f.Source.Store.Name
}

// waiting keeps a Job from being begun while something is missing, or after a failure. One that is at work goes on.
func waiting(to *v1alpha1.GaleraRestoreStatus, f Facts, d Decision) Decision {
	if f.Job.Exists {
		if f.Job.Waits != "" {
			set(to, f, v1alpha1.ReasonRestoring, f.Job.Waits, false)
		}
		return Decision{RequeueAfter: PollInterval, Access: d.Access}
	}
	if wait := pause(to, f.Now); wait > 0 { // the conditions explain why the last one failed
		return Decision{RequeueAfter: min(wait, PollInterval)}
	}
	if p := blocking(f); p.Reason != "" {
		set(to, f, p.Reason, p.Message, stalls(p.Reason))
		return Decision{RequeueAfter: PollInterval}
	}
	return d
}

// pause is what is left of the pause after an attempt: it grows with those of its kind.
func pause(to *v1alpha1.GaleraRestoreStatus, now time.Time) time.Duration {
	n := to.Failures
	if to.Outages > 0 { // the last one was no failure
		n = to.Outages
	}
	if n == 0 || to.AttemptedAt == nil {
		return 0
	}
	return min(firstPause<<min(n-1, 10), maxPause) - now.Sub(to.AttemptedAt.Time)
}

// loading has the account there, and then follows the Job that loads.
func loading(to *v1alpha1.GaleraRestoreStatus, f Facts) Decision {
	l := f.Job.Result.Loaded
	switch {
	case f.Job.Done && f.Job.Result.Error == "" && l != nil && l.ID == to.ID:
		complete(to, f, *l)
		return Decision{RequeueAfter: time.Second}
	case f.Job.Done && f.Job.Result.Error == "" && unsuitable(f):
		return foundUnsuitable(to, f)
	case f.Job.Done && f.Job.Result.Error == "":
		return failed(to, f, task.Result{Error: "the Job has not reported what it was to load"})
	case f.Job.Done:
		return failed(to, f, f.Job.Result)
	case f.Taken:
		return failed(to, f, task.Result{Fatal: true, Reason: v1alpha1.ReasonTargetExists, Error: fmt.Sprintf(
			"the cluster has a database %s already, or the mark of one that was dropped: %s", f.Restore.TargetDatabase(),
			f.Access.Message)})
	}
	d := waiting(to, f, Decision{Access: true, Load: f.Access.Reason == "", RequeueAfter: PollInterval})
	switch {
	case f.Job.Exists && f.Job.Waits == "", d.Load:
		set(to, f, v1alpha1.ReasonRestoring, atWork(to, f.Restore)+
			f.Source.Caution(to.Directory, to.ID, to.Replay != nil), false)
	case d.Access && f.Access.Reason != "" && !f.Job.Exists:
		set(to, f, v1alpha1.ReasonAccessPreparing, f.Access.Message, f.Stuck)
	}
	return d
}

func upTo(r *v1alpha1.ReplayStatus) string {
	if r == nil {
		return ""
	}
	return " and the archive up to " + r.Target
}

// describe names what is restored, and as what.
func describe(r *v1alpha1.GaleraRestore) string {
	if d := r.Spec.Database; d != nil {
		return fmt.Sprintf("the tables of %s into the database %s", d.Name, d.As)
	}
	return fmt.Sprintf("the table %s.%s as %s.%s", r.Spec.Table.Database, r.Spec.Table.Name, r.TargetDatabase(),
		r.Spec.Table.As)
}

func complete(to *v1alpha1.GaleraRestoreStatus, f Facts, l task.Loaded) {
	to.Phase, to.CompletedAt = v1alpha1.RestoreCompleted, new(metav1.NewTime(f.Now))
	to.Tables, to.Rows, to.LeftOut = int32(min(l.Tables, 1<<30)), l.Rows, l.LeftOut //nolint:gosec // bounded
	completeExternal(to, f, l)
	message := fmt.Sprintf("%s: loaded %s in %s, with the same content as %s", describe(f.Restore),
		galera.Count(l.Rows, "row"), galera.Count(l.Tables, "table"), asIn(to, f.Restore))
	if r := to.Replay; r != nil {
		r.Reached, r.Late = l.GTID, int64(l.Late)
		if l.Late > 0 {
			message += fmt.Sprintf("; %s with a time before that left out", galera.Count(l.Late, "later transaction"))
		}
	}
	message += f.Source.Caution(to.Directory, to.ID, to.Replay != nil)
	if len(l.LeftOut) > 0 {
		message += "; not restored: " + strings.Join(l.LeftOut, ", ")
	}
	set(to, f, v1alpha1.ReasonRestoreCompleted, message, false)
}

// failed ends an attempt, and the restore if another one makes no sense. Outages use up none of the attempts.
func failed(to *v1alpha1.GaleraRestoreStatus, f Facts, r task.Result) Decision {
	reason := r.Reason
	if reason == "" {
		reason = v1alpha1.ReasonRestoreFailed
	}
	if outage(reason) {
		to.Outages++
	} else {
		to.Failures, to.Outages = to.Failures+1, 0
	}
	if r.Fatal || to.Failures >= maxFailures {
		to.Phase = v1alpha1.RestoreFailed
		message := fmt.Sprintf("%s: the restore has failed, and nothing that was there was changed: %s. "+
			"Correct the cause, and create another GaleraRestore", describe(f.Restore), r.Error)
		if d := f.Restore.Spec.Database; d != nil && reason != v1alpha1.ReasonTargetExists {
			message += fmt.Sprintf(": it takes over the new database %s, if that is there", d.As)
		}
		set(to, f, reason, message, true)
		return Decision{RequeueAfter: time.Second}
	}
	begin(to, f)
	set(to, f, reason, "an attempt has failed, and is made again: "+r.Error, reason == v1alpha1.ReasonSourceRefused)
	return Decision{RequeueAfter: time.Second}
}

// outage reports whether a failure is about a service that comes back: it is waited for.
func outage(reason string) bool {
	switch reason {
	case v1alpha1.ReasonStoreUnreachable, v1alpha1.ReasonStoreFull, v1alpha1.ReasonSourceUnreachable,
		v1alpha1.ReasonSourceRefused:
		return true
	}
	return false
}

// SetEnd sets Stalled and Reconciling as the end of a restore has them.
func SetEnd(to *v1alpha1.GaleraRestoreStatus, generation int64) {
	if c := meta.FindStatusCondition(to.Conditions, v1alpha1.ConditionComplete); c != nil {
		status.SetProgress(&to.Conditions, generation, status.Progress{Stalled: to.Phase == v1alpha1.RestoreFailed,
			Reason: c.Reason, Message: c.Message})
	}
}

func set(to *v1alpha1.GaleraRestoreStatus, f Facts, reason, message string, stalled bool) {
	g, done := f.Restore.Generation, to.Phase == v1alpha1.RestoreCompleted
	status.SetCondition(&to.Conditions, g, v1alpha1.ConditionComplete, done, reason, message)
	status.SetProgress(&to.Conditions, g, status.Progress{Working: !done && to.Phase != v1alpha1.RestoreFailed,
		Stalled: stalled, Reason: reason, Message: message})
}
