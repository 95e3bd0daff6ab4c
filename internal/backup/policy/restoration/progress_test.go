package restoration

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/outcome"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// TestCopyProgress: what the Job reports is in the status while it copies, every ten seconds at most, and stays while
// it does not answer; nothing is left of an attempt that has ended.
func TestCopyProgress(t *testing.T) {
	now := time.Date(2026, 11, 28, 3, 0, 0, 0, time.UTC)
	c := &v1alpha1.GaleraCluster{}
	c.Spec.BootstrapFrom = &v1alpha1.BootstrapFrom{External: &v1alpha1.BootstrapExternal{}}
	runs := []outcome.Outcome{{Exists: true}}
	before := &v1alpha1.CopyProgress{Rows: 1, Summary: "1%", ObservedAt: metav1.NewTime(now.Add(-10 * time.Second))}
	recent := &v1alpha1.CopyProgress{Rows: 2, Summary: "2%", ObservedAt: metav1.NewTime(now.Add(-9 * time.Second))}
	quarter := &task.Copied{Rows: 25, Expected: 100, Bytes: 2500, Tables: 3, RestSeconds: 180}
	for name, tc := range map[string]struct {
		before  *v1alpha1.CopyProgress
		phase   string
		members []outcome.Outcome
		copied  *task.Copied
		want    string // the summary
	}{
		"the first report": {nil, v1alpha1.RestoreRestoring, runs, quarter, "25%"},
		"a later one":      {before, v1alpha1.RestoreRestoring, runs, quarter, "25%"},
		"one too soon":     {recent, v1alpha1.RestoreRestoring, runs, quarter, "2%"},
		"no answer":        {before, v1alpha1.RestoreRestoring, runs, nil, "1%"},
		"no answer yet":    {nil, v1alpha1.RestoreRestoring, runs, nil, ""},
		"the attempt has ended": {before, v1alpha1.RestoreRestoring, []outcome.Outcome{{Exists: true, Done: true}}, quarter,
			""},
		"the next has no Job yet": {before, v1alpha1.RestoreRestoring, []outcome.Outcome{{}}, quarter, ""},
		"a Job of another object": {before, v1alpha1.RestoreRestoring, []outcome.Outcome{{Exists: true, Foreign: true}}, nil,
			""},
		"all is done":             {before, v1alpha1.RestoreCompleted, runs, quarter, ""},
		"more than was estimated": {nil, v1alpha1.RestoreRestoring, runs, &task.Copied{Rows: 120, Expected: 100}, "99%"},
		"nothing is expected":     {nil, v1alpha1.RestoreRestoring, runs, &task.Copied{Tables: 1}, "0%"},
		"tables are compared": {before, v1alpha1.RestoreRestoring, runs,
			&task.Copied{Rows: 90, Expected: 100, Tables: 3, Compared: 1}, "compared 1 of 3"},
	} {
		got := progress(&v1alpha1.RestoreStatus{Phase: tc.phase, Progress: tc.before},
			Facts{Cluster: c, Now: now, Members: tc.members, Copied: tc.copied})
		if got == nil && tc.want == "" {
			continue
		}
		if got == nil || got.Summary != tc.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
	got := progress(&v1alpha1.RestoreStatus{Phase: v1alpha1.RestoreRestoring},
		Facts{Cluster: c, Now: now, Members: runs, Copied: quarter})
	if got.Rows != 25 || got.ExpectedRows != 100 || got.Bytes != 2500 || got.Tables != 3 || !got.ETA.Time.Equal(
		now.Add(3*time.Minute)) {
		t.Errorf("%+v", got)
	}
	c.Spec.BootstrapFrom.External = nil
	if got := progress(&v1alpha1.RestoreStatus{Phase: v1alpha1.RestoreRestoring, Progress: before},
		Facts{Cluster: c, Now: now, Members: runs, Copied: quarter}); got != nil {
		t.Errorf("a restore of a backup: %+v", got)
	}
}
