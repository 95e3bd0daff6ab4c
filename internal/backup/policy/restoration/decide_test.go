package restoration

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/outcome"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

func done(r task.Result) outcome.Outcome {
	return outcome.Outcome{Exists: true, Done: true, Result: r}
}

func restored(position string) outcome.Outcome {
	return done(task.Result{Restored: &task.Restored{ID: "b1", Position: position, Source: "old:7"}})
}

// in are the facts of a cluster of three in a phase.
func in(phase string, changes ...func(*Facts)) Facts {
	f := Facts{Now: noon, Cluster: &v1alpha1.GaleraCluster{}, Source: Source{Store: &v1alpha1.GaleraBackupStore{}},
		Members: make([]outcome.Outcome, 3)}
	f.Cluster.Namespace, f.Cluster.Name, f.Cluster.UID, f.Cluster.Generation = "demo", "shop", "u1", 4
	f.Source.Store.Name, f.Cluster.Spec.Replicas = "offsite", 3
	if phase != "" {
		f.Cluster.Status.Restore = &v1alpha1.RestoreStatus{Phase: phase, ObservedGeneration: 4, ID: "b1", History: "new"}
	}
	for _, c := range changes {
		c(&f)
	}
	return f
}

// at is the location of a claim, and leads has the source's store name it.
func at(claim string) *v1alpha1.StoreLocation {
	return &v1alpha1.StoreLocation{Kind: v1alpha1.StoreVolume, Claim: claim}
}

func leads(claim string) func(*Facts) {
	return func(f *Facts) { f.Source.Store.Spec.Volume = &v1alpha1.VolumeStore{ClaimName: claim} }
}

// TestLocation: a restore that has found its backup fills volumes from there, and from nowhere else.
func TestLocation(t *testing.T) {
	found := done(task.Result{Backup: &task.Stored{ID: "b1", Dir: "demo/shop/x", Position: "old:6"}})
	found.Location = at("here")
	lies := func(f *Facts) { f.Cluster.Status.Restore.Location = at("here") }
	finds := func(f *Facts) { f.Find = found }
	inspected := func(f *Facts) {
		f.Find = done(task.Result{Source: &task.Source{Bytes: 9}})
		f.Find.Location = at("here")
	}
	for name, c := range map[string]struct {
		f             Facts
		phase, reason string
		location      *v1alpha1.StoreLocation
		restore       int
	}{
		"found": {in(v1alpha1.RestoreFinding, leads("here"), finds), v1alpha1.RestoreRestoring, "", at("here"), 0},
		"found where the store does not lead any more": {in(v1alpha1.RestoreFinding, leads("there"), finds),
			v1alpha1.RestoreFinding, v1alpha1.ReasonStoreChanged, nil, 0},
		"filling": {in(v1alpha1.RestoreRestoring, leads("here"), lies), v1alpha1.RestoreRestoring, "", at("here"), 3},
		"the store leads away": {in(v1alpha1.RestoreRestoring, leads("there"), lies), v1alpha1.RestoreRestoring,
			v1alpha1.ReasonStoreChanged, at("here"), 0},
		"another server's, found": {moving(v1alpha1.RestoreFinding, leads("here"), inspected), v1alpha1.RestoreRestoring, "",
			at("here"), 0},
		"another server's, looked at elsewhere": {moving(v1alpha1.RestoreFinding, leads("there"), inspected),
			v1alpha1.RestoreFinding, v1alpha1.ReasonStoreChanged, nil, 0},
		"another server's, the store leads away": {moving(v1alpha1.RestoreRestoring, leads("there"), lies),
			v1alpha1.RestoreRestoring, v1alpha1.ReasonStoreChanged, at("here"), 0},
		"of an earlier operator": {in(v1alpha1.RestoreRestoring, leads("there")), v1alpha1.RestoreRestoring, "", nil, 3},
	} {
		next := c.f.Cluster.Status.DeepCopy()
		d := Decide(next, c.f)
		s := next.Restore
		if s.Phase != c.phase || s.Reason != c.reason || len(d.Restore) != c.restore || (s.Location == nil) != (c.location ==
			nil) || s.Location != nil && *s.Location != *c.location {
			t.Errorf("%s: %s %s %q at %+v, restore %v", name, s.Phase, s.Reason, s.Message, s.Location, d.Restore)
		}
		if away := s.Reason == v1alpha1.ReasonStoreChanged && s.Phase == v1alpha1.RestoreRestoring; away &&
			!strings.Contains(s.Message, "the claim there now, and the backup lies in the claim here. Point the store back") {
			t.Errorf("%s: %s", name, s.Message)
		}
	}
}

