package restoration

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/job"
	"github.com/galera-operator/galera-operator/internal/backup/outcome"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// moving are the facts of a cluster of three that begins with a copy of another server.
func moving(phase string, changes ...func(*Facts)) Facts {
	f := in(phase)
	f.Members = make([]outcome.Outcome, 1)
	f.Cluster.Spec.BootstrapFrom = &v1alpha1.BootstrapFrom{External: &v1alpha1.BootstrapExternal{Host: "db.example.com",
		Insecure: true}}
	if s := f.Cluster.Status.Restore; s != nil && phase == v1alpha1.RestoreRestoring {
		s.ID, s.External = "external-4", &v1alpha1.ExternalStatus{Version: "10.11"}
	}
	for _, c := range changes {
		c(&f)
	}
	return f
}

// TestDecideExternal: a source is checked until nothing keeps it from being copied, and copied once.
func TestDecideExternal(t *testing.T) {
	unsuitable := done(task.Result{Source: &task.Source{Version: "10.11", Findings: []task.Finding{
		{Name: "PrimaryKeyMissing", Objects: []string{"shop.a"}, Count: 7, Message: "add one"}}}})
	copied := done(task.Result{Restored: &task.Restored{ID: "external-4", Position: "new:1", Source: "3-7-9"},
		Source: &task.Source{Tables: 5, Rows: 70, GTID: "3-7-9", Skipped: []string{"'x'@'%'"}}})
	found := func(s *v1alpha1.RestoreStatus) {
		s.Reason, s.Message, s.Attempts, s.AttemptedAt = v1alpha1.ReasonSourceUnsuitable, "found", 1,
			new(metav1.NewTime(noon))
	}
	for name, c := range map[string]struct {
		f            Facts
		phase        string
		reason, says string
		find         bool
		restore      []int
		uuid         string
	}{
		"it begins": {moving(""), v1alpha1.RestoreFinding, "", "checking the source db.example.com", false, nil, ""},
		"a Secret is missing": {moving(v1alpha1.RestoreFinding, func(f *Facts) {
			f.Blocker = Problem{v1alpha1.ReasonCredentialsMissing, "create it"}
		}), v1alpha1.RestoreFinding, v1alpha1.ReasonCredentialsMissing, "create it", false, nil, ""},
		"it is checked": {moving(v1alpha1.RestoreFinding), v1alpha1.RestoreFinding, "", "checking", true, nil, ""},
		"it does not answer": {moving(v1alpha1.RestoreFinding, func(f *Facts) {
			f.Find = done(task.Result{Error: "no route", Reason: task.ReasonSourceUnreachable})
		}), v1alpha1.RestoreFinding, v1alpha1.ReasonSourceUnreachable, "no route; it is tried again", false, nil, ""},
		"it cannot be copied": {moving(v1alpha1.RestoreFinding, func(f *Facts) { f.Find = unsuitable }),
			v1alpha1.RestoreFinding,
			v1alpha1.ReasonSourceUnsuitable, "PrimaryKeyMissing: shop.a and 6 more: add one", false, nil, ""},
		"it cannot be followed after a backup": {moving(v1alpha1.RestoreFinding, func(f *Facts) {
			f.Find = unsuitable
			f.Cluster.Spec.BootstrapFrom.External.Backup = &v1alpha1.ExternalBackup{Path: "old/full.xb"}
		}), v1alpha1.RestoreFinding, v1alpha1.ReasonSourceUnsuitable, "server cannot be followed. PrimaryKeyMissing: shop.a",
			false, nil, ""},
		"it is reported until the next check": {moving(v1alpha1.RestoreFinding, func(f *Facts) {
			found(f.Cluster.Status.Restore)
		}), v1alpha1.RestoreFinding, v1alpha1.ReasonSourceUnsuitable, "found", false, nil, ""},
		"and while it is checked again": {moving(v1alpha1.RestoreFinding, func(f *Facts) {
			found(f.Cluster.Status.Restore)
			f.Now = noon.Add(time.Hour)
		}), v1alpha1.RestoreFinding, v1alpha1.ReasonSourceUnsuitable, "found", true, nil, ""},
		"a check without a result": {moving(v1alpha1.RestoreFinding, func(f *Facts) { f.Find = done(task.Result{}) }),
			v1alpha1.RestoreFinding, v1alpha1.ReasonRestoreFailed, "reported nothing", false, nil, ""},
		"it can be copied": {moving(v1alpha1.RestoreFinding, func(f *Facts) {
			found(f.Cluster.Status.Restore)
			f.Find = done(task.Result{Source: &task.Source{Version: "10.11"}})
		}), v1alpha1.RestoreRestoring, "", "a copy of the source", false, nil, ""},
		"a check of an earlier spec does not count": {moving(v1alpha1.RestoreFinding, func(f *Facts) {
			f.Cluster.Generation++
			f.Find = done(task.Result{Source: &task.Source{Version: "10.11"}})
		}), v1alpha1.RestoreFinding, "", "", false, nil, ""},
		"it is copied": {moving(v1alpha1.RestoreRestoring), v1alpha1.RestoreRestoring, "", "0 of 1 are done", false, []int{0},
			""},
		"the copy was killed": {moving(v1alpha1.RestoreRestoring, func(f *Facts) {
			f.Members[0] = done(task.Result{Error: "killed", Reason: task.ReasonToolFailed})
		}), v1alpha1.RestoreRestoring, v1alpha1.ReasonToolFailed, "tried again", false, nil, ""},
		"it became unsuitable before it was copied": {moving(v1alpha1.RestoreRestoring, func(f *Facts) {
			f.Members[0] = unsuitable
		}), v1alpha1.RestoreFinding, v1alpha1.ReasonSourceUnsuitable, "PrimaryKeyMissing: shop.a and 6 more: add one", false,
			nil, ""},
		"the copy differs": {moving(v1alpha1.RestoreRestoring, func(f *Facts) {
			f.Members[0] = done(task.Result{Error: "shop.t differs", Reason: task.ReasonImportDiffers, Fatal: true})
		}), v1alpha1.RestoreFailed, v1alpha1.ReasonImportDiffers, "the cluster is not started", false, nil, ""},
		"the copy of another spec": {moving(v1alpha1.RestoreRestoring, func(f *Facts) {
			f.Members[0] = done(task.Result{Restored: &task.Restored{ID: "external-3", Position: "new:1"}})
		}), v1alpha1.RestoreRestoring, "", "", false, nil, ""},
		"it is complete": {moving(v1alpha1.RestoreRestoring, func(f *Facts) { f.Members[0] = copied }),
			v1alpha1.RestoreCompleted, "",
			"shop-0, at new:1, and compared with the source: 5 tables with 70 rows of db.example.com", false, nil, "new"},
	} {
		to := statusOf(c.f)
		d := Decide(to, c.f)
		s := to.Restore
		if s.Phase != c.phase || s.Reason != c.reason || !strings.Contains(s.Message, c.says) || d.Find != c.find ||
			!slices.Equal(d.Restore, c.restore) || to.ClusterUUID != c.uuid {
			t.Errorf("%s: %+v, %+v, %q", name, s, d, to.ClusterUUID)
		}
		if c.phase != v1alpha1.RestoreCompleted && c.phase != v1alpha1.RestoreFailed && d.RequeueAfter <= 0 {
			t.Errorf("%s: nothing wakes it", name)
		}
	}
}

