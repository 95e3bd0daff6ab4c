package archiving

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/policy/archival"
)

// TestFailedBaseGoes: what a base that has failed has left in the store goes with it.
func TestFailedBaseGoes(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	b := &v1alpha1.GaleraBackup{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "shop-base"}}
	b.Spec.DeletionPolicy, b.Status.Phase, b.Status.ID = v1alpha1.BackupRetain, v1alpha1.BackupFailed, "b1"
	r := Reconciler{Client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(b).Build()}
	pass := func() *v1alpha1.GaleraBackup {
		t.Helper()
		have := &v1alpha1.GaleraBackup{}
		err := r.Get(t.Context(), client.ObjectKeyFromObject(b), have)
		if err == nil {
			err = r.makeBase(t.Context(), &v1alpha1.GaleraCluster{}, archival.Request{Name: b.Name, Failed: have})
		}
		if err == nil {
			err = r.Get(t.Context(), client.ObjectKeyFromObject(b), have)
		}
		if err != nil {
			t.Fatal(err)
		}
		return have
	}
	for range 2 { // until its controller holds it
		if have := pass(); have.Spec.DeletionPolicy != v1alpha1.BackupDelete || have.DeletionTimestamp != nil {
			t.Fatalf("%+v", have)
		}
	}
	held := pass()
	held.Finalizers = []string{"galera-operator.io/remove-backup"}
	if err := r.Update(t.Context(), held); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if have := pass(); have.DeletionTimestamp == nil {
			t.Fatalf("%+v", have)
		}
	}
}

// TestWhy: an archiver that needs more memory is named with what to do.
func TestWhy(t *testing.T) {
	p := &corev1.Pod{}
	p.Spec.Containers = []corev1.Container{{Name: "archiver",
		Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(
			"512Mi")}}}}
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "archiver",
		State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "m"}}}}
	if got := podFailure(p); got != "CrashLoopBackOff m" {
		t.Error(got)
	}
	p.Status.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{Reason: "OOMKilled"}
	if got := podFailure(p); !strings.Contains(got, "limit of 512Mi") || !strings.Contains(got, "spec.pods.resources") {
		t.Error(got)
	}
}