func TestDecide(t *testing.T) {
	found := done(task.Result{Backup: &task.Stored{ID: "b1", Dir: "demo/shop/x", Position: "old:6"}})
	for name, c := range map[string]struct {
		f            Facts
		phase        string
		reason, says string
		find         bool
		restore      []int
	}{
		"it begins": {in(""), v1alpha1.RestoreFinding, "", "looking", false, nil},
		"something is missing": {in(v1alpha1.RestoreFinding,
			func(f *Facts) { f.Blocker = Problem{v1alpha1.ReasonStoreNotFound, "no store"} }), v1alpha1.RestoreFinding,
			v1alpha1.ReasonStoreNotFound, "no store", false, nil},
		"it is there again": {in(v1alpha1.RestoreFinding,
			func(f *Facts) { f.Cluster.Status.Restore.Reason = v1alpha1.ReasonStoreNotFound }),
			v1alpha1.RestoreFinding, "", "looking", true, nil},
		"the archive does not have the point": {in(v1alpha1.RestoreFinding, func(f *Facts) {
			f.Find = done(task.Result{Error: "the archive ends before it", Reason: task.ReasonPointInTimeUnavailable,
				Fatal: true})
		}), v1alpha1.RestoreFailed, v1alpha1.ReasonPointInTimeUnavailable, "the archive ends before it", false, nil},
		"looks": {in(v1alpha1.RestoreFinding), v1alpha1.RestoreFinding, "", "", true, nil},
		"is looking": {in(v1alpha1.RestoreFinding, func(f *Facts) { f.Find.Exists = true }), v1alpha1.RestoreFinding, "",
			"", false, nil},
		"has found it": {in(v1alpha1.RestoreFinding, func(f *Facts) { f.Find = found }), v1alpha1.RestoreRestoring, "", "b1",
			false, nil},
		"the wrong key": {in(v1alpha1.RestoreFinding, func(f *Facts) {
			f.Find = done(task.Result{Error: "none opens it", Reason: task.ReasonWrongKey, Fatal: true})
		}), v1alpha1.RestoreFailed, v1alpha1.ReasonWrongKey, "not started", false, nil},
		"the store is away": {in(v1alpha1.RestoreFinding,
			func(f *Facts) { f.Find = done(task.Result{Error: "timeout", Reason: task.ReasonStoreUnreachable}) }),
			v1alpha1.RestoreFinding, v1alpha1.ReasonStoreUnreachable, "tried again", false, nil},
		"a failed one stays so": {in(v1alpha1.RestoreFailed), v1alpha1.RestoreFailed, "", "", false, nil},
		"until the spec is changed": {in(v1alpha1.RestoreFailed, func(f *Facts) { f.Cluster.Generation = 5 }),
			v1alpha1.RestoreFinding, "", "looking", false, nil},
		"all volumes, side by side": {in(v1alpha1.RestoreRestoring), v1alpha1.RestoreRestoring, "", "0 of 3", false,
			[]int{0, 1, 2}},
		"only those that are missing": {in(v1alpha1.RestoreRestoring,
			func(f *Facts) { f.Members[1].Exists, f.Members[0] = true, restored("new:8") }), v1alpha1.RestoreRestoring, "",
			"1 of 3", false, []int{2}},
		"one is filled, and its Job is gone": {in(v1alpha1.RestoreRestoring,
			func(f *Facts) { f.Cluster.Status.Restore.Restored = []string{"shop-0"} }), v1alpha1.RestoreRestoring, "",
			"1 of 3", false, []int{1, 2}},
		"an earlier Job may still fill one": {in(v1alpha1.RestoreRestoring,
			func(f *Facts) { f.Busy = map[string]bool{"shop-1": true} }), v1alpha1.RestoreRestoring, "",
			"waiting for an earlier attempt at the volume of shop-1 to end", false, []int{0, 2}},
		"one is left of another restore": {in(v1alpha1.RestoreRestoring, func(f *Facts) { f.Members[0] = restored("old:8") }),
			v1alpha1.RestoreRestoring, "", "", false, nil},
		"one failed": {in(v1alpha1.RestoreRestoring,
			func(f *Facts) { f.Members[1] = done(task.Result{Error: "no space", Reason: task.ReasonDiskFull}) }),
			v1alpha1.RestoreRestoring, task.ReasonDiskFull, "shop-1: no space; it is tried again", false, nil},
		"one holds other data": {in(v1alpha1.RestoreRestoring, func(f *Facts) {
			f.Members[1] = done(task.Result{Error: "holds a database", Reason: task.ReasonVolumeNotEmpty, Fatal: true})
		}), v1alpha1.RestoreFailed, v1alpha1.ReasonVolumeNotEmpty, "shop-1: holds a database. If nothing there is needed, " +
			"as after another restore that has failed: kubectl delete pvc --wait=false -n demo data-shop-1;", false, nil},
		"two hold other data": {in(v1alpha1.RestoreRestoring, func(f *Facts) {
			for _, i := range []int{0, 2} {
				f.Members[i] = done(task.Result{Error: "full", Reason: task.ReasonVolumeNotEmpty, Fatal: true})
			}
			f.Members[1] = done(task.Result{Error: "no space", Reason: task.ReasonDiskFull})
		}), v1alpha1.RestoreFailed, v1alpha1.ReasonVolumeNotEmpty, "-n demo data-shop-0 data-shop-2;", false, nil},
		"all are done": {in(v1alpha1.RestoreRestoring, func(f *Facts) {
			for i := range f.Members {
				f.Members[i] = restored("new:8")
			}
		}), v1alpha1.RestoreCompleted, "", "all 3 volumes at new:8", false, nil},
		"to different positions": {in(v1alpha1.RestoreRestoring,
			func(f *Facts) { f.Members[0], f.Members[1] = restored("new:8"), restored("new:9") }),
			v1alpha1.RestoreFailed, v1alpha1.ReasonRestoreFailed, "new:9", false, nil},
		"with the archive": {in(v1alpha1.RestoreRestoring, func(f *Facts) {
			f.Cluster.Status.Restore.Replay = &v1alpha1.ReplayStatus{Target: "the latest transaction", From: 3, To: 4}
			for i := range f.Members {
				f.Members[i] = restored("new:8")
				f.Members[i].Result.Restored.GTID = "0-1-30"
			}
		}), v1alpha1.RestoreCompleted, "", "up to the GTID 0-1-30", false, nil},
		"with the archive, and not as far": {in(v1alpha1.RestoreRestoring, func(f *Facts) {
			f.Cluster.Status.Restore.Replay = &v1alpha1.ReplayStatus{Target: "the latest transaction", From: 3, To: 4,
				Reached: "0-1-29"}
			f.Members[0] = restored("new:8")
			f.Members[0].Result.Restored.GTID = "0-1-30"
		}), v1alpha1.RestoreFailed, v1alpha1.ReasonReplayFailed, "0-1-30", false, nil},
		"without the archive that was asked for": {in(v1alpha1.RestoreRestoring, func(f *Facts) {
			f.Cluster.Status.Restore.Replay = &v1alpha1.ReplayStatus{Target: "the latest transaction", From: 3, To: 4}
			f.Members[0] = restored("new:8")
		}), v1alpha1.RestoreRestoring, "", "", false, nil},
		"a pause after a failure": {in(v1alpha1.RestoreRestoring, func(f *Facts) {
			f.Cluster.Status.Restore.Attempts, f.Cluster.Status.Restore.AttemptedAt = 1,
				new(metav1.NewTime(noon.Add(-time.Second)))
			f.Cluster.Status.Restore.Reason = task.ReasonDiskFull
		}), v1alpha1.RestoreRestoring, task.ReasonDiskFull, "", false, nil},
	} {
		next := c.f.Cluster.Status.DeepCopy()
		d := Decide(next, c.f)
		s := next.Restore
		if s.Phase != c.phase || s.Reason != c.reason || !strings.Contains(s.Message, c.says) || d.Find != c.find ||
			!slices.Equal(d.Restore, c.restore) {
			t.Errorf("%s: %s %s %q, find %v, restore %v", name, s.Phase, s.Reason, s.Message, d.Find, d.Restore)
		}
		// From then on a cluster never begins empty, whatever becomes of its volumes.
		history, epoch := "", int64(0)
		if c.phase == v1alpha1.RestoreCompleted {
			history, epoch = "new", noon.Unix()
		}
		if next.ClusterUUID != history || next.Epoch != epoch {
			t.Errorf("%s: the history is %q at the epoch %d", name, next.ClusterUUID, next.Epoch)
		}
	}
}

