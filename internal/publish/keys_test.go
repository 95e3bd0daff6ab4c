package publish

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/observe"
)

// TestKeysOfARunningCluster: a cluster that has served gets keys although it has volumes, a new one does not while
// there are volumes of an earlier one that the cache does not have yet.
func TestKeysOfARunningCluster(t *testing.T) {
	for name, tc := range map[string]struct {
		uuid string
		set  *appsv1.StatefulSet
		made bool
	}{
		"has served":                   {"5b3f", &appsv1.StatefulSet{}, true},
		"new, over an earlier volume":  {"", nil, false},
		"has served, without its pods": {"5b3f", nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			kube := fake.NewClientBuilder().WithObjects(&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
				Namespace: "n", Name: "data-shop-0", Labels: map[string]string{v1alpha1.LabelCluster: "shop"}}}).Build()
			c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "shop"}}
			c.Spec.Encryption, c.Status.ClusterUUID = &v1alpha1.EncryptionSpec{}, tc.uuid
			f := observe.Facts{Cluster: c, StatefulSet: tc.set, Keys: &observe.Keys{}}
			pub := Publisher{Client: kube, Readers: observe.Readers{Live: kube}}
			if err := pub.ensureKeys(t.Context(), f); err != nil {
				t.Fatal(err)
			}
			err := kube.Get(t.Context(), client.ObjectKey{Namespace: "n", Name: "shop-keys"}, &corev1.Secret{})
			if made := err == nil; made != tc.made || !made && !apierrors.IsNotFound(err) || f.Keys.Exists != made {
				t.Errorf("made: %v (%v), want %v", made, err, tc.made)
			}
		})
	}
}
