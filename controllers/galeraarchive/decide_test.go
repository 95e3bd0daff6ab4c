package galeraarchive

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

var noon = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)

// with are the facts of an archive that is well, with changes.
func with(changes ...func(*facts)) facts {
	f := facts{now: noon, cluster: &v1alpha1.GaleraCluster{}, archived: &task.Archived{Node: "shop-1", Through: noon.Add(-5 * time.Second), GTID: "0-1-30", Segment: 9,
		Chain: 1, Surveyed: true, Base: "b1", From: noon.Add(-time.Hour)}}
	f.cluster.Name, f.cluster.UID = "shop", "a54080f9-1111"
	f.cluster.Spec.Backup = &v1alpha1.ClusterBackup{PointInTime: &v1alpha1.PointInTime{Enabled: true}}
	f.cluster.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue}}
	for _, change := range changes {
		change(&f)
	}
	return f
}

func TestDecide(t *testing.T) {
	const first, second = "shop-base-a54080f9-1", "shop-base-a54080f9-5"
	silent := func(f *facts) { f.archived, f.silent = nil, "the pod does not answer" }
	gap := func(f *facts) { f.archived.Chain, f.archived.Gap, f.archived.Base = 5, "purged", "" }
	for name, c := range map[string]struct {
		f                  facts
		before             v1alpha1.ArchiveStatus
		reason, says, base string
	}{
		"all is well":                      {with(), v1alpha1.ArchiveStatus{}, v1alpha1.ReasonArchiving, "from 2026-11-24T11:00:00Z on", ""},
		"it starts":                        {with(silent), v1alpha1.ArchiveStatus{}, v1alpha1.ReasonArchiverStarting, "does not answer", ""},
		"it is silent":                     {with(silent), v1alpha1.ArchiveStatus{ArchivedThrough: timeOf(noon.Add(-3 * time.Minute))}, v1alpha1.ReasonArchiverFailing, "does not answer", ""},
		"the store is gone":                {with(silent, func(f *facts) { f.problem = problem{v1alpha1.ReasonStoreNotFound, "there is none"} }), v1alpha1.ArchiveStatus{}, v1alpha1.ReasonStoreNotFound, "there is none", ""},
		"it needs a base":                  {with(func(f *facts) { f.archived.Base = "" }), v1alpha1.ArchiveStatus{}, v1alpha1.ReasonBaseMissing, first, first},
		"the cluster is not ready for one": {with(func(f *facts) { f.archived.Base, f.cluster.Status.Conditions = "", nil }), v1alpha1.ArchiveStatus{}, v1alpha1.ReasonBaseMissing, "when the cluster is Ready", ""},
		"it looks for one":                 {with(func(f *facts) { f.archived.Surveyed = false }), v1alpha1.ArchiveStatus{}, v1alpha1.ReasonArchiverStarting, "looks", ""},
		"a gap":                            {with(gap), v1alpha1.ArchiveStatus{}, v1alpha1.ReasonArchiveGap, "purged", second},
		"the base is being made": {with(gap, func(f *facts) { f.base = &v1alpha1.GaleraBackup{ObjectMeta: metav1.ObjectMeta{Name: second}} }), v1alpha1.ArchiveStatus{},
			v1alpha1.ReasonArchiveGap, "is being made", ""},
		"the base has failed": {with(gap, func(f *facts) {
			f.base = &v1alpha1.GaleraBackup{ObjectMeta: metav1.ObjectMeta{Name: second}, Status: v1alpha1.GaleraBackupStatus{Phase: v1alpha1.BackupFailed}}
		}), v1alpha1.ArchiveStatus{}, v1alpha1.ReasonArchiveGap, "has failed", ""},
		"it is late": {with(func(f *facts) { f.archived.Through = noon.Add(-2 * time.Minute) }), v1alpha1.ArchiveStatus{}, v1alpha1.ReasonArchiveLags, "11:58", ""},
		"the store is away": {with(func(f *facts) {
			f.archived.Through, f.archived.Problem, f.archived.Reason = noon.Add(-2*time.Minute), "no answer", task.ReasonStoreUnreachable
		}), v1alpha1.ArchiveStatus{}, v1alpha1.ReasonStoreUnreachable, "no answer", ""},
		"the store is away when the archiver starts": {with(func(f *facts) {
			f.archived.Surveyed, f.archived.Problem, f.archived.Reason = false, "no answer", task.ReasonStoreUnreachable
		}), v1alpha1.ArchiveStatus{}, v1alpha1.ReasonStoreUnreachable, "no answer", ""},
		"nothing was written yet": {with(func(f *facts) { f.archived = &task.Archived{Problem: "nothing was written"} }), v1alpha1.ArchiveStatus{}, v1alpha1.ReasonArchiverStarting, "nothing was written", ""},
	} {
		to := c.before
		base := decide(&to, c.f)
		if to.Reason != c.reason || !strings.Contains(to.Message, c.says) || base != c.base {
			t.Errorf("%s: %s %q, base %q", name, to.Reason, to.Message, base)
		}
	}
}

// TestGapStays: an archiver that was started again says nothing of the gap until it has looked; meanwhile it stays.
func TestGapStays(t *testing.T) {
	to := v1alpha1.ArchiveStatus{Gap: "purged", Chain: 5}
	decide(&to, with(func(f *facts) {
		f.archived.Surveyed, f.archived.Chain, f.archived.Base, f.archived.Gap = false, 0, "", ""
	}))
	if to.Gap != "purged" || to.Chain != 5 || to.Reason == v1alpha1.ReasonArchiving {
		t.Errorf("%+v", to)
	}
}

// TestQuiet: a status that changes with every look wakes every watcher.
func TestQuiet(t *testing.T) {
	var to v1alpha1.ArchiveStatus
	decide(&to, with())
	before := *to.DeepCopy()
	decide(&to, with(func(f *facts) { f.now, f.archived.Through = noon.Add(4*time.Second), noon.Add(-time.Second) }))
	if !before.ArchivedThrough.Equal(to.ArchivedThrough) || *before.Lag != *to.Lag {
		t.Errorf("%+v, then %+v", before, to)
	}
}

// TestBaseName: the backup that is asked for has a name that is taken, of its own for each cluster and chain, whatever the cluster's name.
func TestBaseName(t *testing.T) {
	seen := map[string]bool{}
	for _, length := range []int{1, 36, 37, 40} {
		for _, uid := range []types.UID{"a54080f9-1111", "b54080f9-1111"} {
			for _, chain := range []int64{1, 99999, 100000, 1000000000} {
				c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Name: strings.Repeat("x", length-1) + "y", UID: uid}}
				name := baseName(c, chain)
				if seen[name] || len(name) > 52 || name != baseName(c, chain) {
					t.Errorf("%d, %s, %d: %q", length, uid, chain, name)
				}
				seen[name] = true
			}
		}
	}
}
