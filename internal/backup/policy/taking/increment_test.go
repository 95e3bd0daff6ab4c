package taking

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// incremental makes the backup an increment, and has a complete one that was read from a node.
func incremental(node string) func(*Facts) {
	return func(f *Facts) {
		f.Backup.Spec.Incremental = &v1alpha1.BackupIncremental{MaxIncrements: 6}
		b := v1alpha1.GaleraBackup{}
		b.Name, b.UID = "before", "98-76"
		b.Status = v1alpha1.GaleraBackupStatus{Phase: v1alpha1.BackupCompleted, ID: "b0", Node: node, LSN: 5, Checksum: "c",
			Directory: directory(*f), Recipients: []string{"age1x"}, CompletedAt: new(metav1.NewTime(noon.Add(-time.Hour))),
			Incremental: &v1alpha1.BackupChain{Base: "b9", Depth: 2}}
		f.Backups = []v1alpha1.GaleraBackup{b}
	}
}

// TestBeginIncrement: an increment is read from the node of the backup that it adds to. What cannot be one is a full
// backup, with the reason.
func TestBeginIncrement(t *testing.T) {
	failures := func(n int32) func(*Facts) {
		return func(f *Facts) {
			f.Backup.Status.Attempts, f.Backup.Status.Incremental = 4, &v1alpha1.BackupChain{Base: "b7", Failures: n}
		}
	}
	for name, c := range map[string]struct {
		f           Facts
		node, base  string
		depth       int32
		full, reads string
	}{
		"none is asked for": {pending(incremental("shop-2"), func(f *Facts) { f.Backup.Spec.Incremental = nil }),
			"shop-1", "", 0, "", "the data of"},
		"of another node": {pending(incremental("shop-2")), "shop-2", "b0", 3, "",
			"what has changed since the backup b0 on shop-2"},
		"of the primary": {pending(incremental("shop-0")), "shop-1", "", 0, "was read from shop-0",
			"the data of shop-1"},
		"of the first": {pending(incremental("shop-1"), func(f *Facts) { f.Backups = nil }), "shop-1", "", 0,
			"no backup", ""},
		"after two failures":   {pending(incremental("shop-2"), failures(2)), "shop-2", "b0", 3, "", ""},
		"after three failures": {pending(incremental("shop-2"), failures(3)), "shop-1", "", 0, "have failed", ""},
	} {
		next := c.f.Backup.Status.DeepCopy()
		Decide(next, c.f)
		chain := v1alpha1.BackupChain{}
		if next.Incremental != nil {
			chain = *next.Incremental
		}
		if b := c.f.Backup.Status.Incremental; b != nil && chain.Failures != b.Failures {
			t.Errorf("%s: %d failures are known", name, chain.Failures)
		}
		message := meta.FindStatusCondition(next.Conditions, v1alpha1.ConditionComplete).Message
		if next.Node != c.node || chain.Base != c.base || chain.Depth != c.depth ||
			!strings.Contains(chain.FullBecause, c.full) || (chain.FullBecause == "") != (c.full == "") ||
			!strings.Contains(message, c.reads) {
			t.Errorf("%s: %s %+v %q", name, next.Node, chain, message)
		}
	}
}

