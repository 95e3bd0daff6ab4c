package loading

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/outcome"
	"github.com/galera-operator/galera-operator/internal/backup/policy/restoration"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// importing are the facts of an import of a database.
func importing(o outcome.Outcome) Facts {
	return facts(func(f *Facts) {
		f.Source, f.Job = restoration.Source{}, o
		f.Restore.Spec.Table, f.Restore.Spec.Database = nil, &v1alpha1.RestoreDatabase{Name: "shop", As: "shop"}
		f.Restore.Spec.From.External = &v1alpha1.RestoreExternal{Host: "db.example.com", Insecure: true}
	})
}

// TestImport: a server is checked before there is an account, again and again while something keeps its tables from
// being copied, and once more by the Job that copies them.
func TestImport(t *testing.T) {
	var s v1alpha1.GaleraRestoreStatus
	step := func(o outcome.Outcome, want Decision, phase, reported, says string) {
		t.Helper()
		d := Decide(&s, importing(o))
		d.RequeueAfter = 0
		c := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionComplete)
		if d != want || s.Phase != phase || c.Reason != reported || !strings.Contains(c.Message, says) {
			t.Fatalf("%+v, %+v", d, s)
		}
		stalled := reported == v1alpha1.ReasonSourceUnsuitable || reported == v1alpha1.ReasonSourceRefused
		if stalled != meta.IsStatusConditionTrue(s.Conditions, v1alpha1.ConditionStalled) {
			t.Fatalf("Stalled: %+v", s.Conditions)
		}
	}
	bad := ended(task.Result{Source: &task.Source{Version: "11.8.3-MariaDB", Findings: []task.Finding{{
		Name: "PrimaryKeyMissing", Objects: []string{"shop.bare"}, Count: 1, Message: "add one"}}}})
	good := ended(task.Result{Source: &task.Source{Version: "11.8.3-MariaDB", Tables: 2, Bytes: 9, GTID: "0-1-7"}})
	refused := ended(task.Result{Error: "why", Reason: task.ReasonSourceRefused})
	const finding, loading = v1alpha1.RestoreFinding, v1alpha1.RestoreLoading
	step(outcome.Outcome{}, Decision{}, finding, v1alpha1.ReasonRestoring, "the server db.example.com")
	step(outcome.Outcome{}, Decision{Find: true}, finding, v1alpha1.ReasonRestoring, "")
	step(ended(task.Result{}), Decision{}, finding, v1alpha1.ReasonRestoreFailed, "nothing")
	for range 2 * maxFailures { // a person may take long
		step(bad, Decision{}, finding, v1alpha1.ReasonSourceUnsuitable, "PrimaryKeyMissing: shop.bare: add one")
		step(refused, Decision{}, finding, v1alpha1.ReasonSourceRefused, "why")
	}
	step(bad, Decision{}, finding, v1alpha1.ReasonSourceUnsuitable, "")
	if s.External == nil || len(s.External.Findings) != 1 || !s.External.Plaintext || s.Attempts != 4*maxFailures+3 {
		t.Fatalf("%+v", s)
	}
	step(outcome.Outcome{}, Decision{}, finding, v1alpha1.ReasonSourceUnsuitable, "") // the pause
	step(good, Decision{}, loading, v1alpha1.ReasonAccessPreparing, "")
	if s.External.Tables != 2 || len(s.External.Findings) > 0 || s.Location != nil || s.ID != "" {
		t.Fatalf("%+v", s)
	}
	step(outcome.Outcome{}, Decision{Access: true, Load: true}, loading, v1alpha1.ReasonRestoring,
		"opying the tables of shop into the database shop from db.example.com")
	step(bad, Decision{}, loading, v1alpha1.ReasonSourceUnsuitable, "PrimaryKeyMissing")
	step(good, Decision{}, loading, v1alpha1.ReasonRestoreFailed, "") // it has loaded nothing
	l := ended(task.Result{Loaded: &task.Loaded{Tables: 2, Rows: 7, GTID: "0-1-9", LeftOut: []string{"view v"}},
		Source: &task.Source{Version: "11.8.3-MariaDB", GTID: "0-1-9", LockedMilliseconds: 12}})
	step(l, Decision{}, v1alpha1.RestoreCompleted, v1alpha1.ReasonRestoreCompleted, "loaded 7 rows in 2 tables, with the "+
		"same content as on db.example.com at 0-1-9, by a connection in clear text; not restored: view v")
	if s.Rows != 7 || s.External.GTID != "0-1-9" || s.External.LockedMilliseconds != 12 {
		t.Fatalf("%+v", s)
	}
}