// TestClaimsOfJobs: the claim of a Job that has not ended is made again if it was deleted, and no other one.
func TestClaimsOfJobs(t *testing.T) {
	f := in(v1alpha1.RestoreRestoring, func(f *Facts) {
		f.Cluster.Status.Restore.Restored = []string{"shop-1"}
		f.Members[0], f.Members[1] = outcome.Outcome{Exists: true, Waits: "its pod cannot be scheduled"},
			outcome.Outcome{Exists: true}
	})
	if d := Decide(f.Cluster.Status.DeepCopy(), f); !slices.Equal(d.Claims, []int{0}) ||
		!slices.Equal(d.Restore, []int{2}) {
		t.Errorf("claims of %v, Jobs of %v", d.Claims, d.Restore)
	}
}

// TestPause: members that fail together wait as long as one does. The pause doubles with the rounds, not with the
// members.
func TestPause(t *testing.T) {
	for attempts, want := range map[int32]time.Duration{1: 10 * time.Second, 3: 10 * time.Second, 6: 20 * time.Second,
		30: maxAttemptPause} {
		f := in(v1alpha1.RestoreRestoring, func(f *Facts) {
			f.Cluster.Status.Restore.Attempts, f.Cluster.Status.Restore.AttemptedAt = attempts, new(metav1.NewTime(noon))
		})
		s := f.Cluster.Status.Restore
		if got := attemptPause(s, len(f.Members), noon); got != want {
			t.Errorf("after %d failures: %s, want %s", attempts, got, want)
		}
	}
}

