package publish

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/apply"
	"github.com/galera-operator/galera-operator/internal/observe"
)

// TestExpandAllowsNoWayBack: the status of the very pass that asks for a larger volume counts it, and one that was
// Refused can be given up.
func TestExpandAllowsNoWayBack(t *testing.T) {
	for name, tc := range map[string]struct {
		refuse bool
		want   string
	}{"taken": {false, "2Gi"}, "refused": {true, "1Gi"}} {
		t.Run(name, func(t *testing.T) {
			p := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "data-shop-0"}}
			p.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
			p.Status.Phase = corev1.ClaimBound
			kube := fake.NewClientBuilder().WithObjects(p).WithInterceptorFuncs(interceptor.Funcs{
				Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch,
					opts ...client.PatchOption) error {
					if tc.refuse {
						return apierrors.NewForbidden(corev1.Resource("persistentvolumeclaims"), o.GetName(), nil)
					}
					return c.Patch(ctx, o, patch, opts...)
				},
			}).Build()
			c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "shop"}}
			c.Status.Replicas, c.Spec.Storage.Size = 1, resource.MustParse("2Gi")
			facts := observe.Facts{Cluster: c, Claims: map[string]*corev1.PersistentVolumeClaim{p.Name: p}}
			pub := Publisher{Actor: apply.Actor{Client: kube}}
			grown, err := pub.expand(t.Context(), facts)
			if tc.refuse != (refusal(err) != nil) || !tc.refuse && err != nil {
				t.Fatal(err)
			}
			if got := observe.VolumeSize(Result{grown: grown}.Facts(facts)).String(); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}
