package galerabackup

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/policy/taking"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// TestRemovalKnowsOthers: the Job that removes a backup is given the backups that do not add to it.
func TestRemovalKnowsOthers(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := errors.Join(v1alpha1.AddToScheme(scheme), clientgoscheme.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	made := func(name string) *v1alpha1.GaleraBackup {
		b := &v1alpha1.GaleraBackup{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name, UID: types.UID(name),
			CreationTimestamp: metav1.NewTime(testTime.Add(-time.Hour))}}
		b.Spec.StoreRef.Name = "offsite"
		b.Status = v1alpha1.GaleraBackupStatus{Phase: v1alpha1.BackupCompleted, ID: taking.ID(b),
			Directory: "demo/shop/abcd", Store: &v1alpha1.StoreLocation{Kind: "Volume", Claim: "here"}}
		return b
	}
	store := &v1alpha1.GaleraBackupStore{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "offsite"}}
	store.Spec.Volume = &v1alpha1.VolumeStore{ClaimName: "here"}
	b, full, increment := made("b"), made("full"), made("increment")
	increment.Status.Incremental = &v1alpha1.BackupChain{Base: b.Status.ID, Depth: 1}
	kube := fake.NewClientBuilder().WithScheme(scheme).WithObjects(store, b, full, increment).Build()
	r := &Reconciler{Client: kube, Live: kube}
	r.Jobs.Image = "operator"
	var jobs batchv1.JobList
	err := errors.Join(r.createRemoval(t.Context(), b, store), kube.List(t.Context(), &jobs))
	if err != nil || len(jobs.Items) != 1 {
		t.Fatalf("%d Jobs, %v", len(jobs.Items), err)
	}
	var sent task.Task
	err = json.Unmarshal([]byte(jobs.Items[0].Spec.Template.Spec.Containers[0].Env[0].Value), &sent)
	if err != nil || sent.Remove == nil || !slices.Equal(sent.Remove.Others, []string{full.Status.ID}) {
		t.Errorf("%+v, %v", sent.Remove, err)
	}
}
