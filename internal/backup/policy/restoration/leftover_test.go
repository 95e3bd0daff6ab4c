package restoration

import (
	"slices"
	"strings"
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
	c := in(v1alpha1.RestoreRestoring).Cluster
	now := func(ordinal int) string { return job.RestoreName(c, ordinal) }
	all := []batchv1.Job{
		filling(c, "shop-0", now(0), batchv1.JobComplete), filling(c, "shop-1", now(1), batchv1.JobComplete),
		filling(c, "shop-2", now(2), ""),
		filling(c, "shop-1", "shop-1-restore-3-9", batchv1.JobFailed), filling(c, "shop-2", "shop-2-restore-3-9", ""),
		filling(c, "", "shop-find-4-0", batchv1.JobComplete), filling(&v1alpha1.GaleraCluster{}, "shop-0", "another", ""),
	}
	all[4].Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionFalse}}
	c.Status.Restore.Restored = []string{"shop-0"}
	for phase, want := range map[string][]string{
		v1alpha1.RestoreRestoring: {now(0), "shop-1-restore-3-9", "shop-2-restore-3-9"},
		v1alpha1.RestoreCompleted: {now(0), now(1), now(2), "shop-1-restore-3-9", "shop-2-restore-3-9"},
	} {
		c.Status.Restore.Phase = phase
		remove, busy := Leftover(c, all)
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

// TestFewerReplicas: a restore whose cluster is given fewer replicas meanwhile is complete when the volumes of those
// are filled, and no Job may fill another one any more.
func TestFewerReplicas(t *testing.T) {
	f := in(v1alpha1.RestoreRestoring, func(f *Facts) {
		f.Cluster.Status.Restore.Restored = []string{"shop-1"}
		f.Cluster.Status.Restore.Position = "new:8"
		f.Cluster.Spec.Replicas, f.Members = 1, []outcome.Outcome{{Exists: true}}
	})
	c, s := f.Cluster, f.Cluster.Status.Restore
	jobs := []batchv1.Job{filling(c, "shop-0", job.RestoreName(c, 0), ""), filling(c, "shop-2", job.RestoreName(c, 2), "")}
	remove, busy := Leftover(c, jobs)
	if len(remove) != 1 || remove[0].Name != jobs[1].Name || len(busy) != 1 || !busy["shop-2"] {
		t.Errorf("%v, busy %v", remove, busy)
	}
	f.Busy = busy
	if Decide(&c.Status, f); s.Phase != v1alpha1.RestoreRestoring || !strings.Contains(s.Message, ": 0 of 1 are done") {
		t.Errorf("the volume is not filled: %+v", s)
	}
	f.Members[0] = restored("new:8")
	if d := Decide(&c.Status, f); s.Phase != v1alpha1.RestoreRestoring || d.RequeueAfter == 0 ||
		!strings.Contains(s.Message, "waiting for an earlier attempt at the volume of shop-2 to end") {
		t.Errorf("a Job is at work: %+v", s)
	}
	f.Busy = nil
	if Decide(&c.Status, f); s.Phase != v1alpha1.RestoreCompleted || !strings.Contains(s.Message, "on the volume at new:8") {
		t.Errorf("%+v", s)
	}
}

// TestOneFails: the Jobs of the other members keep their names, and their work. A volume that an earlier Job may fill
// is waited for.
func TestOneFails(t *testing.T) {
	f := in(v1alpha1.RestoreRestoring, func(f *Facts) {
		f.Members[0].Exists, f.Members[2].Exists = true, true
		f.Members[1] = done(task.Result{Error: "no space", Reason: task.ReasonDiskFull})
	})
	before := []string{job.RestoreName(f.Cluster, 0), job.RestoreName(f.Cluster, 1), job.RestoreName(f.Cluster, 2)}
	Decide(&f.Cluster.Status, f)
	f.Members[1] = outcome.Outcome{}
	Decide(&f.Cluster.Status, f)
	for i, same := range []bool{true, false, true} {
		if now := job.RestoreName(f.Cluster, i); (now == before[i]) != same {
			t.Errorf("%d: %s, before %s", i, now, before[i])
		}
	}
	f.Now, f.Busy = f.Now.Add(maxAttemptPause), map[string]bool{"shop-1": true}
	if d := Decide(&f.Cluster.Status, f); len(d.Restore) != 0 {
		t.Errorf("next to an earlier attempt: %v", d.Restore)
	}
	f.Busy = nil
	if d := Decide(&f.Cluster.Status, f); !slices.Equal(d.Restore, []int{1}) {
		t.Errorf("after it: %v", d.Restore)
	}
}
