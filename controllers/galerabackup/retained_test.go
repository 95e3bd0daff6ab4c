package galerabackup

import (
	"errors"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/job"
	"github.com/galera-operator/galera-operator/internal/backup/policy/taking"
)

// TestRetainedDuringItsRemoval: data that are to stay are not removed any further, and the object does not go while its
// Job may still be at work. An event warns that they may not be whole.
func TestRetainedDuringItsRemoval(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := errors.Join(v1alpha1.AddToScheme(scheme), clientgoscheme.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	const pod = "foregroundDeletion" // holds the Job
	for name, c := range map[string]struct {
		change     func(*batchv1.Job)
		stopped    bool
		stillThere bool
	}{
		"at work": {func(*batchv1.Job) {}, true, true},
		"ended": {func(j *batchv1.Job) {
			j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: "True"}}
		}, false, false},
		"another object's": {func(j *batchv1.Job) { j.OwnerReferences = nil }, false, false},
	} {
		store := &v1alpha1.GaleraBackupStore{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "offsite"}}
		b := &v1alpha1.GaleraBackup{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "old", UID: "0123-4",
			Finalizers: []string{Finalizer}, CreationTimestamp: metav1.NewTime(testTime)}}
		b.Spec.StoreRef.Name, b.Spec.DeletionPolicy = "offsite", v1alpha1.BackupRetain
		b.Status = v1alpha1.GaleraBackupStatus{Phase: v1alpha1.BackupCompleted, ID: taking.ID(b), Directory: "demo/shop/abcd"}
		j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: job.RemoveName(b), UID: "j",
			Finalizers: []string{pod}, OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(b,
				v1alpha1.GroupVersion.WithKind("GaleraBackup"))}}}
		c.change(j)
		kube := fake.NewClientBuilder().WithScheme(scheme).WithObjects(store, b, j).WithStatusSubresource(b).Build()
		recorded := events.NewFakeRecorder(9)
		r := &Reconciler{Client: kube, Live: kube, Events: recorded, Now: func() time.Time { return testTime }}
		pass := func() (gone bool) {
			t.Helper()
			if err := kube.Get(t.Context(), client.ObjectKeyFromObject(b), b); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if _, err := r.remove(t.Context(), b); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			return kube.Get(t.Context(), client.ObjectKeyFromObject(b), b) != nil
		}
		if err := kube.Delete(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		if gone := pass(); gone == c.stillThere {
			t.Errorf("%s: gone %v", name, gone)
		}
		err := kube.Get(t.Context(), client.ObjectKeyFromObject(j), j)
		if stopped := j.DeletionTimestamp != nil; err != nil || stopped != c.stopped {
			t.Errorf("%s: stopped %v, %v", name, stopped, err)
		}
		if !c.stillThere {
			continue
		}
		if pass() {
			t.Errorf("%s: it is gone while its Job's pod may be at work", name)
		}
		if err = kube.Get(t.Context(), client.ObjectKeyFromObject(j), j); err == nil {
			j.Finalizers = nil
			err = kube.Update(t.Context(), j)
		}
		if err != nil {
			t.Fatal(err)
		}
		if !pass() {
			t.Errorf("%s: it does not go", name)
		}
		if len(recorded.Events) != 1 || !strings.Contains(<-recorded.Events, "had begun") {
			t.Errorf("%s: %d events", name, len(recorded.Events))
		}
	}
}
