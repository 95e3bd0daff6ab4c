package restoration

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/location"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/resources"
)

const (
	// initialAttemptPause is the pause before what failed is begun anew, which doubles up to maxAttemptPause.
	initialAttemptPause = 5 * time.Second
	maxAttemptPause     = 5 * time.Minute
)

// Decision is what is to be there in addition to the status.
type Decision struct {
	Copy         bool  // the temporary backup that a clone begins with
	Drop         bool  // it is to go
	Find         bool  // the Job that searches for the backup
	Restore      []int // the Jobs that fill the volumes of these members
	Claims       []int // the claims of these members, whose Jobs are there: one may have been deleted since
	RequeueAfter time.Duration
}

// Decide brings status.restore a step further. It is pure.
func Decide(to *v1alpha1.GaleraClusterStatus, f Facts) Decision {
	c := f.Cluster
	if to.Restore == nil || to.Restore.Phase == v1alpha1.RestoreFailed && to.Restore.ObservedGeneration != c.Generation {
		attempts := int32(0)
		if to.Restore != nil {
			attempts = to.Restore.Attempts + 1 // Jobs of the failed attempts may still be there
		}
		to.Restore = &v1alpha1.RestoreStatus{Phase: v1alpha1.RestoreFinding, ObservedGeneration: c.Generation,
			Attempts:  attempts,
			StartedAt: new(metav1.NewTime(f.Now)), Message: firstMessage(c)}
		return Decision{RequeueAfter: time.Second}
	}
	s := to.Restore
	switch {
	case s.Phase == v1alpha1.RestoreFinding && IsExternal(c):
		return inspecting(s, f)
	case s.Phase == v1alpha1.RestoreFinding:
		return finding(s, f)
	case s.Phase == v1alpha1.RestoreRestoring:
		d := restoring(s, f)
		s.Progress = progress(s, f)
		recordHistory(to, f.Now)
		return d
	}
	return Decision{}
}

// recordHistory records the history that the cluster has from now on, in the write that completes the restore: a
// cluster whose volumes are all lost before its first start has lost its data, and does not begin empty.
func recordHistory(to *v1alpha1.GaleraClusterStatus, now time.Time) {
	if to.ClusterUUID != "" || to.Restore.Phase != v1alpha1.RestoreCompleted {
		return
	}
	to.ClusterUUID = to.Restore.History
	// Another volume may remember a higher epoch: epochs count operations, and there were never as many as seconds.
	to.Epoch = max(to.Epoch+1, now.Unix())
}

func finding(s *v1alpha1.RestoreStatus, f Facts) Decision {
	switch {
	case f.Blocker.Reason != "":
		// What is missing may be created later; until then it is reported, and nothing is done.
		s.Reason, s.Message = f.Blocker.Reason, f.Blocker.Message
		if f.Clone.failed && (s.AttemptedAt == nil || s.AttemptedAt.Before(&f.Clone.since)) {
			s.Attempts++ // once for each copy that has failed
			s.AttemptedAt = new(metav1.NewTime(f.Now))
		}
		return Decision{Drop: f.Clone.drop, RequeueAfter: whileWaiting}
	case f.Clone.message != "":
		return copying(s, f)
	case f.Find.Done && location.Changed(f.Find.Location, f.Source.Store) != "":
		return failed(s, f, task.Result{Error: "the store was changed while the backup was looked for",
			Reason: v1alpha1.ReasonStoreChanged}, "")
	case f.Find.Done && f.Source.Exchanged(f.Find.Result.Backup) != "":
		return failed(s, f, task.Result{Error: f.Source.Exchanged(f.Find.Result.Backup), Fatal: true,
			Reason: v1alpha1.ReasonBackupDamaged}, "")
	case f.Find.Done && f.Source.FoundDamaged(f.Find.Result.Backup) != "":
		return failed(s, f, task.Result{Error: f.Source.FoundDamaged(f.Find.Result.Backup),
			Reason: v1alpha1.ReasonBackupDamaged}, "")
	case f.Find.Done && f.Find.Result.Error == "" && f.Find.Result.Backup != nil:
		b := f.Find.Result.Backup
		s.Phase, s.ID, s.Directory, s.Store, s.Source = v1alpha1.RestoreRestoring, b.ID, b.Dir, f.Source.Store.Name,
			b.Position
		s.Location, s.Checksum, s.Replay = f.Find.Location, b.Checksum, FoundReplay(f.Find.Result.Replay)
		// With the checksum: a volume that was filled with another backup of this ID is of another history, and refused.
		s.History, s.ObservedGeneration = history(f.Cluster, b.ID+"/"+b.Checksum, s.Replay), f.Cluster.Generation
		s.Reason, s.Message = "", fmt.Sprintf("filling the volumes with %s%s", describeSource(f.Cluster, s),
			caution(s, f))
		return Decision{RequeueAfter: time.Second}
	case f.Find.Done:
		return failed(s, f, f.Find.Result, "")
	}
	switch {
	case f.Find.Waits != "":
		s.Reason, s.Message = v1alpha1.ReasonRestoring, f.Find.Waits
	case attemptPause(s, 1, f.Now) <= 0:
		s.Reason, s.Message = "", firstMessage(f.Cluster)
	}
	return Decision{Find: !f.Find.Exists && attemptPause(s, 1, f.Now) <= 0,
		RequeueAfter: min(whileWaiting, max(time.Second, attemptPause(s, 1, f.Now)))}
}

