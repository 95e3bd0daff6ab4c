package restoring

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/resources"
)

const (
	// initialAttemptPause is the pause before what failed is begun anew, which doubles up to attemptMost.
	initialAttemptPause = 5 * time.Second
	maxAttemptPause     = 5 * time.Minute
)

// decision is what is to be there in addition to the status.
type decision struct {
	copy         bool  // the temporary backup that a clone begins with
	drop         bool  // it is to go
	find         bool  // the Job that searches for the backup
	restore      []int // the Jobs that fill the volumes of these members
	requeueAfter time.Duration
}

// decide brings status.restore a step further. It is pure.
func decide(to *v1alpha1.GaleraClusterStatus, f facts) decision {
	c := f.cluster
	if to.Restore == nil || to.Restore.Phase == v1alpha1.RestoreFailed && to.Restore.ObservedGeneration != c.Generation {
		attempts := int32(0)
		if to.Restore != nil {
			attempts = to.Restore.Attempts + 1 // Jobs of the failed attempts may still be there
		}
		to.Restore = &v1alpha1.RestoreStatus{Phase: v1alpha1.RestoreFinding, ObservedGeneration: c.Generation,
			Attempts:  attempts,
			StartedAt: new(metav1.NewTime(f.now)), Message: "looking for the backup"}
		return decision{requeueAfter: time.Second}
	}
	s := to.Restore
	switch s.Phase {
	case v1alpha1.RestoreFinding:
		return finding(s, f)
	case v1alpha1.RestoreRestoring:
		return restoring(s, f)
	}
	return decision{}
}

func finding(s *v1alpha1.RestoreStatus, f facts) decision {
	switch {
	case f.blocker.reason != "":
		// What is missing may be created later; until then it is reported, and nothing is done.
		s.Reason, s.Message = f.blocker.reason, f.blocker.message
		if f.clone.failed && (s.AttemptedAt == nil || s.AttemptedAt.Before(&f.clone.since)) {
			s.Attempts++ // once for each copy that has failed
			s.AttemptedAt = new(metav1.NewTime(f.now))
		}
		return decision{drop: f.clone.drop, requeueAfter: whileWaiting}
	case f.clone.message != "":
		return copying(s, f)
	case f.find.Done && f.find.Result.Error == "" && f.find.Result.Backup != nil:
		b := f.find.Result.Backup
		s.Phase, s.ID, s.Directory, s.Store, s.Source = v1alpha1.RestoreRestoring, b.ID, b.Dir, f.source.store.Name,
			b.Position
		s.Replay = replayStatus(f.find.Result.Replay)
		s.History, s.ObservedGeneration = history(f.cluster, b.ID, s.Replay), f.cluster.Generation
		s.Reason, s.Message = "", fmt.Sprintf("filling the volumes with %s", describeSource(s))
		return decision{requeueAfter: time.Second}
	case f.find.Done:
		return failed(s, f, f.find.Result, "")
	}
	switch {
	case f.find.Waits != "":
		s.Reason, s.Message = v1alpha1.ReasonRestoring, f.find.Waits
	case attemptPause(s, 1, f.now) <= 0:
		s.Reason, s.Message = "", "looking for the backup"
	}
	return decision{find: !f.find.Exists && attemptPause(s, 1, f.now) <= 0,
		requeueAfter: min(whileWaiting, max(time.Second, attemptPause(s, 1, f.now)))}
}

// copying has a clone's copy made, after a pause where one has failed: until then the reason is reported.
func copying(s *v1alpha1.RestoreStatus, f facts) decision {
	if wait := attemptPause(s, 1, f.now); f.clone.make && wait > 0 {
		return decision{requeueAfter: min(whileWaiting, max(time.Second, wait))}
	}
	s.Reason, s.Message = "", f.clone.message
	return decision{copy: f.clone.make, drop: f.clone.drop, requeueAfter: whileWaiting}
}

// attemptPause is how long an attempt that is made again waits. Each of the members that try counts its own failures.
func attemptPause(s *v1alpha1.RestoreStatus, members int, now time.Time) time.Duration {
	if s.AttemptedAt == nil {
		return 0
	}
	rounds := max(1, int(s.Attempts)/max(1, members))
	return min(initialAttemptPause<<min(rounds, 10), maxAttemptPause) - now.Sub(s.AttemptedAt.Time)
}

// failed reports why an attempt has failed; it is tried again unless that is useless.
func failed(s *v1alpha1.RestoreStatus, f facts, r task.Result, who string) decision {
	s.Reason, s.Message = r.Reason, who+r.Error
	if s.Reason == "" {
		s.Reason = v1alpha1.ReasonRestoreFailed
	}
	if r.Fatal {
		s.Phase, s.ObservedGeneration = v1alpha1.RestoreFailed, f.cluster.Generation
		s.Message += "; the cluster is not started. Change spec.bootstrapFrom, or correct the cause and then " +
			"anything in spec"
		return decision{}
	}
	s.Attempts++
	s.AttemptedAt = new(metav1.NewTime(f.now))
	s.Message += "; it is tried again"
	return decision{requeueAfter: initialAttemptPause}
}

