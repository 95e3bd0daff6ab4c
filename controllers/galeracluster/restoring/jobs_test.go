package restoring

import (
	"slices"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/job"
	"github.com/galera-operator/galera-operator/internal/backup/outcome"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// filling is a Job of a member's volume, by its name.
func filling(c *v1alpha1.GaleraCluster, member, name string, end batchv1.JobConditionType) batchv1.Job {
	j := batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1alpha1.LabelMember: member}}}
	j.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(c,
		v1alpha1.GroupVersion.WithKind("GaleraCluster"))}
	if end != "" {
		j.Status.Conditions = []batchv1.JobCondition{{Type: end, Status: corev1.ConditionTrue}}
	}
	return j
}

// TestLeftover: a Job that has filled a volume goes, since its pod holds the claim. So does one of an earlier attempt.
func TestLeftover(t *testing.T) {
	c := in(v1alpha1.RestoreRestoring).cluster
	now := func(ordinal int) string { return job.RestoreName(c, ordinal) }
	all := []batchv1.Job{
		filling(c, "shop-0", now(0), batchv1.JobComplete), filling(c, "shop-1", now(1), batchv1.JobComplete),
		filling(c, "shop-2", now(2), ""),
		filling(c, "shop-1", "shop-1-restore-3-9", batchv1.JobFailed), filling(c, "shop-2", "shop-2-restore-3-9", ""),
		filling(c, "", "shop-find-4-0", batchv1.JobComplete), filling(&v1alpha1.GaleraCluster{}, "shop-0", "another", ""),
	}
	c.Status.Restore.Restored = []string{"shop-0"}
	for phase, want := range map[string][]string{
		v1alpha1.RestoreRestoring: {now(0), "shop-1-restore-3-9", "shop-2-restore-3-9"},
		v1alpha1.RestoreCompleted: {now(0), now(1), now(2), "shop-1-restore-3-9", "shop-2-restore-3-9"},
	} {
		c.Status.Restore.Phase = phase
		remove, busy := leftover(c, all)
		var names []string
		for _, j := range remove {
			names = append(names, j.Name)
		}
		slices.Sort(want)
		if slices.Sort(names); !slices.Equal(names, want) || len(busy) != 1 || !busy["shop-2"] {
			t.Errorf("%s: %v, busy %v", phase, names, busy)
		}
	}
}

// TestOneFails: the Jobs of the other members keep their names, and their work. A volume that an earlier Job may fill
// is waited for.
func TestOneFails(t *testing.T) {
	f := in(v1alpha1.RestoreRestoring, func(f *facts) {
		f.members[0].Exists, f.members[2].Exists = true, true
		f.members[1] = done(task.Result{Error: "no space", Reason: task.ReasonDiskFull})
	})
	before := []string{job.RestoreName(f.cluster, 0), job.RestoreName(f.cluster, 1), job.RestoreName(f.cluster, 2)}
	decide(&f.cluster.Status, f)
	f.members[1] = outcome.Outcome{}
	decide(&f.cluster.Status, f)
	for i, same := range []bool{true, false, true} {
		if now := job.RestoreName(f.cluster, i); (now == before[i]) != same {
			t.Errorf("%d: %s, before %s", i, now, before[i])
		}
	}
	f.now, f.busy = f.now.Add(maxAttemptPause), map[string]bool{"shop-1": true}
	if d := decide(&f.cluster.Status, f); len(d.restore) != 0 {
		t.Errorf("next to an earlier attempt: %v", d.restore)
	}
	f.busy = nil
	if d := decide(&f.cluster.Status, f); !slices.Equal(d.restore, []int{1}) {
		t.Errorf("after it: %v", d.restore)
	}
}