// TestFailedIncrement: a full backup is made after three attempts that were about the increment, however many have
// failed for the store.
func TestFailedIncrement(t *testing.T) {
	for name, c := range map[string]struct {
		reason                     string
		attempts, before, failures int32
		phase                      string
	}{
		"of the node":                  {task.ReasonNodeFailed, 1, 0, 1, v1alpha1.BackupPending},
		"for no reason":                {"", 1, 1, 2, v1alpha1.BackupPending},
		"the store is away":            {task.ReasonStoreUnreachable, 7, 0, 0, v1alpha1.BackupPending},
		"the store is full":            {task.ReasonStoreFull, 7, 2, 2, v1alpha1.BackupPending},
		"the store refuses":            {task.ReasonStoreRefused, 1, 2, 2, v1alpha1.BackupPending},
		"the store refuses for good":   {task.ReasonStoreRefused, 5, 2, 2, v1alpha1.BackupFailed},
		"of the node, after an outage": {task.ReasonNodeFailed, 7, 0, 1, v1alpha1.BackupPending},
		"the third, after an outage":   {task.ReasonNodeFailed, 9, 2, 3, v1alpha1.BackupPending},
	} {
		f := inProgress(incremental("shop-2"), ended(task.Result{Error: "x", Reason: c.reason}), func(f *Facts) {
			s := &f.Backup.Status
			s.Attempts, s.Incremental = c.attempts, &v1alpha1.BackupChain{Base: "b0", Depth: 3, Failures: c.before}
		})
		next := f.Backup.Status.DeepCopy()
		Decide(next, f)
		if next.Phase != c.phase || next.Incremental.Failures != c.failures {
			t.Errorf("%s: %s, %+v", name, next.Phase, next.Incremental)
		}
	}
	f := inProgress(incremental("shop-2"), ended(task.Result{Error: "x", Reason: task.ReasonNodeFailed}),
		func(f *Facts) {
			s := &f.Backup.Status
			s.Attempts, s.Incremental = 10, &v1alpha1.BackupChain{FullBecause: "have failed", Failures: 3}
		})
	next := f.Backup.Status.DeepCopy()
	if Decide(next, f); next.Phase != v1alpha1.BackupFailed || next.Incremental.Failures != 3 {
		t.Errorf("the full one, too: %s, %+v", next.Phase, next.Incremental)
	}
}

// TestCompleteIncrement: what was stored counts, and not what was asked for.
func TestCompleteIncrement(t *testing.T) {
	asked := func(chain *v1alpha1.BackupChain) func(*Facts) {
		return func(f *Facts) { f.Backup.Status.Incremental = chain }
	}
	of := func(s task.Stored) func(*Facts) {
		s.ID = "b1"
		return ended(task.Result{Backup: &s})
	}
	for name, c := range map[string]struct {
		f    Facts
		want *v1alpha1.BackupChain
		says string
	}{
		"an increment": {inProgress(asked(&v1alpha1.BackupChain{Base: "b0", Depth: 3}),
			of(task.Stored{Base: "b0", Depth: 3, LSN: 7})), &v1alpha1.BackupChain{Base: "b0", Depth: 3}, "added to b0"},
		"a full one instead": {inProgress(asked(&v1alpha1.BackupChain{Base: "b0", Depth: 3}),
			of(task.Stored{LSN: 7, Full: "of another directory"})),
			&v1alpha1.BackupChain{FullBecause: "of another directory"}, "full backup: of another directory"},
		"a full one, as was decided": {inProgress(asked(&v1alpha1.BackupChain{FullBecause: "none"}),
			of(task.Stored{LSN: 7})), &v1alpha1.BackupChain{FullBecause: "none"}, "full backup: none"},
		"for a reason that is too long": {inProgress(asked(&v1alpha1.BackupChain{Base: "b0", Depth: 3}),
			of(task.Stored{LSN: 7, Full: strings.Repeat("x", 2000)})),
			&v1alpha1.BackupChain{FullBecause: strings.Repeat("x", maxReason)}, "xxx"},
		"a full one": {inProgress(of(task.Stored{LSN: 7})), nil, ""},
		"an imported increment": {inProgress(of(task.Stored{Base: "b0", Depth: 1, LSN: 7})),
			&v1alpha1.BackupChain{Base: "b0", Depth: 1}, "added to b0"},
	} {
		next := c.f.Backup.Status.DeepCopy()
		Decide(next, c.f)
		message := meta.FindStatusCondition(next.Conditions, v1alpha1.ConditionComplete).Message
		if next.LSN != 7 || (next.Incremental == nil) != (c.want == nil) || c.want != nil && *next.Incremental != *c.want ||
			!strings.Contains(message, c.says) {
			t.Errorf("%s: %d %+v %q", name, next.LSN, next.Incremental, message)
		}
	}
}
