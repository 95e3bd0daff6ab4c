package observe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// TestHoldersOnPages: the pods of a namespace are read page by page, up to a bound. Beyond it, that none holds the
// claim is not known.
func TestHoldersOnPages(t *testing.T) {
	for name, c := range map[string]struct {
		pages int // of the namespace
		at    int // the page with the pod that holds the claim, 0 for none
		fails bool
		err   error // of the last page
	}{
		"on the first page": {pages: 2, at: 1},
		"on the last page":  {pages: maxHolderPages, at: maxHolderPages},
		"none holds it":     {pages: maxHolderPages},
		"there are more":    {pages: maxHolderPages + 1, at: maxHolderPages + 1, fails: true},
		"one is not given":  {pages: 2, fails: true, err: errors.New("more than 5000 are too many")},
	} {
		asked := 0
		live := interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{List: func(_ context.Context,
			_ client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			var o client.ListOptions
			o.ApplyOptions(options)
			asked++
			if want := fmt.Sprint("page ", asked); o.Limit != holderPage || o.Namespace != "demo" || asked > 1 &&
				o.Continue != want {
				t.Errorf("%s: asked for %q of %q, up to %d, instead of %q", name, o.Continue, o.Namespace, o.Limit, want)
			}
			pods := list.(*corev1.PodList)
			pods.Items = []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Name: "other", Namespace: "demo"}}}
			if asked == c.pages && c.err != nil {
				return c.err
			}
			if asked == c.at {
				claim := func(name string) corev1.Volume {
					return corev1.Volume{VolumeSource: corev1.VolumeSource{
						PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}}
				}
				pods.Items[0].Spec = corev1.PodSpec{NodeName: "h1", Volumes: []corev1.Volume{claim("other")}}
				for _, name := range []string{"second", "debug"} {
					pods.Items = append(pods.Items, corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "demo",
						OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "x", Controller: new(true)}}},
						Spec: corev1.PodSpec{NodeName: "h1", Volumes: []corev1.Volume{{}, claim("other"), claim("data-shop-0")}}})
				}
			}
			if asked < c.pages {
				pods.Continue = fmt.Sprint("page ", asked+1)
			}
			return nil
		}})
		f := Facts{Cluster: &v1alpha1.GaleraCluster{}, Holders: map[string][]Holder{}, Pods: map[string]*corev1.Pod{},
			Claims: map[string]*corev1.PersistentVolumeClaim{"data-shop-0": {ObjectMeta: metav1.ObjectMeta{
				Name: "data-shop-0", Namespace: "demo", DeletionTimestamp: new(metav1.Now())}}}}
		f.Cluster.Name, f.Cluster.Namespace, f.Cluster.Status.Replicas = "shop", "demo", 2
		err := Readers{Live: live}.holders(t.Context(), &f)
		if (err != nil) != c.fails || err != nil && !strings.Contains(err.Error(), "more than 5000") {
			t.Errorf("%s: %v", name, err)
		}
		want := []Holder{{Pod: "debug"}, {Pod: "second"}}
		if c.at == 0 || c.fails {
			want = nil
		}
		if got := f.Holders["data-shop-0"]; !slices.Equal(got, want) || len(f.Holders) > 1 {
			t.Errorf("%s: %+v", name, f.Holders)
		}
		before := asked
		f.Claims["data-shop-0"].DeletionTimestamp = nil
		if err := (Readers{Live: live}).holders(t.Context(), &f); err != nil || asked != before {
			t.Errorf("%s: no claim is being deleted, and pods are asked for: %v", name, err)
		}
	}
}
