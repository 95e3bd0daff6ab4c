package apply

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/ownership"
)

// TestObjectsForgetsWhatIsNoLongerApplied: an object in use costs no request, however long its owner lives; one whose
// owner is gone is not remembered for ever.
func TestObjectsForgetsWhatIsNoLongerApplied(t *testing.T) {
	ctx := context.Background()
	requests, now := 0, time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	kube := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		Apply: func(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			requests++
			return c.Apply(ctx, o, opts...)
		},
	}).Build()
	objects := &Objects{Client: kube, Live: kube, now: func() time.Time { return now }}
	apply := func(name string, want int) {
		t.Helper()
		before := requests
		err := objects.Apply(ctx, "owner", &corev1.ConfigMap{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: metav1.ObjectMeta{Namespace: "ns",
				Name: name},
		})
		if err != nil || requests-before != want {
			t.Fatalf("%s at %s: %d requests, want %d; error %v", name, now.Format(time.TimeOnly), requests-before, want, err)
		}
	}
	apply("living", 1)
	for i := range 100 {
		apply(fmt.Sprintf("gone-%d", i), 1)
	}
	for range 3 * int(memory/time.Minute) {
		now = now.Add(time.Minute)
		apply("living", 0)
	}
	if n := len(objects.recent) + len(objects.older); n > 2 {
		t.Errorf("%d objects are remembered, of which one is in use", n)
	}
	apply("gone-1", 1)
}

// TestAnObjectIsGivenBackToALivingOwnerOnly: the garbage collector takes the owner from objects that are to stay. The
// operator's cache may not know yet that the owner is being deleted.
func TestAnObjectIsGivenBackToALivingOwnerOnly(t *testing.T) {
	ctx := context.Background()
	owner := func(uid types.UID, deleted bool) *v1alpha1.GaleraCluster {
		c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "shop", UID: uid}}
		if deleted {
			c.Finalizers, c.DeletionTimestamp = []string{metav1.FinalizerOrphanDependents}, &metav1.Time{Time: time.Now()}
		}
		return c
	}
	for name, c := range map[string]struct {
		live []client.Object
		want error
	}{
		"it lives":                         {[]client.Object{owner("owner", false)}, nil},
		"it is being deleted":              {[]client.Object{owner("owner", true)}, ownership.ErrOwnerEnds},
		"it is gone":                       {nil, ownership.ErrOwnerEnds},
		"another one of its name is there": {[]client.Object{owner("next", false)}, ownership.ErrOwnerEnds},
	} {
		t.Run(name, func(t *testing.T) {
			scheme := runtime.NewScheme()
			check(t, clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme))
			labels := map[string]string{v1alpha1.LabelCluster: "shop"}
			orphan := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "shop-config", Labels: labels}}
			kube := fake.NewClientBuilder().WithScheme(scheme).WithObjects(append(c.live, orphan)...).Build()
			want := &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
				ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "shop-config", Labels: labels,
					OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner("owner", false),
						v1alpha1.GroupVersion.WithKind("GaleraCluster"))}}}
			if err := (&Objects{Client: kube, Live: kube}).Apply(ctx, "owner", want); !errors.Is(err, c.want) {
				t.Fatalf("%v, want %v", err, c.want)
			}
			have := &corev1.ConfigMap{}
			check(t, kube.Get(ctx, client.ObjectKeyFromObject(want), have))
			if given := len(have.OwnerReferences) > 0; given != (c.want == nil) {
				t.Errorf("it has the owners %v", have.OwnerReferences)
			}
		})
	}
}

func check(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}
