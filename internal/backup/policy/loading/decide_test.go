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

var noon = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)

// facts are those of a restore of a table into a cluster that is Ready.
func facts(edit func(*Facts)) Facts {
	r := &v1alpha1.GaleraRestore{ObjectMeta: metav1.ObjectMeta{Name: "r", Generation: 1}}
	r.Spec.ClusterRef.Name = "shop"
	r.Spec.Table = &v1alpha1.RestoreTable{Database: "shop", Name: "orders", As: "orders_before"}
	c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionReady,
		Status: metav1.ConditionTrue, Reason: "x"})
	f := Facts{Restore: r, Cluster: c, Now: noon, Source: restoration.Source{Store: &v1alpha1.GaleraBackupStore{
		ObjectMeta: metav1.ObjectMeta{Name: "offsite"}}}}
	if edit != nil {
		edit(&f)
	}
	return f
}

func ended(r task.Result) outcome.Outcome {
	return outcome.Outcome{Exists: true, Done: true, Result: r}
}

func reason(s v1alpha1.GaleraRestoreStatus) string {
	c := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionComplete)
	if c == nil {
		return ""
	}
	return c.Reason
}

// TestBlocked: nothing begins while something is missing, and what is missing is named; a Job that is at work goes on.
func TestBlocked(t *testing.T) {
	for name, tc := range map[string]struct {
		want string
		edit func(*Facts)
	}{
		"no cluster":    {v1alpha1.ReasonClusterNotFound, func(f *Facts) { f.Cluster = nil }},
		"not Ready":     {v1alpha1.ReasonClusterNotReady, func(f *Facts) { f.Cluster.Status.Conditions = nil }},
		"paused":        {v1alpha1.ReasonClusterNotReady, paused},
		"hibernates":    {v1alpha1.ReasonClusterNotReady, func(f *Facts) { f.Cluster.Spec.Hibernate = true }},
		"no TLS":        {v1alpha1.ReasonTableRefused, func(f *Facts) { f.Cluster.Spec.TLS.Clients = v1alpha1.TLSDisabled }},
		"another's key": {v1alpha1.ReasonWrongKey, wrongKey},
		"another place": {v1alpha1.ReasonStoreChanged, func(f *Facts) { f.Restore.Status.Location = here }},
	} {
		for _, phase := range []string{"", v1alpha1.RestoreFinding, v1alpha1.RestoreLoading} {
			s := v1alpha1.GaleraRestoreStatus{Phase: phase, Attempts: 1}
			d := Decide(&s, facts(tc.edit))
			if d.Find || d.Load || d.Access || reason(s) != tc.want || s.Attempts != 1 || d.RequeueAfter == 0 {
				t.Errorf("%s in %q: %+v, %+v", name, phase, d, s)
			}
			stalled := meta.IsStatusConditionTrue(s.Conditions, v1alpha1.ConditionStalled)
			if stalled != (tc.want != v1alpha1.ReasonClusterNotReady) {
				t.Errorf("%s in %q: Stalled is %t", name, phase, stalled)
			}
			f := facts(tc.edit)
			f.Job = outcome.Outcome{Exists: true}
			d = Decide(&s, f)
			if phase == v1alpha1.RestoreLoading && (d.Load || !d.Access) {
				t.Errorf("%s while a Job is at work: %+v", name, d)
			}
		}
	}
}

// here is a place that the store of facts does not name.
var here = &v1alpha1.StoreLocation{Kind: v1alpha1.StoreVolume, Claim: "here"}

// TestFoundElsewhere: the place where the backup was found is recorded, unless the store has left it meanwhile.
func TestFoundElsewhere(t *testing.T) {
	found := ended(task.Result{Backup: &task.Stored{ID: "b1"}})
	found.Location = here
	for claim, want := range map[string]string{"here": v1alpha1.RestoreLoading, "there": v1alpha1.RestoreFinding} {
		s := v1alpha1.GaleraRestoreStatus{Phase: v1alpha1.RestoreFinding, Attempts: 1}
		Decide(&s, facts(func(f *Facts) {
			f.Job, f.Source.Store.Spec.Volume = found, &v1alpha1.VolumeStore{ClaimName: claim}
		}))
		known := want == v1alpha1.RestoreLoading
		if s.Phase != want || s.Attempts != 2 || known != (s.Location != nil && *s.Location == *here) ||
			!known && reason(s) != v1alpha1.ReasonStoreChanged {
			t.Errorf("%s: %+v", claim, s)
		}
	}
}

