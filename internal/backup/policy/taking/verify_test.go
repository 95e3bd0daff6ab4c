package taking

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/outcome"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// tested are the facts of a complete backup that is to be tested.
func tested(method string, changes ...func(*Facts)) Facts {
	return pending(append([]func(*Facts){func(f *Facts) {
		f.Backup.Spec.Verify, f.Backup.Status.Phase = method, v1alpha1.BackupCompleted
		f.Backup.Status.ID = "b1"
	}}, changes...)...)
}

func testing1(method string) func(*Facts) {
	return func(f *Facts) {
		f.Backup.Status.Verification = &v1alpha1.BackupVerification{Method: method, Phase: v1alpha1.VerifyRunning,
			Attempts: 1, AttemptedAt: new(metav1.NewTime(noon))}
	}
}

func withResult(r task.Result) func(*Facts) {
	return func(f *Facts) { f.Job = outcome.Outcome{Exists: true, Done: true, Result: r} }
}

var (
	hasPassed = task.Result{Verified: &task.Verified{ID: "b1", Tables: 7}, TookSeconds: 2}
	wasRead   = task.Result{Verified: &task.Verified{ID: "b1"}, TookSeconds: 2}
)

const succeeded, verified = v1alpha1.VerifySucceeded, v1alpha1.ReasonVerified

// TestVerifiesAnother: a Job that has tested another backup has not tested this one.
func TestVerifiesAnother(t *testing.T) {
	const method = v1alpha1.VerifyChecksum
	f := tested(method, testing1(method), withResult(task.Result{Verified: &task.Verified{ID: "b0"}}))
	next := f.Backup.Status.DeepCopy()
	DecideVerification(next, f)
	c := meta.FindStatusCondition(next.Conditions, v1alpha1.ConditionVerified)
	if c.Status == metav1.ConditionTrue || next.Verification.Attempts != 2 || !strings.Contains(c.Message, `"b0"`) {
		t.Errorf("%+v", next)
	}
}