// TestImportFoundDone: an attempt that finds all tables loaded reports what the one before has noted.
func TestImportFoundDone(t *testing.T) {
	s := v1alpha1.GaleraRestoreStatus{Phase: v1alpha1.RestoreLoading, Attempts: 3,
		External: &v1alpha1.RestoredServer{Version: "11.8.3-MariaDB", GTID: "0-1-7"}}
	Decide(&s, importing(ended(task.Result{Loaded: &task.Loaded{Rows: 7, GTID: "0-1-8"}})))
	if s.Phase != v1alpha1.RestoreCompleted || s.External.GTID != "0-1-8" || s.External.Version == "" {
		t.Errorf("%+v", s)
	}
}

// TestImportFailures: an outage of the server is waited for, a name that is taken is not, and DDL there is met again.
func TestImportFailures(t *testing.T) {
	for reported, tries := range map[string]int32{task.ReasonSourceUnreachable: 0, task.ReasonSourceChanged: maxFailures,
		task.ReasonTargetExists: 1} {
		s := v1alpha1.GaleraRestoreStatus{Phase: v1alpha1.RestoreLoading, Attempts: 1}
		for try := 0; try < 50 && s.Phase == v1alpha1.RestoreLoading; try++ {
			Decide(&s, importing(ended(task.Result{Error: "why", Reason: reported,
				Fatal: reported == task.ReasonTargetExists})))
		}
		if failed := s.Phase == v1alpha1.RestoreFailed; failed != (tries > 0) || failed && s.Failures != tries {
			t.Errorf("%s: %+v", reported, s)
		}
	}
}

// TestImportProgress: how far a copy is, is reported while a Job copies, and stays while that does not answer.
func TestImportProgress(t *testing.T) {
	half := &task.Copied{Rows: 50, Expected: 100, Tables: 3}
	for name, c := range map[string]struct {
		job    outcome.Outcome
		copied *task.Copied
		edit   func(*Facts)
		want   string
	}{
		"it copies":      {outcome.Outcome{Exists: true}, half, nil, "50%"},
		"no answer":      {outcome.Outcome{Exists: true}, nil, nil, "7%"},
		"another's Job":  {outcome.Outcome{Exists: true, Foreign: true}, half, nil, ""},
		"no Job":         {outcome.Outcome{}, half, nil, ""},
		"it has failed":  {ended(task.Result{Error: "why"}), half, nil, ""},
		"it is complete": {ended(task.Result{Loaded: &task.Loaded{}}), half, nil, ""},
		"of a backup, never": {outcome.Outcome{Exists: true}, half, func(f *Facts) { f.Restore.Spec.From.External = nil },
			""},
	} {
		s := v1alpha1.GaleraRestoreStatus{Phase: v1alpha1.RestoreLoading, Attempts: 1,
			Progress: &v1alpha1.CopyProgress{Rows: 7, Summary: "7%", ObservedAt: metav1.NewTime(noon.Add(-time.Minute))}}
		f := importing(c.job)
		f.Copied = c.copied
		if c.edit != nil {
			c.edit(&f)
		}
		Decide(&s, f)
		if p := s.Progress; (p == nil) != (c.want == "") || p != nil && p.Summary != c.want {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

// TestCausesApart: outages and findings use up none of the five attempts of a load, however they alternate with its
// failures, and the pause after an attempt grows with those of its kind.
func TestCausesApart(t *testing.T) {
	away := ended(task.Result{Error: "why", Reason: task.ReasonSourceUnreachable})
	bad := ended(task.Result{Source: &task.Source{Findings: []task.Finding{{Name: "PrimaryKeyMissing"}}}})
	broken := ended(task.Result{Error: "why", Reason: task.ReasonLoadFailed})
	s := v1alpha1.GaleraRestoreStatus{Phase: v1alpha1.RestoreLoading, Attempts: 1}
	after := func(o outcome.Outcome, want time.Duration) {
		t.Helper()
		Decide(&s, importing(o))
		if left := pause(&s, noon); left != want {
			t.Fatalf("the pause is %s, want %s: %+v", left, want, s)
		}
	}
	for n := range maxFailures - 1 {
		for i, want := range []time.Duration{firstPause, 2 * firstPause, 4 * firstPause, 8 * firstPause, 16 * firstPause} {
			after([]outcome.Outcome{away, bad}[i%2], want)
		}
		for range maxFailures {
			after(away, maxPause)
			after(bad, maxPause)
		}
		after(broken, firstPause<<n)
	}
	if s.Phase != v1alpha1.RestoreLoading || s.Failures != maxFailures-1 || s.Outages != 0 {
		t.Fatalf("given up, or counted together: %+v", s)
	}
	Decide(&s, importing(away))
	if Decide(&s, importing(broken)); s.Phase != v1alpha1.RestoreFailed || s.Failures != maxFailures {
		t.Errorf("%+v", s)
	}
}
