package taking

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// TestDamagedBase: the damage that a test finds in what an increment adds to is held against that backup, once the test
// has ended.
func TestDamagedBase(t *testing.T) {
	const method = v1alpha1.VerifyChecksum
	for name, c := range map[string]struct {
		r    task.Result
		want string
	}{
		"of its base":        {task.Result{Error: "x", Reason: task.ReasonBackupDamaged, Fatal: true, Damaged: "b0"}, "b0"},
		"of its own":         {task.Result{Error: "x", Reason: task.ReasonBackupDamaged, Fatal: true, Damaged: "b1"}, ""},
		"of one of them":     {task.Result{Error: "x", Reason: task.ReasonBackupDamaged, Fatal: true}, ""},
		"for another reason": {task.Result{Error: "x", Reason: task.ReasonWrongKey, Fatal: true, Damaged: "b0"}, ""},
		"not for good":       {task.Result{Error: "x", Reason: task.ReasonBackupDamaged, Damaged: "b0"}, ""},
	} {
		f := tested(method, testing1(method), withResult(c.r))
		next := f.Backup.Status.DeepCopy()
		if d := DecideVerification(next, f); d.Damaged != c.want {
			t.Errorf("%s: %+v", name, d)
		}
	}
}

func lies(claim string) *v1alpha1.StoreLocation {
	return &v1alpha1.StoreLocation{Kind: v1alpha1.StoreVolume, Claim: claim}
}

// TestBaseOfATest: the base is the backup of that ID in the place of the tested one, and no other one.
func TestBaseOfATest(t *testing.T) {
	f := tested(v1alpha1.VerifyChecksum, func(f *Facts) {
		f.Store.Spec.Volume = &v1alpha1.VolumeStore{ClaimName: "here"}
		f.Backup.Status.Directory = "demo/shop/u1"
	})
	for name, c := range map[string]struct {
		change func(*v1alpha1.GaleraBackup)
		want   bool
	}{
		"the base":      {func(*v1alpha1.GaleraBackup) {}, true},
		"lies there":    {func(b *v1alpha1.GaleraBackup) { b.Status.Store = lies("here") }, true},
		"elsewhere":     {func(b *v1alpha1.GaleraBackup) { b.Status.Store = lies("there") }, false},
		"another ID":    {func(b *v1alpha1.GaleraBackup) { b.Status.ID = "b2" }, false},
		"another path":  {func(b *v1alpha1.GaleraBackup) { b.Status.Directory = "demo/shop/u2" }, false},
		"another store": {func(b *v1alpha1.GaleraBackup) { b.Spec.StoreRef.Name = "other" }, false},
		"is being made": {func(b *v1alpha1.GaleraBackup) { b.Status.Phase = v1alpha1.BackupRunning }, false},
		"itself":        {func(b *v1alpha1.GaleraBackup) { b.UID = f.Backup.UID }, false},
	} {
		b := f.Backup.DeepCopy()
		b.UID, b.Status.ID = "another", "b0"
		c.change(b)
		if got := Base(f, "b0", b); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
		if Base(f, "", b) {
			t.Errorf("%s: without an ID", name)
		}
	}
}

// TestFoundDamaged: a backup that the test of an increment has found damaged is so, whatever its own test has said,
// until it passes one that can disprove it.
func TestFoundDamaged(t *testing.T) {
	const none, checksum, restore = v1alpha1.VerifyNone, v1alpha1.VerifyChecksum, v1alpha1.VerifyRestore
	const failed, runs = v1alpha1.VerifyFailed, v1alpha1.VerifyRunning
	for name, c := range map[string]struct {
		own, found, before string // methods
		phase              string
		wantPhase, wantBy  string
		disprovedBy        string
	}{
		"it was not tested":       {none, checksum, "", "", failed, checksum, checksum},
		"it has passed":           {checksum, checksum, "", succeeded, failed, checksum, checksum},
		"a restore has found it":  {checksum, restore, "", succeeded, failed, restore, restore},
		"its restore had found":   {restore, checksum, restore, failed, failed, restore, restore},
		"it is being tested, too": {checksum, checksum, "", runs, runs, checksum, checksum},
	} {
		base := tested(c.own).Backup
		base.Status.ID = "b0"
		if c.phase != "" {
			base.Status.Verification = &v1alpha1.BackupVerification{Method: c.own, Phase: c.phase, DamagedBy: c.before}
		}
		by := tested(c.found, testing1(c.found), withResult(task.Result{Error: "part-000001"}))
		by.Backup.Name = "often-2"
		to := base.Status.DeepCopy()
		FoundDamaged(to, base, by)
		again := to.DeepCopy()
		FoundDamaged(again, base, by)
		v, cond := to.Verification, meta.FindStatusCondition(to.Conditions, v1alpha1.ConditionVerified)
		if v.Phase != c.wantPhase || v.DamagedBy != c.wantBy || v.Method != c.own || !strings.Contains(cond.Message,
			"The test of the backup often-2, which adds to it, has found it damaged: part-000001") || len(again.Conditions) !=
			len(to.Conditions) {
			t.Errorf("%s: %+v, %s", name, v, cond.Message)
		}
		base.Status = *to
		if !base.Damaged() {
			t.Errorf("%s: it counts as good", name)
		}
		// tested again, as it is asked for
		for _, method := range []string{checksum, restore} {
			f := tested(method, func(f *Facts) { f.Backup.Status = *to.DeepCopy() })
			if f.Backup.Status.Verification.Method == method && f.Backup.Status.Verification.Phase != v1alpha1.VerifyRunning {
				f.Backup.Status.Verification.Method = none
			}
			DecideVerification(&f.Backup.Status, f)
			if !f.Backup.Damaged() {
				t.Errorf("%s: it counts as good while it is tested with %s", name, method)
			}
			f = tested(method, withResult(task.Result{Verified: &task.Verified{ID: "b0"}}),
				func(g *Facts) { g.Backup.Status = f.Backup.Status })
			DecideVerification(&f.Backup.Status, f)
			good := meta.IsStatusConditionPresentAndEqual(f.Backup.Status.Conditions, v1alpha1.ConditionVerified,
				metav1.ConditionTrue)
			if want := method == c.disprovedBy || method == restore; good != want {
				t.Errorf("%s: passed %s, good %v", name, method, good)
			}
		}
	}
}
