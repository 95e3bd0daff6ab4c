package apply

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
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
