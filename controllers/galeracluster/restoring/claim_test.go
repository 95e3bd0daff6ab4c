package restoring

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/backup/policy/restoration"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// TestClaimOfAWaitingJob: a claim that was deleted while its Job waits is made again; one that is there stays as it is.
func TestClaimOfAWaitingJob(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: "shop", UID: "u"}}
	c.Spec.Storage.Size = resource.MustParse("1Gi")
	kept := resources.Claim(c, 1)
	kept.Spec.VolumeName = "pv-1"
	kube := fake.NewClientBuilder().WithScheme(scheme).WithObjects(kept).Build()
	r := &Reconciler{Client: kube, Live: kube}
	f, d := restoration.Facts{Cluster: c}, restoration.Decision{Claims: []int{0, 1}}
	for range 2 {
		if err := r.act(t.Context(), f, d); err != nil {
			t.Fatal(err)
		}
	}
	for i, volume := range []string{"", "pv-1"} {
		have := &corev1.PersistentVolumeClaim{}
		key := client.ObjectKey{Namespace: "demo", Name: resources.ClaimName(c, i)}
		if err := kube.Get(t.Context(), key, have); err != nil || have.Spec.VolumeName != volume {
			t.Errorf("claim %d: %v, of the volume %q", i, err, have.Spec.VolumeName)
		}
	}
}
