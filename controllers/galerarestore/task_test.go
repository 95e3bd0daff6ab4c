package galerarestore

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/policy/loading"
)

// TestTask: the Job restores the backup that was found, and no other one of its ID.
func TestTask(t *testing.T) {
	r := &v1alpha1.GaleraRestore{}
	r.UID = "0123456789"
	r.Spec.Table = &v1alpha1.RestoreTable{Database: "shop", Name: "orders", As: "before"}
	r.Status = v1alpha1.GaleraRestoreStatus{Directory: "d", ID: "i", Checksum: "c1"}
	c := &v1alpha1.GaleraCluster{}
	c.Spec.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("2Gi")}
	got := taskOf(loading.Facts{Restore: r, Cluster: c})
	if got.MemoryBytes != 2<<30 {
		t.Errorf("the Job does not know its memory: %d", got.MemoryBytes)
	}
	if got.Dir != "d" || got.ID != "i" || got.Checksum != "c1" || got.As != "before" {
		t.Errorf("%+v", got)
	}
	r.Spec.From.External = &v1alpha1.RestoreExternal{Host: "db"}
	c.Spec.Storage.Size = resource.MustParse("1Gi")
	got = taskOf(loading.Facts{Restore: r, Cluster: c})
	if got.Dir != "" || got.History != "" || got.As != "before" || got.Into != "shop" || got.VolumeBytes != 1<<30 {
		t.Errorf("%+v", got)
	}
}