// restoring has every member's volume filled, side by side.
func restoring(s *v1alpha1.RestoreStatus, f facts) decision {
	var d decision
	numbered(s, f)
	for i, o := range f.members {
		name := resources.PodName(f.cluster, i)
		switch {
		case slices.Contains(s.Restored, name):
		case o.Done && o.Result.Error == "" && o.Result.Restored != nil && !matchesRestored(s, *o.Result.Restored):
			renameAttempt(s, name) // a Job that is left of another restore
			return decision{requeueAfter: time.Second}
		case o.Done && o.Result.Error == "" && o.Result.Restored != nil:
			if s.Position != "" && s.Position != o.Result.Restored.Position {
				return failed(s, f, task.Result{Fatal: true, Reason: v1alpha1.ReasonRestoreFailed,
					Error: fmt.Sprintf("it was restored to %s, and another node to %s", o.Result.Restored.Position, s.Position)},
					name+": ")
			}
			if r := s.Replay; r != nil && r.Reached != "" && r.Reached != o.Result.Restored.GTID {
				return failed(s, f, task.Result{Fatal: true, Reason: v1alpha1.ReasonReplayFailed,
					Error: fmt.Sprintf("it has the archive up to %s, and another node up to %s", o.Result.Restored.GTID, r.Reached)},
					name+": ")
			}
			if s.Replay != nil {
				s.Replay.Reached, s.Replay.Late = o.Result.Restored.GTID, int64(o.Result.Restored.Late)
			}
			s.Position, s.Source = o.Result.Restored.Position, o.Result.Restored.Source
			s.Restored = append(s.Restored, name)
		case o.Done:
			d := failed(s, f, o.Result, name+": ")
			if s.Phase == v1alpha1.RestoreRestoring {
				s.MemberAttempts[name] = s.Attempts
			}
			return d
		case o.Waits != "":
			s.Reason, s.Message = v1alpha1.ReasonRestoring, o.Waits
		case !o.Exists && f.busy[name]:
			s.Reason, s.Message = v1alpha1.ReasonRestoring, "waiting for an earlier attempt at the volume of "+name+" to end"
		case !o.Exists:
			d.restore = append(d.restore, i)
		}
	}
	slices.Sort(s.Restored)
	d.requeueAfter = whileWaiting
	switch {
	case len(s.Restored) >= len(f.members):
		s.Phase, s.Reason, s.CompletedAt = v1alpha1.RestoreCompleted, "", new(metav1.NewTime(f.now))
		s.Message = fmt.Sprintf("the backup %s, which was at %s, is on %s at %s", s.ID, s.Source, allVolumes(len(f.members)),
			s.Position)
		if r := s.Replay; r != nil {
			s.Message += fmt.Sprintf(", with the archive up to the GTID %s (%s was asked for)", r.Reached, r.Target)
			if r.Late > 0 {
				s.Message += fmt.Sprintf(
					"; %d later transactions name a time before that, and were left out: they were committed after one that does not",
					r.Late)
			}
		}
		s.Message += eventsAfter(f.cluster, s.Replay != nil)
		return decision{}
	case f.blocker.reason != "":
		s.Reason, s.Message, d.restore = f.blocker.reason, f.blocker.message, nil
	case attemptPause(s, len(f.members), f.now) > 0:
		d.restore, d.requeueAfter = nil, min(d.requeueAfter, attemptPause(s, len(f.members), f.now))
	case s.Reason == "":
		s.Message = fmt.Sprintf("filling the volumes with %s: %d of %d are done%s", describeSource(s), len(s.Restored),
			len(f.members), list(s.Restored))
	case len(d.restore) > 0:
		s.Reason = ""
	}
	return d
}

// eventsAfter returns what becomes of the scheduled events in the data: all nodes have them with the same status. A
// server that replays an archive does not keep the status that a statement gives.
func eventsAfter(c *v1alpha1.GaleraCluster, replayed bool) string {
	out := "; scheduled events do not run (spec.mariadb.events)"
	if c.Spec.MariaDB.Events == v1alpha1.EventsFollowPrimary {
		out = "; scheduled events run on the primary (spec.mariadb.events)"
	}
	if replayed {
		out += ", and those that were created or altered after the backup have to be enabled: the condition EventsScheduled " +
			"names them"
	}
	return out
}

// numbered gives each member a number of its own, so that the failure of one renames no other's Job.
func numbered(s *v1alpha1.RestoreStatus, f facts) {
	if s.MemberAttempts == nil {
		s.MemberAttempts = map[string]int32{}
	}
	for i := range f.members {
		name := resources.PodName(f.cluster, i)
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

// describeSource is restored.
func describeSource(s *v1alpha1.RestoreStatus) string {
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
