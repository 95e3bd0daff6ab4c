package galerabackup

import (
	"errors"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
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

// TestJobThatDoesNotEnd: a Job whose pod does not go, as that of a lost host, holds the object. After a while that is
// reported, with the pod and how to end it, and it goes on when the Job is gone.
func TestJobThatDoesNotEnd(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := errors.Join(v1alpha1.AddToScheme(scheme), clientgoscheme.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	const name = "old-pod"
	for title, c := range map[string]struct {
		making bool // the Job that makes the backup, not the one that removes it
		late   bool
		change func(*corev1.Pod)
		says   string
	}{
		"at first":         {false, false, nil, "to end"},
		"after a while":    {false, true, nil, "kubectl delete pod old-pod -n demo --grace-period=0 --force"},
		"names the node":   {false, true, nil, "on the node host-3"},
		"of another Job":   {false, true, func(p *corev1.Pod) { p.OwnerReferences[0].UID = "k" }, "kubectl describe job"},
		"that has ended":   {false, true, func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }, "kubectl describe job"},
		"is done":          {false, true, func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }, "describe job"},
		"of the making":    {true, true, nil, "kubectl delete pod old-pod -n demo"},
		"made a while ago": {true, false, nil, "to end"},
	} {
		b := &v1alpha1.GaleraBackup{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "old", UID: "0123-4",
			Finalizers: []string{Finalizer}, CreationTimestamp: metav1.NewTime(testTime)}}
		b.Spec.StoreRef.Name, b.Spec.DeletionPolicy = "offsite", v1alpha1.BackupRetain
		b.Status = v1alpha1.GaleraBackupStatus{Phase: v1alpha1.BackupCompleted, ID: taking.ID(b), Directory: "demo/shop/abcd"}
		of := job.RemoveName(b)
		if c.making {
			b.Spec.DeletionPolicy, b.Status.Phase, b.Status.Attempts = v1alpha1.BackupDelete, v1alpha1.BackupRunning, 1
			of = job.Name(b, 1)
		}
		store := &v1alpha1.GaleraBackupStore{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "offsite"}}
		j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: of, UID: "j",
			Finalizers: []string{"foregroundDeletion"}, OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(b,
				v1alpha1.GroupVersion.WithKind("GaleraBackup"))}}}
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name,
			Labels: map[string]string{batchv1.JobNameLabel: of}, OwnerReferences: []metav1.OwnerReference{
				*metav1.NewControllerRef(j, batchv1.SchemeGroupVersion.WithKind("Job"))}}}
		p.Spec.NodeName, p.Status.Phase = "host-3", corev1.PodRunning
		if c.change != nil {
			c.change(p)
		}
		kube := fake.NewClientBuilder().WithScheme(scheme).WithObjects(store, b, j, p).WithStatusSubresource(b).Build()
		now := time.Now()
		r := &Reconciler{Client: kube, Live: kube, Events: events.NewFakeRecorder(9), Now: func() time.Time { return now }}
		if err := kube.Delete(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := kube.Get(t.Context(), client.ObjectKeyFromObject(b), b); err != nil {
				t.Fatalf("%s: %v", title, err)
			}
			if _, err := r.remove(t.Context(), b); err != nil {
				t.Fatalf("%s: %v", title, err)
			}
			if c.late {
				now = time.Now().Add(endTime + time.Minute)
			}
		}
		if err := kube.Get(t.Context(), client.ObjectKeyFromObject(b), b); err != nil {
			t.Fatalf("%s: %v", title, err)
		}
		stalled := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionStalled)
		if stalled == nil || (stalled.Status == metav1.ConditionTrue) != c.late ||
			!strings.Contains(stalled.Message, c.says) {
			t.Errorf("%s: %+v", title, stalled)
		}
	}
}

// TestFailedBackupStaysSo: the Job of a backup that has failed otherwise is ended, and the object still has why it has
// failed, now and when the Job is gone.
func TestFailedBackupStaysSo(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := errors.Join(v1alpha1.AddToScheme(scheme), clientgoscheme.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	b := &v1alpha1.GaleraBackup{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "old", UID: "0123-4"}}
	b.Status = v1alpha1.GaleraBackupStatus{Phase: v1alpha1.BackupFailed, Attempts: 1, Conditions: []metav1.Condition{
		{Type: v1alpha1.ConditionComplete, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonClusterNotFound,
			Message: "the cluster is gone"}}}
	taking.SetEnd(&b.Status, 0)
	j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: job.Name(b, 1), UID: "j",
		Finalizers: []string{"foregroundDeletion"}, OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(b,
			v1alpha1.GroupVersion.WithKind("GaleraBackup"))}}}
	kube := fake.NewClientBuilder().WithScheme(scheme).WithObjects(b, j).WithStatusSubresource(b).Build()
	now := time.Now()
	r := &Reconciler{Client: kube, Live: kube, Events: events.NewFakeRecorder(9), Now: func() time.Time { return now }}
	for range 2 {
		if err := kube.Get(t.Context(), client.ObjectKeyFromObject(b), b); err != nil {
			t.Fatal(err)
		}
		if err := r.tidy(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		now = time.Now().Add(endTime + time.Minute)
	}
	if err := errors.Join(kube.Get(t.Context(), client.ObjectKeyFromObject(j), j),
		kube.Get(t.Context(), client.ObjectKeyFromObject(b), b)); err != nil || j.DeletionTimestamp == nil {
		t.Fatalf("the Job is not ended: %v", err)
	}
	stalled := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionStalled)
	if stalled == nil || stalled.Status != metav1.ConditionTrue || stalled.Reason != v1alpha1.ReasonClusterNotFound ||
		meta.IsStatusConditionTrue(b.Status.Conditions, v1alpha1.ConditionReconciling) {
		t.Errorf("%+v", b.Status.Conditions)
	}
}
