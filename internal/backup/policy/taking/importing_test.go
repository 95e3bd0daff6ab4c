package taking

import (
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// TestDecideImport: an import is complete when its own backup was read, whatever its cluster is like, and never has
// data to remove.
func TestDecideImport(t *testing.T) {
	const dir, id = "demo/shop/a54080f9", "20261124-002934-1aef9dcf"
	stored := task.Stored{ID: id, Dir: dir, Position: "u:9", CompletedAt: noon, StoredBytes: 1 << 20,
		ClusterUID: "a54080f9-1",
		Recipients: []string{"age1x"}}
	another := stored
	another.ID = "another"
	elsewhere := stored
	elsewhere.Dir = "demo/shop/827f65cc"
	begun := func(f *Facts) {
		f.Backup.Status.Phase, f.Backup.Status.Attempts = v1alpha1.BackupRunning, 1
		f.Backup.Status.AttemptedAt = new(metav1.NewTime(noon))
	}
	ended := func(r task.Result) func(*Facts) { return func(f *Facts) { begun(f); withResult(r)(f) } }
	tries := func(n int32) func(*Facts) { return func(f *Facts) { f.Backup.Status.Attempts = n } }
	since := func(ago time.Duration) func(*Facts) {
		return func(f *Facts) { f.Backup.CreationTimestamp = metav1.NewTime(noon.Add(-ago)) }
	}
	both := func(a, b func(*Facts)) func(*Facts) { return func(f *Facts) { a(f); b(f) } }
	atWork := func(f *Facts) { begun(f); f.Job.Exists = true }
	away := ended(task.Result{Error: "away", Reason: task.ReasonStoreUnreachable})
	broken := ended(task.Result{Error: "why"})
	for name, c := range map[string]struct {
		change   func(*Facts)
		phase    string
		reason   string
		attempts int32
		run      bool
	}{
		"its store is gone while its Job is at work": {both(atWork, func(f *Facts) { f.Store = nil }),
			v1alpha1.BackupRunning, "", 1, true},
		"its store was not checked": {func(f *Facts) { f.Store.Generation = 2 }, v1alpha1.BackupPending,
			v1alpha1.ReasonChecking, 0, false},
		"its store has changed meanwhile": {both(begun, func(f *Facts) { f.Store.Generation = 2 }), v1alpha1.BackupRunning,
			v1alpha1.ReasonChecking, 1, false},
		"its Job waits": {both(atWork, func(f *Facts) { f.Job.Waits = "No node has space." }), v1alpha1.BackupRunning,
			v1alpha1.ReasonBackupRunning, 1, true},
		"its pod has ended, and it has not": {both(ended(task.Result{Backup: &stored}),
			func(f *Facts) { f.Job.Done = false }), v1alpha1.BackupRunning, "", 1, true},
		"shortly after an attempt": {func(f *Facts) { begun(f); f.Backup.Status.Phase = v1alpha1.BackupPending },
			v1alpha1.BackupPending, "", 1, false},
		"the last attempt but one": {both(broken, tries(maxAttempts-1)), v1alpha1.BackupPending,
			v1alpha1.ReasonBackupFailed, maxAttempts - 1, false},
		"the last attempt": {both(broken, tries(maxAttempts)), v1alpha1.BackupFailed, v1alpha1.ReasonBackupFailed,
			maxAttempts, false},
		"the store is away, many attempts": {both(away, tries(maxAttempts+9)), v1alpha1.BackupPending,
			v1alpha1.ReasonStoreUnreachable, maxAttempts + 9, false},
		"the store is away for good": {both(away, both(since(maxUnavailable), tries(maxAttempts))), v1alpha1.BackupFailed,
			v1alpha1.ReasonStoreUnreachable, maxAttempts, false},
		"the store is away, the first attempt": {both(away, since(maxUnavailable)), v1alpha1.BackupPending,
			v1alpha1.ReasonStoreUnreachable, 1, false},
		"at first": {func(*Facts) {}, v1alpha1.BackupRunning, v1alpha1.ReasonBackupRunning, 1, false},
		"without its cluster": {func(f *Facts) { f.Cluster = nil }, v1alpha1.BackupRunning, v1alpha1.ReasonBackupRunning, 1,
			false},
		"without its store": {func(f *Facts) { f.Store = nil }, v1alpha1.BackupPending, v1alpha1.ReasonStoreNotFound, 0,
			false},
		"begun": {begun, v1alpha1.BackupRunning, "", 1, true},
		"its store is gone meanwhile": {func(f *Facts) { begun(f); f.Store = nil }, v1alpha1.BackupRunning,
			v1alpha1.ReasonStoreNotFound, 1, false},
		"read": {ended(task.Result{Backup: &stored}), v1alpha1.BackupCompleted, v1alpha1.ReasonBackupCompleted, 1, false},
		"another was read": {ended(task.Result{Backup: &another}), v1alpha1.BackupPending, v1alpha1.ReasonBackupFailed, 1,
			false},
		"one elsewhere was read": {ended(task.Result{Backup: &elsewhere}), v1alpha1.BackupPending,
			v1alpha1.ReasonBackupFailed, 1, false},
		"nothing was read": {ended(task.Result{}), v1alpha1.BackupPending, v1alpha1.ReasonBackupFailed, 1, false},
		"it is not there": {ended(task.Result{Error: "none", Reason: task.ReasonBackupNotFound, Fatal: true}),
			v1alpha1.BackupFailed, v1alpha1.ReasonBackupNotFound, 1, false},
		"the store is away": {ended(task.Result{Error: "away", Reason: task.ReasonStoreUnreachable}),
			v1alpha1.BackupPending, v1alpha1.ReasonStoreUnreachable, 1, false},
	} {
		f := pending(func(f *Facts) {
			f.Backup.Spec.Import, f.Agents = &v1alpha1.BackupImport{Directory: dir, ID: id}, nil
		}, c.change)
		to := f.Backup.Status.DeepCopy()
		d := DecideImport(to, f)
		got := meta.FindStatusCondition(to.Conditions, v1alpha1.ConditionComplete)
		if to.Phase != c.phase || to.Attempts != c.attempts || d.Run != c.run ||
			c.reason != "" && (got == nil || got.Reason != c.reason) {
			t.Errorf("%s: %+v, %+v", name, d, to)
		}
		if to.Attempts > f.Backup.Status.Attempts && (to.AttemptedAt == nil || !to.AttemptedAt.Time.Equal(noon)) {
			t.Errorf("%s: it was begun at %v", name, to.AttemptedAt)
		}
		if waits := f.Job.Waits; waits != "" && (got == nil || got.Message != waits) {
			t.Errorf("%s: %+v", name, got)
		}
		if failed := c.phase == v1alpha1.BackupFailed; failed != meta.IsStatusConditionTrue(to.Conditions,
			v1alpha1.ConditionStalled) && c.reason != v1alpha1.ReasonStoreNotFound {
			t.Errorf("%s: %+v", name, to.Conditions)
		}
		done := c.phase == v1alpha1.BackupCompleted
		if done != (to.ID == id && to.Directory == dir && to.ClusterUID == stored.ClusterUID && to.Position == "u:9") ||
			done != slices.Equal(to.Recipients, stored.Recipients) || !done && to.ID != "" {
			t.Errorf("%s: %+v", name, to)
		}
	}
}