func TestDecideVerification(t *testing.T) {
	const restore, checksum, none = v1alpha1.VerifyRestore, v1alpha1.VerifyChecksum, v1alpha1.VerifyNone
	for name, c := range map[string]struct {
		f        Facts
		phase    string // "" for no test
		attempts int32
		reason   string
		says     string
		run      bool
	}{
		"none is asked for": {tested(none), "", 0, "", "", false},
		"begins":            {tested(checksum), v1alpha1.VerifyRunning, 1, v1alpha1.ReasonVerifying, "tested", false},
		"runs":              {tested(restore, testing1(restore)), v1alpha1.VerifyRunning, 1, "", "", true},
		"its pod is kept off": {tested(restore, testing1(restore),
			func(f *Facts) { f.Job = outcome.Outcome{Exists: true, Waits: "no such Secret"} }), v1alpha1.VerifyRunning, 1,
			v1alpha1.ReasonVerifying, "No such Secret.", true},
		"has passed": {tested(restore, testing1(restore), withResult(hasPassed)), succeeded, 1, verified,
			"7 tables", false},
		"was read": {tested(checksum, testing1(checksum), withResult(wasRead)), succeeded, 1,
			v1alpha1.ReasonVerified, "2s", false},
		"is damaged": {tested(checksum, testing1(checksum),
			withResult(task.Result{Error: "part-000000", Reason: task.ReasonBackupDamaged, Fatal: true})), v1alpha1.VerifyFailed,
			1,
			v1alpha1.ReasonBackupDamaged, "part-000000", false},
		"its archive is damaged": {tested(checksum, testing1(checksum),
			withResult(task.Result{Error: "the segment 000000000007", Reason: task.ReasonArchiveDamaged, Fatal: true})),
			v1alpha1.VerifyFailed, 1, v1alpha1.ReasonArchiveDamaged,
			"the backup itself is good, and the archive of the binary log is damaged: the segment 000000000007", false},
		"with its archive": {tested(checksum, testing1(checksum),
			withResult(task.Result{Verified: &task.Verified{ID: wasRead.Verified.ID, Segments: 12}})), succeeded, 1,
			verified, "12 segments", false},
		"the store is away": {tested(checksum, testing1(checksum),
			withResult(task.Result{Error: "timeout", Reason: task.ReasonStoreUnreachable})), v1alpha1.VerifyRunning, 2,
			v1alpha1.ReasonStoreUnreachable, "made again", false},
		"ended without a word": {tested(checksum, testing1(checksum), withResult(task.Result{})), v1alpha1.VerifyRunning, 2,
			v1alpha1.ReasonVerificationFailed, "made again", false},
		"for the last time": {tested(checksum, testing1(checksum), withResult(task.Result{Error: "timeout"}),
			func(f *Facts) { f.Backup.Status.Verification.Failures = maxVerifyFailures - 1 }),
			v1alpha1.VerifyFailed, 1, v1alpha1.ReasonVerificationFailed, "timeout", false},
		"after a pause": {tested(checksum, testing1(checksum),
			func(f *Facts) { f.Backup.Status.Verification.Failures = 1 }), v1alpha1.VerifyRunning, 1, "", "", false},
		"no store": {tested(checksum, testing1(checksum), func(f *Facts) { f.Store = nil }), v1alpha1.VerifyRunning, 1,
			v1alpha1.ReasonStoreNotFound, "create it", false},
		"a changed store": {tested(checksum, testing1(checksum), func(f *Facts) { f.Store.Generation = 2 }),
			v1alpha1.VerifyRunning, 1, v1alpha1.ReasonChecking, "check of the store", false},
		"no cluster": {tested(restore, testing1(restore), func(f *Facts) { f.Cluster = nil }), v1alpha1.VerifyRunning, 1,
			v1alpha1.ReasonClusterNotFound, "Checksum", false},
		"none to read": {tested(checksum, testing1(checksum), func(f *Facts) { f.Cluster = nil }), v1alpha1.VerifyRunning,
			1, "", "", true},
		"another test": {tested(restore, testing1(checksum)), v1alpha1.VerifyRunning, 2, v1alpha1.ReasonVerifying,
			"tested", false},
		"no more": {tested(none, testing1(checksum)), v1alpha1.VerifyFailed, 1, v1alpha1.ReasonVerifying, "stopped",
			false},
		"a Secret of a cluster": {tested(restore, testing1(restore),
			func(f *Facts) { f.Identity = "belongs to the cluster" }),
			v1alpha1.VerifyRunning, 1, v1alpha1.ReasonWrongKey, "Belongs to", false},
	} {
		next := c.f.Backup.Status.DeepCopy()
		d := DecideVerification(next, c.f)
		v, verified := next.Verification, meta.FindStatusCondition(next.Conditions, v1alpha1.ConditionVerified)
		if v == nil {
			v = &v1alpha1.BackupVerification{}
		}
		if verified == nil {
			verified = &metav1.Condition{}
		}
		if v.Phase != c.phase || v.Attempts != c.attempts || d.Run != c.run || verified.Reason != c.reason ||
			!strings.Contains(verified.Message, c.says) {
			t.Errorf("%s: %+v, run %v, %s: %s", name, v, d.Run, verified.Reason, verified.Message)
		}
		if good := v.Phase == v1alpha1.VerifySucceeded; good != (verified.Status == metav1.ConditionTrue) {
			t.Errorf("%s: %s, and Verified is %s", name, v.Phase, verified.Status)
		}
	}
}

// TestVerifyAgain: a test that has ended is made anew after verify was None, by a Job of another name.
func TestVerifyAgain(t *testing.T) {
	f := tested(v1alpha1.VerifyChecksum, testing1(v1alpha1.VerifyChecksum),
		withResult(task.Result{Error: "x", Reason: task.ReasonBackupDamaged, Fatal: true}))
	s := f.Backup.Status.DeepCopy()
	DecideVerification(s, f)
	f.Job = outcome.Outcome{}
	for _, method := range []string{v1alpha1.VerifyChecksum, v1alpha1.VerifyNone, v1alpha1.VerifyChecksum} {
		f.Backup.Spec.Verify = method
		f.Backup.Status = *s.DeepCopy()
		DecideVerification(s, f)
	}
	if v := s.Verification; v.Phase != v1alpha1.VerifyRunning || v.Attempts != 2 || v.Failures != 0 {
		t.Errorf("%+v", v)
	}
	if p := pause(s.Verification.Failures, s.Verification.AttemptedAt, noon.Add(time.Second)); p > 0 {
		t.Errorf("it waits %s", p)
	}
	damaged := func() bool { return (&v1alpha1.GaleraBackup{Status: *s}).Damaged() }
	if !damaged() || meta.IsStatusConditionTrue(s.Conditions, v1alpha1.ConditionStalled) {
		t.Errorf("while it is tested again the archive may rely on it: %+v", s.Conditions)
	}
	for _, r := range []task.Result{{Error: "timeout", Reason: task.ReasonStoreUnreachable}, wasRead} {
		f.Backup.Status, f.Job = *s.DeepCopy(), outcome.Outcome{Exists: true, Done: true, Result: r}
		DecideVerification(s, f)
		if damaged() != (r.Error != "") {
			t.Errorf("after %+v: %+v", r, s.Conditions)
		}
	}
}