// copying has a clone's copy made, after a pause where one has failed: until then the reason is reported.
func copying(s *v1alpha1.RestoreStatus, f Facts) Decision {
	if wait := attemptPause(s, 1, f.Now); f.Clone.make && wait > 0 {
		return Decision{RequeueAfter: min(whileWaiting, max(time.Second, wait))}
	}
	s.Reason, s.Message = "", f.Clone.message
	return Decision{Copy: f.Clone.make, Drop: f.Clone.drop, RequeueAfter: whileWaiting}
}

// attemptPause is how long an attempt that is made again waits. Each of the members that try counts its own failures.
func attemptPause(s *v1alpha1.RestoreStatus, members int, now time.Time) time.Duration {
	return pauseAfter(int(s.Attempts)/max(1, members), s.AttemptedAt, now)
}

// pauseAfter is how long the attempt waits that follows some that have failed, the last one at a time.
func pauseAfter(attempts int, last *metav1.Time, now time.Time) time.Duration {
	if last == nil {
		return 0
	}
	return min(initialAttemptPause<<min(max(1, attempts), 10), maxAttemptPause) - now.Sub(last.Time)
}

// failed reports why an attempt has failed; it is tried again unless that is useless.
func failed(s *v1alpha1.RestoreStatus, f Facts, r task.Result, who string) Decision {
	s.Reason, s.Message = r.Reason, who+r.Error
	if s.Reason == "" {
		s.Reason = v1alpha1.ReasonRestoreFailed
	}
	if r.Fatal {
		s.Phase, s.ObservedGeneration = v1alpha1.RestoreFailed, f.Cluster.Generation
		s.Message += "; the cluster is not started. Change " + f.Cluster.BootstrapField() + ", or correct the cause and " +
			"then anything in spec"
		return Decision{}
	}
	s.Attempts++
	s.AttemptedAt = new(metav1.NewTime(f.Now))
	s.Message += "; it is tried again"
	return Decision{RequeueAfter: initialAttemptPause}
}

// failedMember reports why an attempt at a member's volume has failed. The next one has another Job.
func failedMember(s *v1alpha1.RestoreStatus, f Facts, r task.Result, name string) Decision {
	d := failed(s, f, r, name+": ")
	if s.Phase == v1alpha1.RestoreRestoring {
		s.MemberAttempts[name] = s.Attempts
	}
	return d
}

// withClaims adds what removes volumes that are not empty to the reason of a failure: those that an attempt before this
// one has filled with another backup, or up to another point, are of no use.
func withClaims(f Facts, r task.Result) task.Result {
	if r.Reason != task.ReasonVolumeNotEmpty {
		return r
	}
	var claims []string
	for i, o := range f.Members {
		if o.Done && o.Result.Reason == task.ReasonVolumeNotEmpty {
			claims = append(claims, resources.ClaimName(f.Cluster, i))
		}
	}
	r.Error += ". If nothing there is needed, as after another restore that has failed: " +
		"kubectl delete pvc --wait=false -n " + f.Cluster.Namespace + " " + strings.Join(claims, " ")
	return r
}

