package archiving

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/apply"
	"github.com/galera-operator/galera-operator/internal/backup/job"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// TestStoreThatWasNotChecked: a user who may change a store, and no Secret, could send a Secret to an endpoint of their
// own. So no pod of the archiver gets what a store names before that was checked; the one that is there stays as it is.
func TestStoreThatWasNotChecked(t *testing.T) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "shop", UID: "a54080f9-1111"}}
	c.Spec.Replicas = 3
	c.Spec.Backup = &v1alpha1.ClusterBackup{StoreRef: v1alpha1.LocalName{Name: "offsite"},
		PointInTime: &v1alpha1.PointInTime{Enabled: true}}
	s := &v1alpha1.GaleraBackupStore{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "offsite", Generation: 1},
		Spec: v1alpha1.GaleraBackupStoreSpec{S3: &v1alpha1.S3Store{Bucket: "backups",
			Credentials: &v1alpha1.S3Credentials{SecretName: "s3", AccessKeyIDKey: "a", SecretAccessKeyKey: "b"}}}}
	binding := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: job.ArchiverUser(c).BindingName()},
		Data: map[string][]byte{corev1.TLSCertKey: []byte("pem")}}
	k := fake.NewClientBuilder().WithScheme(scheme).WithObjects(c, s, binding).Build()
	r := Reconciler{Client: k, Live: k, Objects: &apply.Objects{Client: k, Live: k}, Jobs: job.Options{Image: "operator"},
		Now: time.Now, Today: time.Now, Late: time.Now}
	// mounted is the Secret of the store in the pod template of the archiver.
	mounted := func(reason string) (secret string) {
		t.Helper()
		if err := k.Update(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		f, err := r.observe(t.Context(), c)
		if err != nil || f.Problem.Reason != reason {
			t.Fatalf("%+v, %v", f.Problem, err)
		}
		d := &appsv1.Deployment{}
		err = k.Get(t.Context(), client.ObjectKey{Namespace: "demo", Name: resources.ArchiverName(c)}, d)
		if client.IgnoreNotFound(err) != nil {
			t.Fatal(err)
		}
		for _, v := range d.Spec.Template.Spec.Volumes {
			if v.Projected == nil {
				continue
			}
			for _, from := range v.Projected.Sources {
				if from.Secret != nil {
					secret += from.Secret.Name
				}
			}
		}
		return secret
	}
	checked := func(generation int64, reachable metav1.ConditionStatus, reason string) {
		meta.SetStatusCondition(&s.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionReachable, Status: reachable,
			Reason: reason, ObservedGeneration: generation})
	}
	if got := mounted(v1alpha1.ReasonChecking); got != "" {
		t.Errorf("before the check: %s", got)
	}
	checked(1, metav1.ConditionTrue, v1alpha1.ReasonReachable)
	if got := mounted(""); got != "s3" {
		t.Errorf("after the check: %s", got)
	}
	s.Generation, s.Spec.S3.Endpoint, s.Spec.S3.Credentials.SecretName = 2, "https://elsewhere.test", "shop-root"
	if got := mounted(v1alpha1.ReasonChecking); got != "s3" {
		t.Errorf("before another spec was checked: %s", got)
	}
	checked(2, metav1.ConditionFalse, v1alpha1.ReasonStoreRefused)
	if got := mounted(v1alpha1.ReasonStoreRefused); got != "s3" {
		t.Errorf("it was refused: %s", got)
	}
	s.Spec.S3.Credentials.SecretName = "other"
	checked(2, metav1.ConditionTrue, v1alpha1.ReasonReachable)
	if got := mounted(""); got != "other" {
		t.Errorf("it was checked: %s", got)
	}
}