// TestExchanged: the checksum that was found is written down; one that a GaleraBackup has another one of is refused.
func TestExchanged(t *testing.T) {
	known := v1alpha1.GaleraBackup{Status: v1alpha1.GaleraBackupStatus{ID: "b1", Directory: "d", Checksum: "c1"}}
	for checksum, want := range map[string]string{"c1": v1alpha1.RestoreLoading, "c2": v1alpha1.RestoreFailed} {
		s := v1alpha1.GaleraRestoreStatus{Phase: v1alpha1.RestoreFinding, Attempts: 1}
		Decide(&s, facts(func(f *Facts) {
			f.Job = ended(task.Result{Backup: &task.Stored{ID: "b1", Dir: "d", Checksum: checksum}})
			f.Source.Known = []v1alpha1.GaleraBackup{known}
		}))
		if loads := want == v1alpha1.RestoreLoading; s.Phase != want || loads != (s.Checksum == checksum) ||
			!loads && reason(s) != v1alpha1.ReasonBackupDamaged {
			t.Errorf("%s: %+v", checksum, s)
		}
	}
}

// TestFoundDamaged: a backup that a test has found damaged is not loaded from, unless it is named: the conditions state
// that then.
func TestFoundDamaged(t *testing.T) {
	known := v1alpha1.GaleraBackup{Status: v1alpha1.GaleraBackupStatus{ID: "b1", Directory: "d"}}
	known.Name, known.Status.Conditions = "n1", []metav1.Condition{{Type: v1alpha1.ConditionVerified,
		Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonBackupDamaged}}
	for id, want := range map[string]string{"": v1alpha1.RestoreFinding, "b1": v1alpha1.RestoreLoading} {
		s := v1alpha1.GaleraRestoreStatus{Phase: v1alpha1.RestoreFinding, Attempts: 1}
		next := func(r task.Result) string {
			Decide(&s, facts(func(f *Facts) {
				f.Job, f.Source.Known, f.Source.Find.ID = ended(r), []v1alpha1.GaleraBackup{known}, id
				f.Job.Exists, f.Job.Done = true, r.Backup != nil || r.Loaded != nil
			}))
			return meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionComplete).Message
		}
		says := next(task.Result{Backup: &task.Stored{ID: "b1", Dir: "d"}})
		if s.Phase != want || id == "" && (reason(s) != v1alpha1.ReasonBackupDamaged || !strings.Contains(says, "n1")) {
			t.Errorf("%q: %+v", id, s)
		}
		if id == "" {
			continue
		}
		for when, says := range map[string]string{"at work": next(task.Result{}),
			"complete": next(task.Result{Loaded: &task.Loaded{ID: "b1", Tables: 1}})} {
			if !strings.Contains(says, "damaged (GaleraBackup n1): its data may be incomplete") {
				t.Errorf("%s: %s", when, says)
			}
		}
		if s.Phase != v1alpha1.RestoreCompleted {
			t.Errorf("%+v", s)
		}
	}
}

func paused(f *Facts) { f.Cluster.Annotations = map[string]string{v1alpha1.AnnotationPause: "true"} }

func wrongKey(f *Facts) {
	f.Blocker = restoration.Problem{Reason: v1alpha1.ReasonWrongKey, Message: "why"}
}

