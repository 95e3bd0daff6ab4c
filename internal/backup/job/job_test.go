package job

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/logs"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// all are the Jobs there are, by what they do, for objects with the longest names.
func all(t *testing.T, volume bool) map[string]*batchv1.Job {
	t.Helper()
	s := &v1alpha1.GaleraBackupStore{ObjectMeta: metav1.ObjectMeta{Name: strings.Repeat("s", 40), Namespace: "demo"}}
	if volume {
		s.Spec.Volume = &v1alpha1.VolumeStore{ClaimName: "backups"}
	} else {
		s.Spec.S3 = &v1alpha1.S3Store{Bucket: "backups", Credentials: &v1alpha1.S3Credentials{SecretName: "s3",
			AccessKeyIDKey: "a", SecretAccessKeyKey: "b"}, CABundle: &v1alpha1.CABundle{SecretName: "s3", Key: "ca.crt"}}
	}
	s.Status.Checks = 1 << 30
	b := &v1alpha1.GaleraBackup{ObjectMeta: metav1.ObjectMeta{Name: strings.Repeat("b", 52), Namespace: "demo"}}
	b.Spec.ClusterRef.Name, b.Spec.IdentitySecretRef = "shop", &v1alpha1.SecretKey{Name: "key", Key: "identity"}
	b.Status.Removals, b.Status.Verification = 999, &v1alpha1.BackupVerification{Attempts: 999}
	c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Name: strings.Repeat("c", 40), Namespace: "demo"}}
	c.Spec.Storage.Size = resource.MustParse("1Gi")
	c.Spec.BootstrapFrom = &v1alpha1.BootstrapFrom{IdentitySecretRef: v1alpha1.SecretKey{Name: "key", Key: "identity"}}
	c.Status.Restore = &v1alpha1.RestoreStatus{Attempts: 999}
	o := Options{Image: "operator"}
	out := map[string]*batchv1.Job{}
	keep := func(name string, j *batchv1.Job, err error) {
		if err != nil {
			t.Fatal(err)
		}
		out[name] = j
	}
	j, err := Check(s, o)
	keep("check", j, err)
	j, err = Backup(b, c, s, task.Backup{}, 999, o)
	keep("backup", j, err)
	j, err = Remove(b, c, s, o)
	keep("remove", j, err)
	j, err = Find(c, s, task.Find{}, o)
	keep("find", j, err)
	j, err = Restore(c, s, 6, task.Restore{}, resources.Options{DefaultImage: "mariadb"}, o)
	keep("restore", j, err)
	j, err = Verify(b, s, c, task.Verify{}, resources.Options{DefaultImage: "mariadb"}, o)
	keep("read", j, err)
	j, err = Verify(b, s, c, task.Verify{Restore: true}, resources.Options{DefaultImage: "mariadb"}, o)
	keep("test", j, err)
	r := &v1alpha1.GaleraRestore{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: strings.Repeat("r", 40)}}
	r.Spec.ClusterRef.Name, r.Status.Attempts = "shop", 999
	r.Spec.From.IdentitySecretRef = v1alpha1.SecretKey{Name: "id", Key: "identity"}
	j, err = FindFor(r, c, s, task.Find{}, o)
	keep("look", j, err)
	j, err = Load(r, c, s, task.Load{}, "r-restore-binding", resources.Options{DefaultImage: "mariadb"}, o)
	keep("load", j, err)
	return out
}

