package undecodable

import (
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// TestCompleteLists: a list of all namespaces leaves out what cannot be decoded, and fails instead if the caller asks
// for all.
func TestCompleteLists(t *testing.T) {
	s := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	objects := &Objects{}
	objects.seen(Key{v1alpha1.GroupVersion.WithKind("GaleraUser"), types.NamespacedName{Namespace: "team", Name: "a"}},
		errors.New("too long"))
	c := &guarded{Client: fake.NewClientBuilder().WithScheme(s).Build(), objects: objects}
	for name, tc := range map[string]struct {
		into    client.ObjectList
		opts    []client.ListOption
		refused bool
	}{
		"of all namespaces": {&v1alpha1.GaleraUserList{}, nil, false},
		"all of them": {&v1alpha1.GaleraUserList{}, []client.ListOption{client.MatchingLabels{}, Complete{}},
			true},
		"of its namespace": {&v1alpha1.GaleraUserList{}, []client.ListOption{client.InNamespace("team")}, true},
		"all of another's": {&v1alpha1.GaleraUserList{}, []client.ListOption{client.InNamespace("data"), Complete{}},
			false},
		"all of another kind":     {&v1alpha1.GaleraClusterList{}, []client.ListOption{Complete{}}, false},
		"of another kind, simply": {&v1alpha1.GaleraClusterList{}, nil, false},
	} {
		err := c.List(t.Context(), tc.into, tc.opts...)
		var bad *Error
		if errors.As(err, &bad) != tc.refused || !tc.refused && err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
