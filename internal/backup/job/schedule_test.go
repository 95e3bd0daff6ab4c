package job

import (
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// TestSchedule: whatever uses a store runs where the cluster's pods may, or where the store says.
func TestSchedule(t *testing.T) {
	c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Name: "shop", Namespace: "demo", UID: "a54080f9-1111"}}
	c.Spec.Backup = &v1alpha1.ClusterBackup{PointInTime: &v1alpha1.PointInTime{Enabled: true}}
	c.Spec.Scheduling = v1alpha1.SchedulingSpec{NodeSelector: map[string]string{"pool": "db"}, PriorityClassName: "high",
		Tolerations: []corev1.Toleration{{Key: "db", Operator: corev1.TolerationOpExists}}}
	c.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "registry"}}
	s := &v1alpha1.GaleraBackupStore{ObjectMeta: metav1.ObjectMeta{Name: "s", Namespace: "demo"},
		Spec: v1alpha1.GaleraBackupStoreSpec{S3: &v1alpha1.S3Store{Bucket: "b"}}}
	b := &v1alpha1.GaleraBackup{ObjectMeta: metav1.ObjectMeta{Name: "b", Namespace: "demo"}}
	pods := func(c *v1alpha1.GaleraCluster) map[string]corev1.PodSpec {
		out := map[string]corev1.PodSpec{}
		check, err := Check(s, Options{})
		if err != nil {
			t.Fatal(err)
		}
		out["check"] = check.Spec.Template.Spec
		remove, err := Remove(b, c, s, Options{})
		if err != nil {
			t.Fatal(err)
		}
		out["remove"] = remove.Spec.Template.Spec
		if c == nil {
			return out
		}
		backup, err := Backup(b, c, s, task.Backup{}, 1, Options{})
		if err != nil {
			t.Fatal(err)
		}
		out["backup"] = backup.Spec.Template.Spec
		verify, err := Verify(b, s, c, task.Verify{}, resources.Options{}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		out["verify"] = verify.Spec.Template.Spec
		archiver, err := Archiver(c, s, Damaged{}, resources.Options{}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		out["archiver"] = archiver.Spec.Template.Spec
		return out
	}
	expect := func(what string, p corev1.PodSpec, pool, priority, key, secret string) {
		t.Helper()
		have := []string{p.NodeSelector["pool"], p.PriorityClassName, "", ""}
		if len(p.Tolerations) > 0 {
			have[2] = p.Tolerations[0].Key
		}
		if len(p.ImagePullSecrets) > 0 {
			have[3] = p.ImagePullSecrets[0].Name
		}
		want := []string{pool, priority, key, secret}
		if x, y := text(have), text(want); x != y {
			t.Errorf("%s: %s instead of %s", what, x, y)
		}
		for _, container := range p.Containers {
			if container.Resources.Limits.Cpu().IsZero() || container.Resources.Limits.Memory().IsZero() ||
				container.Resources.Requests.Cpu().IsZero() {
				t.Errorf("%s: a ResourceQuota refuses %+v", what, container.Resources)
			}
		}
	}
	for what, p := range pods(c) {
		if what == "check" {
			expect(what, p, "", "", "", "")
			continue
		}
		expect(what, p, "db", "high", "db", "registry")
	}
	expect("without a cluster", pods(nil)["remove"], "", "", "", "")
	s.Spec.Pods = &v1alpha1.BackupPods{NodeSelector: map[string]string{"pool": "batch"}, PriorityClassName: "low",
		Tolerations:      []corev1.Toleration{{Key: "batch"}},
		ImagePullSecrets: []corev1.LocalObjectReference{{Name: "other"}}}
	for what, p := range pods(c) {
		expect(what+", as the store says", p, "batch", "low", "batch", "other")
	}
	s.Spec.Pods = &v1alpha1.BackupPods{Resources: corev1.ResourceRequirements{
		Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("2Gi")}}}
	for what, p := range pods(c) {
		if what != "check" {
			expect(what+", with its resources alone", p, "db", "high", "db", "registry")
		}
		r := p.Containers[0].Resources
		if r.Limits.Memory().String() != "2Gi" || r.Limits.Cpu().String() != "1500m" || r.Requests.Memory().
			String() != "64Mi" {
			t.Errorf("%s: %+v", what, r)
		}
		if last := p.Containers[0].Env[len(p.Containers[0].Env)-1]; last.Name != "GOMEMLIMIT" || last.Value != "1932735276" {
			t.Errorf("%s: %+v", what, last)
		}
	}
}

