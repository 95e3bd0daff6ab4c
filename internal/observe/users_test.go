package observe

import (
	"context"
	"errors"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/resources"
	"github.com/galera-operator/galera-operator/internal/undecodable"
)

// TestAdmittedUsers: a namespace that the cluster does not admit does not affect which CAs it trusts.
func TestAdmittedUsers(t *testing.T) {
	for name, tc := range map[string]struct {
		namespace, reason string
		want              bool
	}{
		"of the cluster's namespace": {"data", "", true},
		"not checked yet":            {"team", "", false},
		"not admitted":               {"team", v1alpha1.ReasonNamespaceNotAllowed, false},
		"admitted":                   {"team", v1alpha1.ReasonCertificatePending, true},
	} {
		u, c := &v1alpha1.GaleraUser{}, &v1alpha1.GaleraCluster{}
		u.Namespace, c.Namespace = tc.namespace, "data"
		if tc.reason != "" {
			meta.SetStatusCondition(&u.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionReady,
				Status: metav1.ConditionFalse, Reason: tc.reason})
		}
		if got := admitted(u, c); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestCertified: the clients' CA of a cluster is kept while a user that cannot be decoded may be the one that needs it.
func TestCertified(t *testing.T) {
	s := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(s), v1alpha1.AddToScheme(s)); err != nil {
		t.Fatal(err)
	}
	c := &v1alpha1.GaleraCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "data", Name: "shop"}}
	pair := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "data", Name: resources.ClientCAPairName(c)}}
	user := &v1alpha1.GaleraUser{ObjectMeta: metav1.ObjectMeta{Namespace: "data", Name: "a"}}
	user.Spec.ClusterRef.Name, user.Spec.Require = "shop", v1alpha1.RequireX509
	for name, tc := range map[string]struct {
		objects    []client.Object
		incomplete bool
		want       bool
	}{
		"no user":                            {nil, false, false},
		"the last user has gone":             {[]client.Object{pair}, false, false},
		"a user":                             {[]client.Object{user}, false, true},
		"one cannot be decoded":              {nil, true, false},
		"one cannot be decoded, with a CA":   {[]client.Object{pair}, true, true},
		"one cannot be decoded, another can": {[]client.Object{user}, true, true},
	} {
		list := func(ctx context.Context, c client.WithWatch, into client.ObjectList, opts ...client.ListOption) error {
			if tc.incomplete && slices.Contains(opts, client.ListOption(undecodable.Complete{})) {
				return &undecodable.Error{Cause: errors.New("too long")}
			}
			return c.List(ctx, into, opts...)
		}
		r := Readers{Cached: fake.NewClientBuilder().WithScheme(s).WithObjects(tc.objects...).WithInterceptorFuncs(
			interceptor.Funcs{List: list}).Build()}
		if got, err := r.certified(t.Context(), c, nil); got != tc.want || err != nil {
			t.Errorf("%s: %t, %v", name, got, err)
		}
	}
}