func statusOf(of Facts) *v1alpha1.GaleraClusterStatus { return of.Cluster.Status.DeepCopy() }

// TestCopiedAfterFindings: a source that became unsuitable is checked again, and then copied by a Job that is none of
// the earlier ones.
func TestCopiedAfterFindings(t *testing.T) {
	f := moving(v1alpha1.RestoreRestoring)
	to := statusOf(f)
	Decide(to, f)
	f.Cluster.Status = *to
	copying, checking := job.RestoreName(f.Cluster, 0), job.FindName(f.Cluster)
	f.Members[0] = done(task.Result{Source: &task.Source{Findings: []task.Finding{{Name: "PrimaryKeyMissing"}}}})
	Decide(to, f)
	f.Cluster.Status = *to
	if job.FindName(f.Cluster) == checking {
		t.Error("the check that found nothing counts again")
	}
	f.Members[0], f.Find = outcome.Outcome{}, done(task.Result{Source: &task.Source{Version: "10.11"}})
	Decide(to, f)
	f.Cluster.Status, f.Now = *to, f.Now.Add(time.Hour)
	if to.Restore.Phase != v1alpha1.RestoreRestoring || job.RestoreName(f.Cluster, 0) == copying {
		t.Errorf("%+v: the Job is %s again", to.Restore, copying)
	}
	if d := Decide(to, f); len(d.Restore) != 1 {
		t.Errorf("%+v: nothing is copied", d)
	}
}

// TestExternalStatus: what the Job reports is in the status.
func TestExternalStatus(t *testing.T) {
	m := moving(v1alpha1.RestoreRestoring)
	m.Members[0] = done(task.Result{Restored: &task.Restored{ID: "external-4", Position: "new:1"},
		Source: &task.Source{Tables: 5, Rows: 70, GTID: "3-7-9", LockedMilliseconds: 12, Skipped: []string{"'x'@'%'"}}})
	to := statusOf(m)
	Decide(to, m)
	if e := to.Restore.External; e.Rows != 70 || e.GTID != "3-7-9" || !e.Plaintext || len(e.Skipped) != 1 ||
		e.LockedMilliseconds != 12 {
		t.Errorf("%+v", e)
	}
}
