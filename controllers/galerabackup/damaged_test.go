package galerabackup

import (
	"context"
	"encoding/json"
	"errors"
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
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/job"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

// endedTest are a full backup that has passed its test, an increment of it whose test has found the full one damaged,
// and the Job and the pod of that.
func endedTest(t *testing.T) (full, increment *v1alpha1.GaleraBackup, all []client.Object) {
	t.Helper()
	of := func(name, id, phase string) *v1alpha1.GaleraBackup {
		b := &v1alpha1.GaleraBackup{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name}}
		b.Spec.Verify, b.Spec.StoreRef.Name = v1alpha1.VerifyChecksum, "offsite"
		b.Status = v1alpha1.GaleraBackupStatus{Phase: v1alpha1.BackupCompleted, ID: id, Directory: "demo/shop/u1",
			Verification: &v1alpha1.BackupVerification{Method: v1alpha1.VerifyChecksum, Phase: phase, Attempts: 1}}
		return b
	}
	full, increment = of("full", "f", v1alpha1.VerifySucceeded), of("increment", "i", v1alpha1.VerifyRunning)
	full.UID, increment.UID = "uid-f", "uid-i"
	increment.Status.Incremental = &v1alpha1.BackupChain{Base: "f", Depth: 1}
	meta.SetStatusCondition(&full.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionVerified,
		Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonVerified})
	store := &v1alpha1.GaleraBackupStore{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "offsite"}}
	j := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: job.VerifyName(increment), UID: "j",
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(increment,
			v1alpha1.GroupVersion.WithKind("GaleraBackup"))}}}
	j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionTrue}}
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "p",
		Labels: map[string]string{batchv1.JobNameLabel: j.Name}, OwnerReferences: []metav1.OwnerReference{
			*metav1.NewControllerRef(j, batchv1.SchemeGroupVersion.WithKind("Job"))}}}
	text, err := json.Marshal(task.Result{Error: "part-000001", Reason: task.ReasonBackupDamaged, Fatal: true,
		Damaged: "f"})
	if err != nil {
		t.Fatal(err)
	}
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: job.Container, State: corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Message: string(text)}}}}
	return full, increment, []client.Object{full, increment, store, j, p}
}

// TestDamageIsHeldAgainstTheBase: before the end of a test is written, so that an operator that is killed in between
// does it again.
func TestDamageIsHeldAgainstTheBase(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := errors.Join(v1alpha1.AddToScheme(scheme), clientgoscheme.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	for _, away := range []bool{true, false} {
		full, increment, all := endedTest(t)
		kube := fake.NewClientBuilder().WithScheme(scheme).WithObjects(all...).WithStatusSubresource(full).
			WithInterceptorFuncs(interceptor.Funcs{SubResourceUpdate: func(ctx context.Context, c client.Client, sub string,
				o client.Object, opts ...client.SubResourceUpdateOption) error {
				if away && o.GetName() == full.Name {
					return errors.New("away")
				}
				return c.SubResource(sub).Update(ctx, o, opts...)
			}}).Build()
		r := &Reconciler{Client: kube, Live: kube, Events: events.NewFakeRecorder(9),
			Now: func() time.Time { return testTime }}
		if err := kube.Get(t.Context(), client.ObjectKeyFromObject(increment), increment); err != nil {
			t.Fatal(err)
		}
		_, err := r.verify(t.Context(), increment)
		if (err != nil) != away {
			t.Errorf("away %v: %v", away, err)
		}
		for _, b := range []*v1alpha1.GaleraBackup{full, increment} {
			if err := kube.Get(t.Context(), client.ObjectKeyFromObject(b), b); err != nil {
				t.Fatal(err)
			}
			if b.Damaged() == away {
				t.Errorf("away %v: %s is damaged: %v (%+v)", away, b.Name, b.Damaged(), b.Status)
			}
		}
		if ended := increment.Status.Verification.Phase != v1alpha1.VerifyRunning; ended == away {
			t.Errorf("away %v: the test has ended: %v", away, ended)
		}
	}
}

// TestDamageIsHeldAgainstNoOtherBackup: the cluster's image writes the result of a test by Restore, and could have good
// backups counted as damaged.
func TestDamageIsHeldAgainstNoOtherBackup(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := errors.Join(v1alpha1.AddToScheme(scheme), clientgoscheme.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	full, increment, all := endedTest(t)
	increment.Status.Incremental = nil // it is a full one, too
	kube := fake.NewClientBuilder().WithScheme(scheme).WithObjects(all...).WithStatusSubresource(full).Build()
	r := &Reconciler{Client: kube, Live: kube, Events: events.NewFakeRecorder(9),
		Now: func() time.Time { return testTime }}
	for _, b := range []*v1alpha1.GaleraBackup{full, increment} {
		if err := kube.Get(t.Context(), client.ObjectKeyFromObject(b), b); err != nil {
			t.Fatal(err)
		}
	}
	_, err := r.verify(t.Context(), increment)
	err = errors.Join(err, kube.Get(t.Context(), client.ObjectKeyFromObject(full), full))
	if err != nil || full.Damaged() {
		t.Errorf("%v, %+v", err, full.Status)
	}
}
