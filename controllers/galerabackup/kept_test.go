package galerabackup

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/location"
	"github.com/galera-operator/galera-operator/internal/backup/policy/taking"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// TestRemovalOfAnImport: the data of an import go when nothing that the operator sees, in any namespace, needs them,
// and only if they are still what was imported. Those of a copy of it stay.
func TestRemovalOfAnImport(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := errors.Join(v1alpha1.AddToScheme(scheme), clientgoscheme.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	const id, dir = "20261124-002934-1aef9dcf", "demo/shop/abcd"
	store := &v1alpha1.GaleraBackupStore{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "offsite"}}
	store.Spec.Volume = &v1alpha1.VolumeStore{ClaimName: "here"}
	meta.SetStatusCondition(&store.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionReachable,
		Status: metav1.ConditionTrue})
	needs := map[string]client.Object{"nothing": nil}
	backup := &v1alpha1.GaleraBackup{ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: "it", UID: "u1"}}
	backup.Status.ID = id
	cluster := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: "it", UID: "u2"}}
	cluster.Status.Backup = &v1alpha1.ArchiveStatus{Base: id}
	restore := &v1alpha1.GaleraRestore{ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: "it", UID: "u3"}}
	restore.Status.ID = id
	archives := cluster.DeepCopy() // its archive goes back to before the import, and has another base
	archives.Namespace, archives.Name, archives.UID = "demo", "shop", "abcd"
	archives.Status.Backup = &v1alpha1.ArchiveStatus{Base: "another", Needed: []string{"another"},
		ArchivedThrough: new(metav1.NewTime(testTime))}
	needs["the window"] = archives
	needs["a backup"], needs["a cluster"], needs["a restore"] = backup, cluster, restore
	const unseen = "a backup that the cache does not have"
	recent := backup.DeepCopy()
	recent.Namespace = "demo"
	needs[unseen] = recent
	for name, other := range needs {
		for _, kind := range []string{"import", "copy", "own"} {
			b := &v1alpha1.GaleraBackup{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "old", UID: "0123-4",
				Finalizers: []string{Finalizer}, CreationTimestamp: metav1.NewTime(testTime)}}
			b.Spec.StoreRef.Name, b.Spec.DeletionPolicy = "offsite", v1alpha1.BackupDelete
			b.Status = v1alpha1.GaleraBackupStatus{Phase: v1alpha1.BackupCompleted, ID: id, Directory: dir, Checksum: "c1",
				GTID: "0-1-5", CompletedAt: new(metav1.NewTime(testTime.Add(-time.Hour))), Store: new(location.Of(store))}
			switch kind {
			case "import":
				b.Spec.Import = &v1alpha1.BackupImport{Directory: dir, ID: id}
			case "copy":
				b.Spec.Import = &v1alpha1.BackupImport{Directory: dir, ID: "another"}
			case "own":
				b.Status.ID = taking.ID(b)
			}
			all := []client.Object{store, b}
			live := client.Reader(fake.NewClientBuilder().WithScheme(scheme).WithObjects(recent.DeepCopy()).Build())
			if other != nil && name != unseen {
				all = append(all, other.DeepCopyObject().(client.Object))
			}
			kube := fake.NewClientBuilder().WithScheme(scheme).WithObjects(all...).WithStatusSubresource(b).Build()
			if name != unseen {
				live = kube
			}
			r := &Reconciler{Client: kube, Live: live, Events: events.NewFakeRecorder(9),
				Now: func() time.Time { return testTime }, Today: func() time.Time { return testTime }}
			r.Jobs.Image = "operator"
			err := errors.Join(kube.Delete(t.Context(), b), kube.Get(t.Context(), client.ObjectKeyFromObject(b), b))
			if err == nil {
				_, err = r.remove(t.Context(), b)
			}
			var jobs batchv1.JobList
			if err := errors.Join(err, kube.List(t.Context(), &jobs)); err != nil {
				t.Fatal(err)
			}
			removes := kind == "own" || kind == "import" && other == nil
			if (len(jobs.Items) == 1) != removes {
				t.Fatalf("%s, %s: %d Jobs", kind, name, len(jobs.Items))
			}
			gone := kube.Get(t.Context(), client.ObjectKeyFromObject(b), b) != nil
			c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionStalled)
			if waits := kind == "import" && other != nil; gone != (kind == "copy") ||
				waits != (c != nil && (strings.Contains(c.Message, "/it") || strings.Contains(c.Message, "demo/shop may be"))) {
				t.Errorf("%s, %s: gone %v, %+v", kind, name, gone, c)
			}
			if !removes {
				continue
			}
			var sent task.Task
			err = json.Unmarshal([]byte(jobs.Items[0].Spec.Template.Spec.Containers[0].Env[0].Value), &sent)
			want := task.Remove{Dir: dir, ID: b.Status.ID}
			if kind == "import" {
				want.Checksum = "c1"
			}
			if err != nil || sent.Remove == nil || !reflect.DeepEqual(*sent.Remove, want) {
				t.Errorf("%s, %s: %+v, %v", kind, name, sent.Remove, err)
			}
		}
	}
}