// TestHistory: a restore that is begun anew begins the same history, and no other one does.
func TestHistory(t *testing.T) {
	f := in("")
	if history(f.Cluster, "b1", nil) != history(f.Cluster.DeepCopy(), "b1", nil) ||
		history(f.Cluster, "b1", nil) == history(f.Cluster, "b2", nil) {
		t.Error("of one cluster")
	}
	other := f.Cluster.DeepCopy()
	other.UID = "u2"
	if history(f.Cluster, "b1", nil) == history(other, "b1", nil) {
		t.Error("of two clusters")
	}
}

// TestDirectory: without a UID the backups of all clusters of a name are checked, and with one those of that cluster.
func TestDirectory(t *testing.T) {
	c := &v1alpha1.GaleraCluster{}
	c.Name, c.Namespace = "shop", "demo"
	for want, from := range map[string]v1alpha1.BootstrapStore{
		"demo/shop":          {},
		"prod/bar":           {Namespace: "prod", Cluster: "bar"},
		"demo/shop/0123abcd": {ClusterUID: "0123abcd-1111-2222-3333-444455556666"},
		"demo/shop/fedcba98": {ClusterUID: "fedcba98"},
	} {
		c.Spec.BootstrapFrom = &v1alpha1.BootstrapFrom{Store: &from}
		if got := Directory(c); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
