package restoration

import (
	"fmt"
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/job"
	"github.com/galera-operator/galera-operator/internal/backup/outcome"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// volume is what a node's volume holds: nothing, or the data of a history, which a restore of a backup, and of the
// archive after it, has begun.
type volume struct{ history, id, gtid string }

// jobRun is a Job as Kubernetes has it.
type jobRun struct {
	member  int // -1 looks for the backup
	id      string
	history string
	replay  *v1alpha1.ReplayStatus
	done    bool
	result  task.Result
}

// simulated is a cluster that begins with a backup, in a Kubernetes that kills what it likes.
type simulated struct {
	cluster *v1alpha1.GaleraCluster
	jobs    map[string]*jobRun
	volumes []volume
	now     time.Time
	latest  string // the backup that the store has as its latest
	archive uint64 // the last segment of the archive; 0 when no point in time is asked for
}

func begin(nodes int) *simulated {
	s := &simulated{cluster: &v1alpha1.GaleraCluster{}, jobs: map[string]*jobRun{}, volumes: make([]volume, nodes),
		now: noon, latest: "b1"}
	s.cluster.Name, s.cluster.UID, s.cluster.Generation, s.cluster.Spec.Replicas = "shop", types.UID("u1"), 1, int32(nodes)
	s.cluster.Spec.BootstrapFrom = &v1alpha1.BootstrapFrom{}
	return s
}

func (s *simulated) outcome(name string) outcome.Outcome {
	j, found := s.jobs[name]
	if !found {
		return outcome.Outcome{}
	}
	return outcome.Outcome{Exists: true, Done: j.done, Result: j.result}
}

// pass is what Reconcile does: the status first, and acts in a pass that changes nothing.
func (s *simulated) pass() {
	f := Facts{Cluster: s.cluster, Now: s.now, Source: Source{Store: &v1alpha1.GaleraBackupStore{}}}
	if s.cluster.Status.Restore != nil {
		f.Busy = s.tidy()
		f.Find = s.outcome(job.FindName(s.cluster))
		for i := range int(s.cluster.Spec.Replicas) {
			f.Members = append(f.Members, s.outcome(job.RestoreName(s.cluster, i)))
		}
	}
	if s.complete() {
		return
	}
	next := s.cluster.Status.DeepCopy()
	d := Decide(next, f)
	if !equality.Semantic.DeepEqual(next.Restore, s.cluster.Status.Restore) {
		s.cluster.Status = *next
		return
	}
	if d.Find {
		s.make(job.FindName(s.cluster), &jobRun{member: -1})
	}
	for _, i := range d.Restore {
		r := s.cluster.Status.Restore
		s.make(job.RestoreName(s.cluster, i), &jobRun{member: i, id: r.ID, history: r.History, replay: r.Replay.DeepCopy()})
	}
}

// tidy removes the Jobs that are not needed any more. One that is at work goes when it has ended.
func (s *simulated) tidy() map[string]bool {
	var all []batchv1.Job
	for name, j := range s.jobs {
		end := batchv1.JobConditionType("")
		if j.done {
			end = batchv1.JobComplete
		}
		if j.member >= 0 {
			all = append(all, filling(s.cluster, resources.PodName(s.cluster, j.member), name, end))
		}
	}
	remove, busy := Leftover(s.cluster, all)
	for _, j := range remove {
		if s.jobs[j.Name].done {
			delete(s.jobs, j.Name)
		}
	}
	return busy
}

func (s *simulated) complete() bool {
	r := s.cluster.Status.Restore
	return r != nil && r.Phase == v1alpha1.RestoreCompleted
}

func (s *simulated) make(name string, j *jobRun) {
	if s.jobs[name] == nil {
		s.jobs[name] = j
	}
}

// end brings a Job to its end, as its program would; or kills it, before or after it has filled the volume.
func (s *simulated) end(name, how string) {
	j := s.jobs[name]
	j.done = true
	switch {
	case how == "killed before":
		j.result = task.Result{Error: "killed"}
	case j.member < 0:
		j.result = task.Result{Backup: &task.Stored{ID: s.latest, Dir: "demo/shop/1", Position: "old:7"}}
		if s.archive > 0 {
			j.result.Replay = &task.Replay{Target: binlog.Target{Latest: true}, From: 1, To: s.archive}
		}
	case s.volumes[j.member].history == j.history && s.volumes[j.member].id == j.id || s.volumes[j.member] == volume{}:
		if s.volumes[j.member] == (volume{}) {
			s.volumes[j.member] = volume{j.history, j.id, reached(j.replay)}
		}
		j.result = task.Result{Restored: &task.Restored{ID: j.id, Position: j.history + ":8", Source: "old:7",
			GTID: s.volumes[j.member].gtid}}
	default:
		j.result = task.Result{Error: "it holds a database", Reason: task.ReasonVolumeNotEmpty, Fatal: true}
	}
	if how == "killed after" {
		j.result = task.Result{Error: "killed"}
	}
}

// reached is the last transaction of the segments that a Job applies.
func reached(r *v1alpha1.ReplayStatus) string {
	if r == nil {
		return ""
	}
	return fmt.Sprintf("0-1-%d", r.To)
}

// calm lets everything go on for so many passes, and kills nothing.
func (s *simulated) calm(passes int) {
	for range passes {
		s.pass()
		s.now = s.now.Add(time.Minute)
		for _, name := range s.open() {
			s.end(name, "well")
		}
	}
}

// find lets the backup be found, and the Jobs begin that fill volumes.
func (s *simulated) find() {
	for r := s.cluster.Status.Restore; r == nil || r.Phase == v1alpha1.RestoreFinding; r = s.cluster.Status.Restore {
		s.calm(1)
	}
	for range 3 {
		s.pass()
	}
}

// scale changes the number of replicas.
func (s *simulated) scale(t *rapid.T) {
	if !s.complete() {
		s.cluster.Spec.Replicas = int32(rapid.IntRange(1, len(s.volumes)).Draw(t, "replicas")) //nolint:gosec // small
	}
}

func (s *simulated) open() (names []string) {
	for name, j := range s.jobs {
		if !j.done {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// TestPromises: whatever is killed, forgotten or late, a restore is complete only when every volume holds the same
// Backup in the same history, and no Job may fill one any more; and once nothing is killed any more it comes to an end; one that was refused does when a
// user has made space.
func TestPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := begin(rapid.SampledFrom([]int{1, 3, 5}).Draw(t, "nodes"))
		s.archive = rapid.SampledFrom([]uint64{0, 7}).Draw(t, "archive")
		if rapid.Bool().Draw(t, "found") {
			s.find()
			for _, name := range s.open() {
				if rapid.Bool().Draw(t, name) {
					s.end(name, "well")
				}
			}
			s.pass()
			s.scale(t)
		}
		t.Repeat(map[string]func(*rapid.T){
			"pass": func(*rapid.T) { s.pass() },
			"calm": func(t *rapid.T) { s.calm(rapid.IntRange(1, 5).Draw(t, "passes")) },
			"time": func(*rapid.T) { s.now = s.now.Add(7 * time.Second) },
			"a Job ends": func(t *rapid.T) {
				if open := s.open(); len(open) > 0 {
					s.end(rapid.SampledFrom(open).Draw(t, "job"), rapid.SampledFrom([]string{"well", "killed before", "killed after"}).
						Draw(t, "how"))
				}
			},
			"a Job is deleted": func(t *rapid.T) {
				var names []string
				for name := range s.jobs {
					names = append(names, name)
				}
				if slices.Sort(names); len(names) > 0 {
					delete(s.jobs, rapid.SampledFrom(names).Draw(t, "job"))
				}
			},
			"the spec is changed":      func(*rapid.T) { s.cluster.Generation++ },
			"replicas are changed":     s.scale,
			"the status is lost":       func(*rapid.T) { s.cluster.Status.Restore = nil },
			"another backup is stored": func(*rapid.T) { s.latest = "b2" },
			"a segment is archived": func(*rapid.T) {
				if s.archive > 0 {
					s.archive++
				}
			},
			"": func(t *rapid.T) {
				if r := s.cluster.Status.Restore; s.complete() {
					for name, j := range s.jobs {
						if !j.done && j.member >= 0 {
							t.Fatalf("complete, and %s may fill a volume", name)
						}
					}
					for i, v := range s.volumes[:s.cluster.Spec.Replicas] {
						if v != (volume{r.History, r.ID, reached(r.Replay)}) || r.Replay != nil && r.Replay.Reached != reached(r.Replay) {
							t.Fatalf("complete, and the volume of %d holds %+v instead of %s in %s with %+v", i, v, r.ID, r.History,
								r.Replay)
						}
					}
				}
			},
		})
		s.calm(400)
		if r := s.cluster.Status.Restore; r.Phase == v1alpha1.RestoreFailed {
			// A user deletes the claims, and changes the spec.
			clear(s.volumes)
			s.cluster.Generation++
			s.calm(400)
		}
		if r := s.cluster.Status.Restore; r.Phase != v1alpha1.RestoreCompleted {
			t.Fatalf("it has no end: %+v", r)
		}
	})
}
