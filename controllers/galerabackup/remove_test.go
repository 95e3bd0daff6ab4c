package galerabackup

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// TestInUse: a backup is not removed while any cluster is being restored from it, in whatever namespace, by a store of
// whatever name, nor while tables of it are being loaded.
func TestInUse(t *testing.T) {
	b := &v1alpha1.GaleraBackup{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "b1"}}
	b.Spec.StoreRef.Name, b.Status.ID = "minio", "20261124-1"
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		namespace, phase, id, store string
		want                        string
	}{
		"here":                           {"demo", v1alpha1.RestoreRestoring, b.Status.ID, "minio", "cluster back"},
		"here, by another store":         {"demo", v1alpha1.RestoreRestoring, b.Status.ID, "same-bucket", "cluster back"},
		"elsewhere":                      {"other", v1alpha1.RestoreRestoring, b.Status.ID, "backups", "cluster other/back"},
		"from another backup":            {"demo", v1alpha1.RestoreRestoring, "20261124-2", "minio", ""},
		"it was, and the data are there": {"demo", v1alpha1.RestoreCompleted, b.Status.ID, "minio", ""},
	} {
		into := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: "back"}}
		into.Status.Restore = &v1alpha1.RestoreStatus{Phase: c.phase, ID: c.id, Store: c.store}
		r := &Reconciler{Client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(into).Build()}
		if by, err := r.inUse(t.Context(), b); by != c.want || err != nil {
			t.Errorf("%s: %q, %v", name, by, err)
		}
	}
	for phase, want := range map[string]string{v1alpha1.RestoreLoading: "GaleraRestore lost", v1alpha1.RestorePending: "",
		v1alpha1.RestoreCompleted: "", v1alpha1.RestoreFailed: ""} {
		o := &v1alpha1.GaleraRestore{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "lost"}}
		o.Status.Phase, o.Status.ID = phase, b.Status.ID
		r := &Reconciler{Client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(o).Build()}
		if by, err := r.inUse(t.Context(), b); by != want || err != nil {
			t.Errorf("tables of it, %s: %q, %v", phase, by, err)
		}
	}
}