// TestEgressSelectsJobs: what limits the Jobs of a cluster selects all of them, and its archiver, and no node.
func TestEgressSelectsJobs(t *testing.T) {
	selected := func(pod map[string]string) (of []string) {
		for _, name := range []string{"shop", strings.Repeat("c", 40)} {
			c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
			c.Spec.NetworkPolicy = v1alpha1.NetworkPolicySpec{RestrictEgress: true,
				JobsEgressTo: []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{}}}}
			s, err := metav1.LabelSelectorAsSelector(&resources.JobsPolicy(c).Spec.PodSelector)
			if err != nil {
				t.Fatal(err)
			}
			if s.Matches(labels.Set(pod)) {
				of = append(of, name[:4])
			}
		}
		return of
	}
	for name, j := range all(t, false) {
		want := map[string][]string{"check": nil, "find": {"cccc"}, "restore": {"cccc"}}
		if _, known := want[name]; !known {
			want[name] = []string{"shop"}
		}
		if got := selected(j.Spec.Template.Labels); !slices.Equal(got, want[name]) {
			t.Errorf("%s: %v, by %v", name, got, j.Spec.Template.Labels)
		}
	}
	shop := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	if got := selected(ArchiverLabels(shop)); !slices.Equal(got, []string{"shop"}) {
		t.Errorf("the archiver: %v", got)
	}
	if got := selected(map[string]string{v1alpha1.LabelCluster: "shop", component: "database"}); got != nil {
		t.Errorf("a node: %v", got)
	}
}

// TestJobs: every Job is restricted, has no token, and holds no more than it needs.
func TestJobs(t *testing.T) {
	for _, volume := range []bool{false, true} {
		for name, j := range all(t, volume) {
			p := j.Spec.Template.Spec
			if len(j.Name) > 63 {
				t.Errorf("%s: the name %s has %d characters", name, j.Name, len(j.Name))
			}
			if p.AutomountServiceAccountToken == nil || *p.AutomountServiceAccountToken || p.HostNetwork || p.HostPID ||
				p.HostIPC {
				t.Errorf("%s has a token, or a part of the host", name)
			}
			if sc := p.SecurityContext; !*sc.RunAsNonRoot || sc.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
				t.Errorf("%s: %+v", name, sc)
			}
			for _, c := range append(append([]corev1.Container{}, p.InitContainers...), p.Containers...) {
				sc := c.SecurityContext
				if *sc.AllowPrivilegeEscalation || !*sc.ReadOnlyRootFilesystem || len(sc.Capabilities.Drop) != 1 ||
					sc.Capabilities.Drop[0] != "ALL" {
					t.Errorf("%s/%s: %+v", name, c.Name, sc)
				}
			}
			mounts(t, name, volume, p)
			if i := slices.IndexFunc(p.Volumes, func(v corev1.Volume) bool { return v.Name == resources.DataVolume }); i >= 0 &&
				(p.Volumes[i].Ephemeral != nil) != (name == "test" || name == "load") {
				t.Errorf("%s: the data get the volume %+v", name, p.Volumes[i])
			}
		}
	}
}

// mounts: the private key is where it is needed only, and so is the key of a backup.
func mounts(t *testing.T, name string, volume bool, p corev1.PodSpec) {
	t.Helper()
	holders := p.Containers
	if name == "restore" || name == "test" || name == "load" {
		holders = p.InitContainers[1:]
	}
	for _, c := range holders {
		at := map[string]bool{}
		for _, m := range c.VolumeMounts {
			at[m.MountPath] = true
		}
		for path, by := range map[string]string{task.KeysDir: "find restore test look load", task.AgentDir: "backup"} {
			if want := strings.Contains(" "+by+" ", " "+name+" "); at[path] != want {
				t.Errorf("%s/%s mounts %s: %v", name, c.Name, path, at[path])
			}
		}
		if at[task.StoreDir] == volume || at[task.VolumeDir] != volume {
			t.Errorf("%s/%s: the store is not as it should be: %v", name, c.Name, at)
		}
		if c.Image != "operator" {
			t.Errorf("%s/%s has the image %s", name, c.Name, c.Image)
		}
	}
	// Who restores reads what others have written to a volume.
	if user := *p.SecurityContext.RunAsUser; volume && user != mysqlID {
		t.Errorf("%s runs as %d", name, user)
	}
}