// filled records that a member's volume is filled, unless its data are others than those of the volumes before.
func filled(s *v1alpha1.RestoreStatus, name string, is task.Restored) (differs task.Result) {
	if s.Position != "" && s.Position != is.Position {
		return task.Result{Fatal: true, Reason: v1alpha1.ReasonRestoreFailed,
			Error: fmt.Sprintf("it was restored to %s, and another node to %s", is.Position, s.Position)}
	}
	if r := s.Replay; r != nil && r.Reached != "" && r.Reached != is.GTID {
		return task.Result{Fatal: true, Reason: v1alpha1.ReasonReplayFailed,
			Error: fmt.Sprintf("it has the archive up to %s, and another node up to %s", is.GTID, r.Reached)}
	}
	if s.Replay != nil {
		s.Replay.Reached, s.Replay.Late = is.GTID, int64(is.Late)
	}
	s.Position, s.Source = is.Position, is.Source
	s.Restored = append(s.Restored, name)
	return task.Result{}
}

// claims are those of the members whose Jobs are at work.
func claims(s *v1alpha1.RestoreStatus, f Facts) (out []int) {
	for i, o := range f.Members {
		if o.Exists && !o.Done && !slices.Contains(s.Restored, resources.PodName(f.Cluster, i)) {
			out = append(out, i)
		}
	}
	return out
}

// restoring has every member's volume filled, side by side.
func restoring(s *v1alpha1.RestoreStatus, f Facts) Decision {
	d := Decision{Claims: claims(s, f), RequeueAfter: whileWaiting}
	numbered(s, f)
	if f.Blocker.Reason == "" {
		f.Blocker = Moved(s.Location, f.Source.Store, "delete this cluster and its claims, and create it again")
	}
	for i, o := range f.Members {
		name := resources.PodName(f.Cluster, i)
		switch {
		case slices.Contains(s.Restored, name):
		case o.Done && o.Result.Error == "" && o.Result.Restored != nil && !matchesRestored(s, *o.Result.Restored):
			renameAttempt(s, name) // a Job that is left of another restore
			return Decision{RequeueAfter: time.Second}
		case o.Done && o.Result.Error == "" && o.Result.Restored != nil:
			if differs := filled(s, name, *o.Result.Restored); differs.Error != "" {
				return failed(s, f, differs, name+": ")
			}
			imported(f.Cluster, s, o)
		case o.Done && o.Result.Error == "" && o.Result.Source != nil && len(o.Result.Source.Findings) > 0:
			return becameUnsuitable(s, f, name, *o.Result.Source)
		case o.Done:
			return failedMember(s, f, withClaims(f, o.Result), name)
		case o.Waits != "":
			s.Reason, s.Message = v1alpha1.ReasonRestoring, o.Waits
		case !o.Exists && f.Busy[name]:
			s.Reason, s.Message = v1alpha1.ReasonRestoring, "waiting for an earlier attempt at the volume of "+name+" to end"
		case !o.Exists:
			d.Restore = append(d.Restore, i)
		}
	}
	slices.Sort(s.Restored)
	have := restoredMembers(s, f)
	switch {
	case len(have) == len(f.Members) && len(f.Busy) > 0: // also of a member that there is none of any more
		s.Reason, s.Message = v1alpha1.ReasonRestoring, "waiting for an earlier attempt at the volume of "+
			strings.Join(slices.Sorted(maps.Keys(f.Busy)), ", ")+" to end"
	case len(have) == len(f.Members):
		s.Phase, s.Reason, s.CompletedAt = v1alpha1.RestoreCompleted, "", new(metav1.NewTime(f.Now))
		s.Message = fmt.Sprintf("the backup %s, which was at %s, is on %s at %s", s.ID, s.Source, allVolumes(len(f.Members)),
			s.Position)
		if r := s.Replay; r != nil {
			s.Message += fmt.Sprintf(", with the archive up to the GTID %s (%s was asked for)", r.Reached, r.Target)
			if r.Late > 0 {
				s.Message += fmt.Sprintf("; %s with a time before that left out: %s", galera.Count(r.Late, "later transaction"),
					leftOut(r.Target))
			}
		}
		if s.External != nil {
			s.Message = describeImport(f.Cluster, s)
		}
		s.Message += caution(s, f) + eventsAfter(f.Cluster, s.Replay != nil)
		return Decision{}
	case f.Blocker.Reason != "":
		s.Reason, s.Message, d.Restore = f.Blocker.Reason, f.Blocker.Message, nil
	case attemptPause(s, len(f.Members), f.Now) > 0:
		d.Restore, d.RequeueAfter = nil, min(d.RequeueAfter, attemptPause(s, len(f.Members), f.Now))
	case s.Reason == "":
		s.Message = fmt.Sprintf("filling the volumes with %s: %d of %d are done%s%s", describeSource(f.Cluster, s),
			len(have), len(f.Members), list(have), caution(s, f))
	case len(d.Restore) > 0:
		s.Reason = ""
	}
	return d
}

