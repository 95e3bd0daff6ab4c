package galerauser

import (
	"bytes"
	"crypto/x509/pkix"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/pki/pkitest"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// TestArchiverWithoutALease: while nodes accept no writes because the lease is not renewed, the archiver's newest
// certificate is bound, with which it is renewed: that of before may have expired while the cluster hibernated. No
// other user's is, and nothing is written to the cluster.
func TestArchiverWithoutALease(t *testing.T) {
	for _, tc := range []struct {
		name, controller, reason string
		want                     bool
	}{
		{"shop-archiver", "cluster", v1alpha1.ReasonWriteLeaseEnded, true},
		{"shop-archiver", "cluster", v1alpha1.ReasonSuperseded, false},
		{"shop-archiver", "other", v1alpha1.ReasonWriteLeaseEnded, false},
		{"app", "cluster", v1alpha1.ReasonWriteLeaseEnded, false},
	} {
		u := user(func(u *v1alpha1.GaleraUser) {
			u.Name, u.Spec.Require, u.Spec.Authentication.None = tc.name, v1alpha1.RequireX509, true
			u.OwnerReferences = []metav1.OwnerReference{{APIVersion: v1alpha1.GroupVersion.String(), Kind: "GaleraCluster",
				Name: "shop", UID: "cluster", Controller: new(true)}}
			if tc.controller != "cluster" {
				u.OwnerReferences[0].UID = "other"
			}
		})
		w := newWorld(t, u)
		r := w.operator()
		c := &v1alpha1.GaleraCluster{}
		w.must(w.kube.Get(t.Context(), client.ObjectKey{Namespace: "data", Name: "shop"}, c))
		pair := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "data", Name: resources.UserIssuedName(c, u)},
			Data: map[string][]byte{}}
		issue := func() {
			pair.Data["tls.crt"], pair.Data["tls.key"] = pkitest.NewCA("clients").
				Issue(pkitest.Leaf{Subject: pkix.Name{CommonName: tc.name, Organization: []string{"data"}}})
		}
		issue()
		w.must(w.kube.Create(t.Context(), pair))
		w.settle(r, u)
		before, asked := w.secret("data", u.BindingName())["tls.crt"], w.asked
		if !bytes.Equal(before, pair.Data["tls.crt"]) {
			t.Fatalf("%+v: not bound: %s", tc, w.condition(u, v1alpha1.ConditionReady))
		}
		meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionAvailable,
			Status: metav1.ConditionFalse, Reason: tc.reason})
		w.must(w.kube.Status().Update(t.Context(), c))
		issue()
		w.must(w.kube.Update(t.Context(), pair))
		w.settle(r, u)
		if have := w.secret("data", u.BindingName())["tls.crt"]; bytes.Equal(have, before) == tc.want || tc.want &&
			!bytes.Equal(have, pair.Data["tls.crt"]) {
			t.Errorf("%+v: the newest certificate is bound: %v", tc, !bytes.Equal(have, before))
		}
		if w.asked != asked {
			t.Errorf("%+v: the account is written", tc)
		}
	}
}