// TestSteps: a restore is looked for, gets an account, is loaded and ends; each step is in the status before it is
// taken, and each Job has a name of its own.
func TestSteps(t *testing.T) {
	var s v1alpha1.GaleraRestoreStatus
	step := func(edit func(*Facts), want Decision, phase string, attempts int32) {
		t.Helper()
		d := Decide(&s, facts(edit))
		d.RequeueAfter = 0
		if d != want || s.Phase != phase || s.Attempts != attempts {
			t.Fatalf("%+v, %+v", d, s)
		}
	}
	found := ended(task.Result{Backup: &task.Stored{ID: "b1", Dir: "demo/shop/u"}, Replay: &task.Replay{From: 1, To: 2}})
	lacking := restoration.Problem{Reason: v1alpha1.ReasonAccessPreparing, Message: "waiting"}
	step(nil, Decision{}, v1alpha1.RestoreFinding, 1)
	step(nil, Decision{Find: true}, v1alpha1.RestoreFinding, 1)
	step(func(f *Facts) { f.Job = found }, Decision{}, v1alpha1.RestoreLoading, 2)
	if s.ID != "b1" || s.Store != "offsite" || s.Replay == nil || s.Replay.To != 2 {
		t.Fatalf("%+v", s)
	}
	step(func(f *Facts) { f.Access = lacking }, Decision{Access: true}, v1alpha1.RestoreLoading, 2)
	if meta.IsStatusConditionTrue(s.Conditions, v1alpha1.ConditionStalled) {
		t.Fatalf("%+v", s)
	}
	step(func(f *Facts) { f.Access, f.Stuck = lacking, true }, Decision{Access: true}, v1alpha1.RestoreLoading, 2)
	if !meta.IsStatusConditionTrue(s.Conditions, v1alpha1.ConditionStalled) {
		t.Fatalf("it waits for a person: %+v", s)
	}
	step(nil, Decision{Access: true, Load: true}, v1alpha1.RestoreLoading, 2)
	step(func(f *Facts) { f.Job = outcome.Outcome{Exists: true} }, Decision{Access: true}, v1alpha1.RestoreLoading, 2)
	other := ended(task.Result{Loaded: &task.Loaded{ID: "b2"}})
	step(func(f *Facts) { f.Job = other }, Decision{}, v1alpha1.RestoreLoading, 3)
	step(nil, Decision{}, v1alpha1.RestoreLoading, 3) // the pause after a failure
	loaded := ended(task.Result{Loaded: &task.Loaded{ID: "b1", Tables: 1, Rows: 7, GTID: "0-1-9", Late: 2,
		LeftOut: []string{"trigger x"}}})
	step(func(f *Facts) { f.Job = loaded }, Decision{}, v1alpha1.RestoreCompleted, 3)
	c := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionComplete)
	if c.Status != metav1.ConditionTrue || s.Rows != 7 || s.Replay.Reached != "0-1-9" || s.Replay.Late != 2 ||
		!strings.Contains(c.Message, "2 later transactions with a time before that left out") ||
		!strings.Contains(c.Message, "loaded 7 rows in 1 table,") ||
		!strings.Contains(c.Message, "not restored: trigger x") || s.CompletedAt == nil {
		t.Fatalf("%+v", s)
	}
	step(nil, Decision{}, v1alpha1.RestoreCompleted, 3)
}

// TestFailures: a refusal is final, an outage is waited for, and all else is tried five times.
func TestFailures(t *testing.T) {
	for name, tc := range map[string]struct {
		edit  func(*Facts)
		tries int32
		want  string
	}{
		"the name is taken": {func(f *Facts) {
			f.Job = ended(task.Result{Error: "why", Fatal: true, Reason: task.ReasonTargetExists})
		}, 1, v1alpha1.ReasonTargetExists},
		"the new database is another's": {func(f *Facts) {
			f.Restore.Spec.Table, f.Restore.Spec.Database = nil, &v1alpha1.RestoreDatabase{Name: "shop", As: "x"}
			f.Taken = true
		}, 1, v1alpha1.ReasonTargetExists},
		"a tool": {func(f *Facts) { f.Job = ended(task.Result{Error: "why"}) }, maxFailures, v1alpha1.ReasonRestoreFailed},
		"an outage": {func(f *Facts) {
			f.Job = ended(task.Result{Error: "why", Reason: task.ReasonStoreUnreachable})
		}, 0, v1alpha1.ReasonStoreUnreachable},
	} {
		s := v1alpha1.GaleraRestoreStatus{Phase: v1alpha1.RestoreLoading, ID: "b1", Attempts: 1}
		for try := int32(1); try <= 50 && s.Phase == v1alpha1.RestoreLoading; try++ {
			Decide(&s, facts(tc.edit))
		}
		if failed := s.Phase == v1alpha1.RestoreFailed; failed != (tc.tries > 0) || failed && s.Failures != tc.tries ||
			reason(s) != tc.want || failed != meta.IsStatusConditionTrue(s.Conditions, v1alpha1.ConditionStalled) {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

// TestFailedDatabase: the message about the new database never has anyone drop one with data. Its mark stays, and any
// other restore takes it over, whatever its name is.
func TestFailedDatabase(t *testing.T) {
	for reason, takenOver := range map[string]bool{v1alpha1.ReasonTargetExists: false, v1alpha1.ReasonTableRefused: true} {
		s := v1alpha1.GaleraRestoreStatus{Phase: v1alpha1.RestoreLoading, ID: "b1", Attempts: 2}
		Decide(&s, facts(func(f *Facts) {
			f.Restore.Spec.Table, f.Restore.Spec.Database = nil, &v1alpha1.RestoreDatabase{Name: "shop", As: "x"}
			f.Job = ended(task.Result{Error: "why", Fatal: true, Reason: reason})
		}))
		m := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionComplete).Message
		if strings.Contains(m, "takes over the new database x") != takenOver || strings.Contains(m, "drop") ||
			strings.Contains(m, "of this name") {
			t.Errorf("%s: %s", reason, m)
		}
	}
}
