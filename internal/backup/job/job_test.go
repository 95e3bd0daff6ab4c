package job

import (
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
		s.Spec.S3 = &v1alpha1.S3Store{Bucket: "backups", Credentials: &v1alpha1.S3Credentials{SecretName: "s3", AccessKeyIDKey: "a", SecretAccessKeyKey: "b"}, CABundle: &v1alpha1.CABundle{SecretName: "s3", Key: "ca.crt"}}
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
	j, err = Backup(b, s, task.Backup{}, 999, o)
	keep("backup", j, err)
	j, err = Remove(b, s, o)
	keep("remove", j, err)
	j, err = Find(c, s, task.Find{}, o)
	keep("find", j, err)
	j, err = Restore(c, s, 6, task.Restore{}, resources.Options{DefaultImage: "mariadb"}, o)
	keep("restore", j, err)
	j, err = Verify(b, s, c, task.Verify{}, resources.Options{DefaultImage: "mariadb"}, o)
	keep("read", j, err)
	j, err = Verify(b, s, c, task.Verify{Restore: true}, resources.Options{DefaultImage: "mariadb"}, o)
	keep("test", j, err)
	return out
}

// TestJobs: every Job is restricted, has no token, and holds no more than it needs.
func TestJobs(t *testing.T) {
	for _, volume := range []bool{false, true} {
		for name, j := range all(t, volume) {
			p := j.Spec.Template.Spec
			if len(j.Name) > 63 {
				t.Errorf("%s: the name %s has %d characters", name, j.Name, len(j.Name))
			}
			if p.AutomountServiceAccountToken == nil || *p.AutomountServiceAccountToken || p.HostNetwork || p.HostPID || p.HostIPC {
				t.Errorf("%s has a token, or a part of the host", name)
			}
			if sc := p.SecurityContext; !*sc.RunAsNonRoot || sc.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
				t.Errorf("%s: %+v", name, sc)
			}
			for _, c := range append(append([]corev1.Container{}, p.InitContainers...), p.Containers...) {
				sc := c.SecurityContext
				if *sc.AllowPrivilegeEscalation || !*sc.ReadOnlyRootFilesystem || len(sc.Capabilities.Drop) != 1 || sc.Capabilities.Drop[0] != "ALL" {
					t.Errorf("%s/%s: %+v", name, c.Name, sc)
				}
			}
			mounts(t, name, volume, p)
		}
	}
}

// mounts: the private key is where it is needed only, and so is the key of a backup.
func mounts(t *testing.T, name string, volume bool, p corev1.PodSpec) {
	t.Helper()
	at := map[string]bool{}
	for _, m := range p.Containers[0].VolumeMounts {
		at[m.MountPath] = true
	}
	for path, by := range map[string]string{task.KeysDir: "find restore test", task.AgentDir: "backup"} {
		if want := strings.Contains(" "+by+" ", " "+name+" "); at[path] != want {
			t.Errorf("%s mounts %s: %v", name, path, at[path])
		}
	}
	if at[task.StoreDir] == volume || at[task.VolumeDir] != volume {
		t.Errorf("%s: the store is not as it should be: %v", name, at)
	}
	// Who restores reads what others have written to a volume.
	if user := *p.SecurityContext.RunAsUser; volume && user != mysqlID {
		t.Errorf("%s runs as %d", name, user)
	}
	if c := p.Containers[0]; name == "restore" || name == "test" {
		if c.Image != "mariadb" {
			t.Errorf("%s has the image %s", name, c.Image)
		}
	} else if c.Image != "operator" {
		t.Errorf("%s has the image %s", name, c.Image)
	}
}

// TestLogFormat is told to the program in the Job.
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
