package restoration

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

func foundDamaged(b v1alpha1.GaleraBackup) v1alpha1.GaleraBackup {
	b.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionVerified, Status: metav1.ConditionFalse,
		Reason: v1alpha1.ReasonBackupDamaged}}
	return b
}

func addsTo(b v1alpha1.GaleraBackup, base string) v1alpha1.GaleraBackup {
	b.Status.Incremental = &v1alpha1.BackupChain{Base: base, Depth: 1}
	return b
}

// TestDamaged: a Job that looks for a backup is given those that tests have found damaged where it looks, and what adds
// to them.
func TestDamaged(t *testing.T) {
	const dir = "demo/shop/x"
	known := []v1alpha1.GaleraBackup{record("n1", dir, "b1", ""), foundDamaged(record("n2", dir, "b2", "")),
		addsTo(record("n3", dir, "b3", ""), "b2"), foundDamaged(record("n4", "demo/shopping/x", "b4", "")),
		foundDamaged(record("again", dir, "b2", ""))}
	for of, want := range map[string]string{dir: dir + "/b3 " + dir + "/b2", "demo/shop": dir + "/b3 " + dir + "/b2",
		"demo/other": ""} {
		s := Source{Known: known, Find: task.Find{Dir: of}}
		if got := strings.Join(s.Damaged(), " "); got != want {
			t.Errorf("below %s: %s", of, got)
		}
		if s.Find.ID = "b2"; s.Damaged() != nil {
			t.Errorf("with an ID: %v", s.Damaged())
		}
	}
	var many []v1alpha1.GaleraBackup
	for i := range maxDamaged + 1 {
		many = append(many, foundDamaged(record("n", dir, fmt.Sprintf("b%03d", i), "")))
	}
	got := Source{Known: many, Find: task.Find{Dir: dir}}.Damaged()
	if len(got) != maxDamaged || slices.Contains(got, dir+"/b000") {
		t.Errorf("of many: %d", len(got))
	}
}

// TestFoundDamaged: a backup that was found damaged is not restored unless it is named, and the status states that
// then. That an earlier one is restored instead of the latest is stated, too.
func TestFoundDamaged(t *testing.T) {
	const dir = "demo/shop/x"
	good, bad := record("n1", dir, "b1", "c1"), foundDamaged(record("n1", dir, "b1", "c1"))
	later := foundDamaged(record("n2", dir, "b2", "c2"))
	full, elsewhere := foundDamaged(record("n0", dir, "b0", "")), foundDamaged(record("n1", "demo/shop/y", "b1", ""))
	const damaged, earlier = "a test has found the backup b1, or what it adds to, damaged (GaleraBackup n1)",
		"it is not the latest one: a test has found the backup b2"
	for name, c := range map[string]struct {
		known   []v1alpha1.GaleraBackup
		id      string
		replay  bool
		refused bool
		says    string
	}{
		"good":                       {[]v1alpha1.GaleraBackup{good}, "", false, false, ""},
		"damaged":                    {[]v1alpha1.GaleraBackup{bad}, "", false, true, damaged},
		"damaged, to a point":        {[]v1alpha1.GaleraBackup{bad}, "", true, true, damaged},
		"an increment of a damaged":  {[]v1alpha1.GaleraBackup{full, addsTo(good, "b0")}, "", false, true, damaged},
		"damaged, and named":         {[]v1alpha1.GaleraBackup{bad}, "b1", false, false, damaged},
		"damaged, named, to a point": {[]v1alpha1.GaleraBackup{bad}, "b1", true, false, damaged},
		"elsewhere":                  {[]v1alpha1.GaleraBackup{elsewhere}, "", false, false, ""},
		"a later one is damaged":     {[]v1alpha1.GaleraBackup{good, later}, "", false, false, earlier},
		"a later one, to a point":    {[]v1alpha1.GaleraBackup{good, later}, "", true, false, ""},
		"a later one, and named":     {[]v1alpha1.GaleraBackup{good, later}, "b1", false, false, ""},
		"an earlier one is damaged":  {[]v1alpha1.GaleraBackup{good, full}, "", false, false, ""},
	} {
		f := in(v1alpha1.RestoreFinding, func(f *Facts) {
			f.Find = done(task.Result{Backup: &task.Stored{ID: "b1", Dir: dir, Position: "old:6", Checksum: "c1"}})
			if c.replay {
				f.Find.Result.Replay = &task.Replay{From: 1, To: 2}
			}
			f.Source.Known, f.Source.Find.ID = c.known, c.id
		})
		next := f.Cluster.Status.DeepCopy()
		Decide(next, f)
		s := next.Restore
		if c.refused != (s.Phase == v1alpha1.RestoreFinding && s.Reason == v1alpha1.ReasonBackupDamaged && s.Attempts == 1) ||
			!strings.Contains(s.Message, c.says) || c.says == "" && strings.Contains(s.Message, "a test") {
			t.Errorf("%s: %s %s %q", name, s.Phase, s.Reason, s.Message)
		}
		if c.refused {
			continue
		}
		says := func(when string) {
			if !strings.Contains(s.Message, c.says) || c.says == "" && strings.Contains(s.Message, "a test") {
				t.Errorf("%s, %s: %q", name, when, s.Message)
			}
		}
		restoring(s, f)
		says("at work")
		for i := range f.Members {
			f.Members[i] = restored(s.History + ":8")
			if c.replay {
				f.Members[i].Result.Restored.GTID = "0-1-9"
			}
		}
		if restoring(s, f); s.Phase != v1alpha1.RestoreCompleted {
			t.Errorf("%s: not complete: %+v", name, s)
		}
		says("complete")
	}
}