// restoredMembers are those of the present members whose volumes are filled: there may have been more of them.
func restoredMembers(s *v1alpha1.RestoreStatus, f Facts) (out []string) {
	for i := range f.Members {
		if name := resources.PodName(f.Cluster, i); slices.Contains(s.Restored, name) {
			out = append(out, name)
		}
	}
	return out
}

// caution is what a message adds about the backup that is restored.
func caution(s *v1alpha1.RestoreStatus, f Facts) string {
	return f.Source.Caution(s.Directory, s.ID, s.Replay != nil)
}

// eventsAfter returns what becomes of the scheduled events in the data: all nodes have them with the same status. A
// server that replays an archive does not keep the status that a statement gives.
func eventsAfter(c *v1alpha1.GaleraCluster, replayed bool) string {
	out := "; scheduled events do not run (spec.mariadb.events)"
	if c.Spec.MariaDB.Events == v1alpha1.EventsFollowPrimary {
		out = "; scheduled events run on the primary (spec.mariadb.events)"
	}
	if replayed {
		out += ", and those that were created or altered after the backup have to be enabled: the condition " +
			"EventsScheduled names them"
	}
	return out
}

// numbered gives each member a number of its own, so that the failure of one renames no other's Job.
func numbered(s *v1alpha1.RestoreStatus, f Facts) {
	if s.MemberAttempts == nil {
		s.MemberAttempts = map[string]int32{}
	}
	for i := range f.Members {
		name := resources.PodName(f.Cluster, i)
		if _, known := s.MemberAttempts[name]; !known {
			s.MemberAttempts[name] = s.Attempts
		}
	}
}

// renameAttempt gives the next Job of a member another name. Those of the others are at work on their volumes, and keep
// theirs.
func renameAttempt(s *v1alpha1.RestoreStatus, name string) {
	s.Attempts++
	s.MemberAttempts[name] = s.Attempts
}

// matchesRestored reports whether a volume was filled with this backup, in this history.
func matchesRestored(s *v1alpha1.RestoreStatus, r task.Restored) bool {
	return r.ID == s.ID && (s.Replay == nil) == (r.GTID == "") && strings.HasPrefix(r.Position, s.History+":")
}

// describeSource names what is restored.
func describeSource(c *v1alpha1.GaleraCluster, s *v1alpha1.RestoreStatus) string {
	if b := c.FromBackup(); b != nil {
		return "the backup " + b.Path
	}
	if s.External != nil {
		return "a copy of the source"
	}
	if s.Replay == nil {
		return "the backup " + s.ID
	}
	return fmt.Sprintf("the backup %s and the archive up to %s", s.ID, s.Replay.Target)
}

func list(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return " (" + strings.Join(names, ", ") + ")"
}

func allVolumes(n int) string {
	if n == 1 {
		return "the volume"
	}
	return fmt.Sprintf("all %d volumes", n)
}

// leftOut is why transactions were left out that name a time before the target.
func leftOut(target string) string {
	why := "they were committed after one that does not"
	if strings.Contains(target, ".") {
		why = "they name the second of that time without a fraction, or " + strings.TrimPrefix(why, "they ")
	}
	return why
}
