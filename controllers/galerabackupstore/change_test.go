package galerabackupstore

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// TestASecretThatWasNotCheckedIsNotMounted: a spec that changes between a check's intent and its Job, or while the Job
// runs, brings no Secret of a cluster into a pod, and is not reported as checked.
func TestASecretThatWasNotCheckedIsNotMounted(t *testing.T) {
	for name, passes := range map[string]int{"before the Job": 1, "during the Job": 2} {
		t.Run(name, func(t *testing.T) {
			scheme := runtime.NewScheme()
			if err := clientgoscheme.AddToScheme(scheme); err != nil {
				t.Fatal(err)
			}
			if err := v1alpha1.AddToScheme(scheme); err != nil {
				t.Fatal(err)
			}
			secret := func(name string, labels map[string]string) *corev1.Secret {
				return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name, Labels: labels}}
			}
			s := &v1alpha1.GaleraBackupStore{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "s", UID: "1",
				Generation: 1}}
			s.Spec.S3 = &v1alpha1.S3Store{Bucket: "bucket", Credentials: &v1alpha1.S3Credentials{SecretName: "s3"}}
			c := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(s).WithObjects(s, secret("s3", nil),
				secret("shop-root", map[string]string{v1alpha1.LabelCluster: "shop"})).Build()
			now := noon
			r := Reconciler{Client: c, Live: c, Now: func() time.Time { return now }}
			pass := func() {
				t.Helper()
				if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(s)}); err != nil {
					t.Fatal(err)
				}
				if err := c.Get(t.Context(), client.ObjectKeyFromObject(s), s); err != nil {
					t.Fatal(err)
				}
			}
			for range passes {
				pass()
			}
			s.Generation, s.Spec.S3.Credentials.SecretName = 2, "shop-root"
			if err := c.Update(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			finish(t, c)
			for range 6 {
				pass()
				is := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReachable)
				if is.Status == metav1.ConditionTrue {
					t.Errorf("a spec that was not checked is %+v", is)
				}
			}
			is := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReachable)
			if is.Reason != v1alpha1.ReasonStoreRefused || is.ObservedGeneration != 2 {
				t.Errorf("Reachable is %+v", is)
			}
			var jobs batchv1.JobList
			if err := c.List(t.Context(), &jobs); err != nil || len(jobs.Items) > 0 {
				t.Errorf("%d Jobs are left, %v", len(jobs.Items), err)
			}
		})
	}
}

// finish lets the Job of a check end well, if there is one.
func finish(t *testing.T, c client.Client) {
	t.Helper()
	var jobs batchv1.JobList
	if err := c.List(t.Context(), &jobs); err != nil {
		t.Fatal(err)
	}
	for i := range jobs.Items {
		j := &jobs.Items[i]
		j.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
		if err := c.Update(t.Context(), j); err != nil {
			t.Fatal(err)
		}
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: j.Namespace, Name: j.Name,
			Labels:          map[string]string{batchv1.JobNameLabel: j.Name},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(j, batchv1.SchemeGroupVersion.WithKind("Job"))}}}
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "backup", State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{Message: `{"checked":{}}`}}}}
		if err := c.Create(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
}
