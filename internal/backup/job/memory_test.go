package job

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// TestMemoryField: the field that is named is the one that sets how much memory a container has, in every Job.
func TestMemoryField(t *testing.T) {
	of := func(memory string) corev1.ResourceRequirements {
		return corev1.ResourceRequirements{Limits: corev1.ResourceList{
			corev1.ResourceMemory: resource.MustParse(memory)}}
	}
	c, o, ro := shop(), Options{Image: "operator"}, resources.Options{DefaultImage: "mariadb"}
	c.Spec.Resources = of("7Gi")
	c.Status.Reseed = &v1alpha1.ReseedStatus{StartedAt: metav1.Unix(1700000000, 0), Attempts: 4}
	s := &v1alpha1.GaleraBackupStore{ObjectMeta: metav1.ObjectMeta{Name: "offsite", Namespace: "demo"}}
	s.Spec.Volume, s.Spec.Pods = &v1alpha1.VolumeStore{ClaimName: "nfs"}, &v1alpha1.BackupPods{Resources: of("5Gi")}
	b := &v1alpha1.GaleraBackup{ObjectMeta: metav1.ObjectMeta{Name: "shop-reseed-1", Namespace: "demo"}}
	b.Spec.ClusterRef.Name, b.Spec.IdentitySecretRef = "shop", &v1alpha1.SecretKey{Name: "key", Key: "identity"}
	b.Spec.Import = &v1alpha1.BackupImport{Directory: "demo/shop/a54080f9", ID: "i1"}
	r := &v1alpha1.GaleraRestore{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "orders"}}
	r.Spec.ClusterRef.Name = "shop"
	r.Spec.Database = &v1alpha1.RestoreDatabase{Name: "shop", As: "before"}
	from := r.DeepCopy()
	from.Spec.From.External = &v1alpha1.RestoreExternal{Host: "old", Resources: of("3Gi")}
	made := func(j *batchv1.Job, err error) *batchv1.Job {
		if err != nil {
			t.Fatal(err)
		}
		return j
	}
	sizes := map[string]string{"spec.pods.resources.limits.memory of the GaleraBackupStore": "5Gi",
		"spec.resources.limits.memory of the GaleraCluster shop":          "7Gi",
		"spec.from.external.resources.limits.memory of the GaleraRestore": "3Gi", "": "1Gi"}
	for name, j := range map[string]*batchv1.Job{
		"Check":        made(Check(s, o)),
		"Backup":       made(Backup(b, c, s, task.Backup{}, 8, o)),
		"Describe":     made(Describe(b, c, s, o)),
		"Remove":       made(Remove(b, nil, s, o)),
		"Verify":       made(Verify(b, s, c, task.Verify{}, ro, o)),
		"VerifyWhole":  made(Verify(b, s, c, task.Verify{Restore: true}, ro, o)),
		"Find":         made(Find(c, s, task.Find{}, o)),
		"Refind":       made(Refind(c, s, task.Find{}, o)),
		"Restore":      made(Restore(c, s, 1, task.Restore{}, ro, o)),
		"Inspect":      made(Inspect(c, ro, o)),
		"Import":       made(Import(c, ro, o)),
		"Recheck":      made(Recheck(c, ro, o)),
		"InspectWhole": made(InspectBackup(c, s, ro, o)),
		"ImportWhole":  made(ImportBackup(c, s, ro, o)),
		"InspectFor":   made(InspectFor(from, c, o)),
		"LoadFrom":     made(LoadFrom(from, c, task.Load{}, "binding", o)),
		"FindFor":      made(FindFor(r, c, s, task.Find{}, o)),
		"Load":         made(Load(r, c, s, task.Load{}, "binding", ro, o)),
	} {
		p := j.Spec.Template.Spec
		for _, container := range append(p.InitContainers, p.Containers...) {
			field := MemoryField(j, container.Name, "limits")
			if have := container.Resources.Limits.Memory().String(); sizes[field] != have {
				t.Errorf("the container %s of %s has %s, not that of %q", container.Name, name, have, field)
			}
		}
	}
}
