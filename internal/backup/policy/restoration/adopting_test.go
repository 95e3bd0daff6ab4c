package restoration

import (
	"slices"
	"strings"
	"testing"
	"time"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// adopting are the facts of a cluster of three that begins with a backup of another server.
func adopting(phase string, changes ...func(*Facts)) Facts {
	return moving(phase, append([]func(*Facts){func(f *Facts) {
		f.Cluster.Spec.BootstrapFrom.External = &v1alpha1.BootstrapExternal{Method: v1alpha1.MethodBackup,
			Backup: &v1alpha1.ExternalBackup{StoreRef: v1alpha1.LocalName{Name: "offsite"}, Path: "old/full.xb"}}
	}}, changes...)...)
}

// TestDecideBackupOfAServer: a backup of another server is looked for until it is there, and fills the first volume.
// One that is refused keeps the cluster from starting.
func TestDecideBackupOfAServer(t *testing.T) {
	adopted := done(task.Result{Restored: &task.Restored{ID: "external-4", Position: "new:1", Source: "3-7-9"},
		Source: &task.Source{Version: "11.8.3-MariaDB", Tables: 5, GTID: "3-7-9", Skipped: []string{"''@'localhost'"}}})
	for name, c := range map[string]struct {
		f            Facts
		phase        string
		reason, says string
		find         bool
		restore      []int
		uuid         string
	}{
		"it begins": {adopting(""), v1alpha1.RestoreFinding, "", "looking for the backup old/full.xb in the store offsite",
			false, nil, ""},
		"the store is missing": {adopting(v1alpha1.RestoreFinding, func(f *Facts) {
			f.Blocker = Problem{v1alpha1.ReasonStoreNotFound, "create it"}
		}), v1alpha1.RestoreFinding, v1alpha1.ReasonStoreNotFound, "create it", false, nil, ""},
		"it is looked for": {adopting(v1alpha1.RestoreFinding), v1alpha1.RestoreFinding, "", "looking for", true, nil, ""},
		"it is not there yet": {adopting(v1alpha1.RestoreFinding, func(f *Facts) {
			f.Find = done(task.Result{Error: "no object", Reason: task.ReasonBackupNotFound})
		}), v1alpha1.RestoreFinding, v1alpha1.ReasonBackupNotFound, "no object; it is tried again", false, nil, ""},
		"it is none": {adopting(v1alpha1.RestoreFinding, func(f *Facts) {
			f.Find = done(task.Result{Error: "no stream", Reason: task.ReasonImportRefused, Fatal: true})
		}), v1alpha1.RestoreFailed, v1alpha1.ReasonImportRefused, "Change spec.bootstrapFrom", false, nil, ""},
		"it is there": {adopting(v1alpha1.RestoreFinding, func(f *Facts) {
			f.Find = done(task.Result{Source: &task.Source{Bytes: 9}})
		}), v1alpha1.RestoreRestoring, "", "filling the volume with the backup old/full.xb", false, nil, ""},
		"it fills the first volume only": {adopting(v1alpha1.RestoreRestoring), v1alpha1.RestoreRestoring, "",
			"the backup old/full.xb: 0 of 1 are done", false, []int{0}, ""},
		"its Job was killed": {adopting(v1alpha1.RestoreRestoring, func(f *Facts) {
			f.Members[0] = done(task.Result{Error: "killed", Reason: task.ReasonToolFailed})
		}), v1alpha1.RestoreRestoring, v1alpha1.ReasonToolFailed, "tried again", false, nil, ""},
		"it is of another series": {adopting(v1alpha1.RestoreRestoring, func(f *Facts) {
			f.Members[0] = done(task.Result{Error: "of 10.11", Reason: task.ReasonVersionRefused, Fatal: true})
		}), v1alpha1.RestoreFailed, v1alpha1.ReasonVersionRefused, "the cluster is not started", false, nil, ""},
		"it is complete": {adopting(v1alpha1.RestoreRestoring, func(f *Facts) { f.Members[0] = adopted }),
			v1alpha1.RestoreCompleted, "", "the backup old/full.xb of a server of MariaDB 11.8.3-MariaDB, with 5 tables at " +
				"3-7-9, is on the volume of shop-0, at new:1", false, nil, "new"},
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
		if c.phase == v1alpha1.RestoreCompleted && (s.External.Plaintext || s.External.Skipped == nil) {
			t.Errorf("%s: %+v", name, s.External)
		}
	}
}

// TestNoReseedByABackup: a cluster whose source has purged what is needed next is not emptied for the same backup.
func TestNoReseedByABackup(t *testing.T) {
	now := time.Unix(1700000000, 0)
	f := ReseedFacts{Cluster: adopting(v1alpha1.RestoreCompleted).Cluster, Now: now}
	f.Cluster.Spec.BootstrapFrom.External.Host, f.Cluster.Spec.BootstrapFrom.External.Follow = "db", true
	if why := notReseeded("purged@1700000000", f); !strings.Contains(why, "create the cluster anew with a later backup") {
		t.Errorf("%q", why)
	}
}