// TestClusterImageHoldsNoSecret: the cluster's image, which a user chooses, has the volume that is filled and a socket.
// The private key, the store's credentials and a cloud identity are those of containers of the operator's image, which
// have opened the backup before.
func TestClusterImageHoldsNoSecret(t *testing.T) {
	seen := 0
	for _, volume := range []bool{false, true} {
		for name, j := range all(t, volume) {
			p := j.Spec.Template.Spec
			for i, c := range slices.Concat(p.InitContainers, p.Containers) {
				if c.Image == "operator" {
					continue
				}
				seen++
				without(t, name, j.Spec.Template, c)
				if i != 2 || p.InitContainers[0].Name != ContainerOpen || p.InitContainers[0].RestartPolicy != nil ||
					p.InitContainers[1].Name != ContainerFetch ||
					*p.InitContainers[1].RestartPolicy != corev1.ContainerRestartPolicyAlways {
					t.Errorf("%s: it does not run last, after the backup was opened: %+v", name, p.InitContainers)
				}
			}
		}
	}
	if seen != 6 {
		t.Errorf("%d containers have the cluster's image, instead of three for each store", seen)
	}
}

// without: a container has no store, no identity, no way into the others, and no Secret but the account of a load.
func without(t *testing.T, name string, template corev1.PodTemplateSpec, c corev1.Container) {
	t.Helper()
	var have []string
	for _, m := range c.VolumeMounts {
		have = append(have, m.Name)
		i := slices.IndexFunc(template.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == m.Name })
		v := template.Spec.Volumes[i]
		if name == "load" && m.Name == volumeCluster {
			if v.Secret == nil || v.Secret.SecretName != "r-restore-binding" || len(v.Secret.Items) != 4 || !m.ReadOnly {
				t.Errorf("%s mounts %+v", name, v)
			}
			continue
		}
		if claim := v.PersistentVolumeClaim; v.EmptyDir == nil && v.Ephemeral == nil &&
			(claim == nil || claim.ClaimName == "backups") {
			t.Errorf("%s mounts %+v", name, v)
		}
	}
	slices.Sort(have)
	want := []string{"bin", resources.DataVolume, volumePipe, "run", "tmp"}
	if name == "load" {
		want = append(want, volumeCluster)
	}
	if !slices.Equal(have, slices.Sorted(slices.Values(want))) {
		t.Errorf("%s mounts %v", name, have)
	}
	for _, e := range c.Env {
		var reported task.Task
		if e.ValueFrom != nil || e.Name != task.EnvTask && e.Name != logs.EnvFormat {
			t.Errorf("%s has the variable %+v", name, e)
		}
		if err := json.Unmarshal([]byte(e.Value), &reported); e.Name == task.EnvTask &&
			(err != nil || !reflect.DeepEqual(reported.Store, task.Store{})) {
			t.Errorf("%s is informed of the store: %s", name, e.Value)
		}
	}
	if len(c.EnvFrom) > 0 || template.Spec.ShareProcessNamespace != nil {
		t.Errorf("%s has %v, or sees other processes", name, c.EnvFrom)
	}
	if a := template.Annotations; a["eks.amazonaws.com/skip-containers"] != c.Name ||
		a["azure.workload.identity/skip-containers"] != c.Name {
		t.Errorf("%s gets a cloud identity: %v", name, a)
	}
}

// TestLogFormat is asked to the program in the Job.
func TestLogFormat(t *testing.T) {
	store := &v1alpha1.GaleraBackupStore{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "s"}}
	store.Spec.Volume = &v1alpha1.VolumeStore{ClaimName: "backups"}
	j, err := Check(store, Options{LogFormat: "json"})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(j.Spec.Template.Spec.Containers[0].Env, corev1.EnvVar{Name: logs.EnvFormat, Value: "json"}) {
		t.Errorf("%+v", j.Spec.Template.Spec.Containers[0].Env)
	}
}
