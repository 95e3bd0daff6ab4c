package galerabackupschedule

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	ctrl "sigs.k8s.io/controller-runtime"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// TestRetentionOfTheArchive: with keepLast alone, what the archive leads from stays for its own window: while it is on,
// and after it was turned off. In a cluster that was created again it is another cluster's.
func TestRetentionOfTheArchive(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	const day = 24 * time.Hour
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	backup := func(name string, age time.Duration) *v1alpha1.GaleraBackup {
		b := &v1alpha1.GaleraBackup{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name,
			UID: types.UID("uid-" + name), CreationTimestamp: metav1.NewTime(now.Add(-age))}}
		b.Spec.ClusterRef.Name, b.Spec.StoreRef.Name, b.Spec.DeletionPolicy = "shop", "offsite", v1alpha1.BackupDelete
		b.Status.Phase, b.Status.ID, b.Status.GTID, b.Status.ClusterUID = v1alpha1.BackupCompleted, name, "0-1-5", "u1"
		b.Status.CompletedAt = new(metav1.NewTime(now.Add(-age)))
		return b
	}
	ended := func(until time.Time) *v1alpha1.EndedArchive {
		return &v1alpha1.EndedArchive{Until: metav1.NewTime(until),
			Needed: []v1alpha1.NeededBackup{{ID: "first", Until: metav1.NewTime(until)}}}
	}
	for name, c := range map[string]struct {
		change func(c *v1alpha1.GaleraCluster)
		want   string
	}{
		"what the archive needs is not known": {func(*v1alpha1.GaleraCluster) {}, ""},
		"the window is the archive's": {func(c *v1alpha1.GaleraCluster) {
			c.Status.Backup = &v1alpha1.ArchiveStatus{Base: "last", Needed: []string{"last"}}
		}, ""},
		"without an archive, one is kept": {func(c *v1alpha1.GaleraCluster) { c.Spec.Backup = nil }, "first"},
		"it is to be removed, and the status has it yet": {func(c *v1alpha1.GaleraCluster) {
			c.Spec.Backup = nil
			c.Status.Backup = &v1alpha1.ArchiveStatus{Base: "other", Needed: []string{"first"}}
		}, ""},
		"it was turned off": {func(c *v1alpha1.GaleraCluster) {
			c.Spec.Backup.PointInTime.Enabled = false
			c.Status.EndedArchive = ended(now.Add(day))
		}, ""},
		"it was removed from the spec": {func(c *v1alpha1.GaleraCluster) {
			c.Spec.Backup = nil
			c.Status.EndedArchive = ended(now.Add(day))
		}, ""},
		"its window has passed": {func(c *v1alpha1.GaleraCluster) {
			c.Spec.Backup = nil
			c.Status.EndedArchive = ended(now)
		}, "first"},
		"the cluster was created again": {func(c *v1alpha1.GaleraCluster) { c.UID, c.Spec.Backup = "u2", nil }, ""},
	} {
		s := &v1alpha1.GaleraBackupSchedule{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "nightly"}}
		s.Spec.Schedule = "0 2 * * *"
		s.Spec.Template.ClusterRef.Name, s.Spec.Template.StoreRef.Name = "shop", "offsite"
		store := &v1alpha1.GaleraBackupStore{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "offsite"},
			Spec: v1alpha1.GaleraBackupStoreSpec{Retention: &v1alpha1.BackupRetention{KeepLast: 1}}}
		cluster := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "shop", UID: "u1"}}
		cluster.Spec.Backup = &v1alpha1.ClusterBackup{StoreRef: v1alpha1.LocalName{Name: "offsite"},
			PointInTime: &v1alpha1.PointInTime{Enabled: true, Window: &metav1.Duration{Duration: 20 * day}}}
		c.change(cluster)
		kube := fake.NewClientBuilder().WithScheme(scheme).WithObjects(s, store, cluster, backup("first", 30*day),
			backup("last", day)).WithStatusSubresource(s).Build()
		r := Reconciler{Client: kube, Now: func() time.Time { return now }, Today: func() time.Time { return now }}
		key := client.ObjectKeyFromObject(s)
		if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: key}); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := kube.Get(t.Context(), key, s); err != nil {
			t.Fatal(err)
		}
		expiring := ""
		if r := s.Status.Retention; r != nil {
			for _, e := range r.Expiring {
				expiring += e.Name
			}
		}
		if expiring != c.want {
			t.Errorf("%s: %q is announced", name, expiring)
		}
	}
}
