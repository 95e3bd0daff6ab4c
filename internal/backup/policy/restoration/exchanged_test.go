package restoration

import (
	"strings"
	"testing"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// record is a complete GaleraBackup.
func record(name, dir, id, checksum string) (b v1alpha1.GaleraBackup) {
	b.Name = name
	b.Status = v1alpha1.GaleraBackupStatus{Phase: v1alpha1.BackupCompleted, ID: id, Directory: dir, Checksum: checksum}
	return b
}

// TestExchanged: a backup that is found in a store is none that a GaleraBackup has another checksum of; the one that is
// found is written down, and begins a history of its own.
func TestExchanged(t *testing.T) {
	const dir = "demo/shop/x"
	histories := map[string]string{}
	good, bad := record("i", dir, "b1", "c1"), record("n", dir, "b1", "c2")
	for name, c := range map[string]struct {
		known   []v1alpha1.GaleraBackup
		refused bool
	}{
		"nothing is on record":              {nil, false},
		"as on record":                      {[]v1alpha1.GaleraBackup{good}, false},
		"another one":                       {[]v1alpha1.GaleraBackup{bad}, true},
		"of another ID":                     {[]v1alpha1.GaleraBackup{record("n", dir, "b2", "c2")}, false},
		"elsewhere":                         {[]v1alpha1.GaleraBackup{record("n", "demo/shop/y", "b1", "c2")}, false},
		"of an earlier release":             {[]v1alpha1.GaleraBackup{record("n", dir, "b1", "")}, false},
		"imported again":                    {[]v1alpha1.GaleraBackup{bad, good}, false},
		"imported again, before the object": {[]v1alpha1.GaleraBackup{good, bad}, false},
	} {
		f := in(v1alpha1.RestoreFinding, func(f *Facts) {
			f.Find = done(task.Result{Backup: &task.Stored{ID: "b1", Dir: dir, Position: "old:6", Checksum: "c1"}})
			f.Source.Known = c.known
		})
		next := f.Cluster.Status.DeepCopy()
		Decide(next, f)
		s := next.Restore
		refused := s.Phase == v1alpha1.RestoreFailed && s.Reason == v1alpha1.ReasonBackupDamaged &&
			strings.Contains(s.Message, "the GaleraBackup n has on record") &&
			strings.Contains(s.Message, "import the backup again")
		if refused != c.refused || !refused && (s.Phase != v1alpha1.RestoreRestoring || s.Checksum != "c1") {
			t.Errorf("%s: %s %s %q, checksum %q", name, s.Phase, s.Reason, s.Message, s.Checksum)
		}
		histories[s.History] = name
	}
	f := in(v1alpha1.RestoreFinding, func(f *Facts) {
		f.Find = done(task.Result{Backup: &task.Stored{ID: "b1", Dir: dir, Position: "old:6", Checksum: "c3"}})
	})
	next := f.Cluster.Status.DeepCopy()
	Decide(next, f)
	if of := histories[next.Restore.History]; of != "" {
		t.Errorf("another backup of the same ID begins the history of %q", of)
	}
}