func text(x any) string {
	out, _ := json.Marshal(x)
	return string(out)
}

// TestMerged: what is given alone does not contradict a default.
func TestMerged(t *testing.T) {
	list := func(cpu, memory string) corev1.ResourceList {
		out := corev1.ResourceList{}
		if cpu != "" {
			out[corev1.ResourceCPU] = resource.MustParse(cpu)
		}
		if memory != "" {
			out[corev1.ResourceMemory] = resource.MustParse(memory)
		}
		return out
	}
	for name, c := range map[string]struct {
		given corev1.ResourceRequirements
		want  corev1.ResourceRequirements
	}{
		"nothing": {corev1.ResourceRequirements{}, corev1.ResourceRequirements{Requests: list("50m", "64Mi"),
			Limits: list("1500m", "512Mi")}},
		"a large request": {corev1.ResourceRequirements{Requests: list("4", "1Gi")},
			corev1.ResourceRequirements{Requests: list("4", "1Gi"), Limits: list("4", "1Gi")}},
		"a small limit": {corev1.ResourceRequirements{Limits: list("20m", "32Mi")},
			corev1.ResourceRequirements{Requests: list("20m", "32Mi"), Limits: list("20m", "32Mi")}},
		"a request alone": {corev1.ResourceRequirements{Requests: list("", "100Mi")},
			corev1.ResourceRequirements{Requests: list("50m", "100Mi"), Limits: list("1500m", "512Mi")}},
		"both, all of them": {corev1.ResourceRequirements{Requests: list("1", "1Gi"), Limits: list("1", "1Gi")},
			corev1.ResourceRequirements{Requests: list("1", "1Gi"), Limits: list("1", "1Gi")}},
	} {
		if have := merged(memory("512Mi"), c.given); text(have) != text(c.want) {
			t.Errorf("%s: %s instead of %s", name, text(have), text(c.want))
		}
	}
}

// TestRestoreResources: the containers of a restore that have the operator's image have what the store says, so that a
// LimitRange or a quota admits them.
func TestRestoreResources(t *testing.T) {
	c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Name: "shop", Namespace: "demo", UID: "a54080f9-1111"}}
	c.Spec.Storage.Size = resource.MustParse("1Gi")
	c.Spec.BootstrapFrom = &v1alpha1.BootstrapFrom{IdentitySecretRef: v1alpha1.SecretKey{Name: "key", Key: "identity"}}
	s := &v1alpha1.GaleraBackupStore{ObjectMeta: metav1.ObjectMeta{Name: "s", Namespace: "demo"},
		Spec: v1alpha1.GaleraBackupStoreSpec{S3: &v1alpha1.S3Store{Bucket: "b"}}}
	for _, given := range []string{"", "500m"} {
		want := [2]string{"1500m", "1Gi"}
		if given != "" {
			want[0] = given
			s.Spec.Pods = &v1alpha1.BackupPods{Resources: corev1.ResourceRequirements{
				Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(given)}}}
		}
		j, err := Restore(c, s, 0, task.Restore{}, resources.Options{}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, container := range j.Spec.Template.Spec.InitContainers {
			limits := container.Resources.Limits
			if container.Name == ContainerFetch && (limits.Cpu().String() != want[0] || limits.Memory().String() != want[1]) ||
				container.Name == ContainerOpen && limits.Cpu().String() != want[0] {
				t.Errorf("%s with a limit of %q has %v", container.Name, given, limits)
			}
		}
	}
}
