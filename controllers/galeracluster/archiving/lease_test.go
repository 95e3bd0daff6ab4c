package archiving

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/apply"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// TestLease: the pods that renew a lease are there while one is wanted, in a store that can have it. In another one
// there are none, with the reason; pods that are there stay, because nodes would refuse writes without.
func TestLease(t *testing.T) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, clientgoscheme.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	kube := fake.NewClientBuilder().WithScheme(scheme).Build()
	r := Reconciler{Client: kube, Live: kube, Objects: &apply.Objects{Client: kube, Live: kube}}
	c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "shop", UID: "a54080f9-1111"}}
	c.Spec.Replicas = 3
	c.Spec.Backup = &v1alpha1.ClusterBackup{PointInTime: &v1alpha1.PointInTime{Enabled: true}}
	s3 := &v1alpha1.GaleraBackupStore{Spec: v1alpha1.GaleraBackupStoreSpec{S3: &v1alpha1.S3Store{Bucket: "backups"}}}
	alone := s3.DeepCopy()
	alone.Spec.SingleWriter = true
	volume := &v1alpha1.GaleraBackupStore{Spec: v1alpha1.GaleraBackupStoreSpec{Volume: &v1alpha1.VolumeStore{}}}
	for i, step := range []struct {
		wanted bool
		store  *v1alpha1.GaleraBackupStore
		there  bool
		says   string
	}{
		{false, s3, false, ""},
		{true, alone, false, "that has no singleWriter"},
		{true, volume, false, "that is no volume"},
		{true, s3, true, ""},
		{true, alone, true, "that has no singleWriter"},
		{false, alone, false, ""},
		{true, s3, true, ""},
	} {
		c.Spec.Backup.PointInTime.WriteLease = step.wanted
		why, err := r.lease(t.Context(), c, step.store)
		if err != nil || (why == "") != (step.says == "") || !strings.Contains(why, step.says) {
			t.Errorf("%d: %q, %v", i, why, err)
		}
		err = kube.Get(t.Context(), client.ObjectKey{Namespace: "demo", Name: "shop-lease"}, &appsv1.Deployment{})
		if err != nil && !apierrors.IsNotFound(err) || (err == nil) != step.there {
			t.Errorf("%d: there are pods: %v, %v", i, err == nil, err)
		}
		err = kube.Get(t.Context(), client.ObjectKey{Namespace: "demo", Name: "shop-lease"}, &policyv1.PodDisruptionBudget{})
		if err != nil && !apierrors.IsNotFound(err) || (err == nil) != step.there {
			t.Errorf("%d: there is a budget: %v, %v", i, err == nil, err)
		}
	}
	c.Spec.Backup.PointInTime.WriteLease, c.Status.WriteLease = false, v1alpha1.WriteLeaseEnded
	if _, err := r.lease(t.Context(), c, s3); err != nil {
		t.Fatal(err)
	}
	there := func() bool {
		err := kube.Get(t.Context(), client.ObjectKey{Namespace: "demo", Name: "shop-lease"}, &appsv1.Deployment{})
		if client.IgnoreNotFound(err) != nil {
			t.Fatal(err)
		}
		return err == nil
	}
	if !there() {
		t.Error("nodes that need it can never hear of it")
	}
	c.Spec.Hibernate = true
	if err := r.stopArchiver(t.Context(), c); err != nil || !there() {
		t.Errorf("it ends before the nodes have stopped: %v", err)
	}
	c.Status.LastOperation = &v1alpha1.CompletedOperation{Type: string(galera.OpHibernate)}
	if err := r.stopArchiver(t.Context(), c); err != nil || there() {
		t.Errorf("it goes on for nodes that have stopped: %v", err)
	}
}