// TestDamageFoundByRestore: bytes that are as they were written may be a copy that no server starts on. Only another
// restore disproves what one has found, however often, and by whatever way, the backup is tested meanwhile.
func TestDamageFoundByRestore(t *testing.T) {
	const restore, checksum, none = v1alpha1.VerifyRestore, v1alpha1.VerifyChecksum, v1alpha1.VerifyNone
	bad := task.Result{Error: "table shop.orders is corrupt", Reason: task.ReasonBackupDamaged, Fatal: true}
	gap := task.Result{Error: "the segment 7 is missing", Reason: task.ReasonArchiveDamaged, Fatal: true}
	type step struct {
		method string
		result task.Result
	}
	for name, c := range map[string]struct {
		steps   []step
		damaged bool
	}{
		"a checksum passes": {[]step{{restore, bad}, {checksum, wasRead}}, true},
		"it passes twice": {[]step{{restore, bad}, {checksum, wasRead}, {none, task.Result{}},
			{checksum, wasRead}}, true},
		"a checksum fails, then passes": {[]step{{restore, bad}, {checksum, bad}, {none, task.Result{}},
			{checksum, wasRead}}, true},
		"a restore passes":                 {[]step{{restore, bad}, {checksum, wasRead}, {restore, hasPassed}}, false},
		"what a checksum found, it clears": {[]step{{checksum, bad}, {none, task.Result{}}, {checksum, wasRead}}, false},
		"or a restore":                     {[]step{{checksum, bad}, {restore, hasPassed}}, false},
		"after a restore all is new": {[]step{{restore, bad}, {none, task.Result{}}, {restore, hasPassed},
			{checksum, bad}, {none, task.Result{}}, {checksum, wasRead}}, false},
		// The archive is read after the backup itself has passed.
		"a restore passes, the archive is damaged": {[]step{{restore, bad}, {none, task.Result{}}, {restore, gap}}, false},
		"or a checksum of what one found":          {[]step{{checksum, bad}, {none, task.Result{}}, {checksum, gap}}, false},
		"but not of what a restore found":          {[]step{{restore, bad}, {checksum, gap}}, true},
	} {
		f := tested(none)
		s := f.Backup.Status.DeepCopy()
		for _, step := range c.steps {
			f.Backup.Spec.Verify, f.Job = step.method, outcome.Outcome{}
			for range 2 { // it begins, then its Job has ended
				f.Backup.Status = *s.DeepCopy()
				DecideVerification(s, f)
				if step.method != none {
					f.Job = outcome.Outcome{Exists: true, Done: true, Result: step.result}
				}
			}
		}
		b := v1alpha1.GaleraBackup{Status: *s}
		verified := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionVerified)
		passed := verified.Status == metav1.ConditionTrue || verified.Reason == v1alpha1.ReasonArchiveDamaged
		if b.Damaged() != c.damaged || passed == c.damaged || (s.Verification.DamagedBy != "") != c.damaged ||
			s.Verification.Phase == v1alpha1.VerifyRunning {
			t.Errorf("%s: %+v, %+v", name, s.Verification, verified)
		}
		if c.damaged && !strings.Contains(verified.Message, "set verify to Restore") {
			t.Errorf("%s: it does not explain what to do: %s", name, verified.Message)
		}
	}
}
