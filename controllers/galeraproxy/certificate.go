package galeraproxy

import (
	"context"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/controllers/issuing"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/proxy"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// ownIssued has the proxy's key deleted with the proxy: cert-manager leaves the Secret when its Certificate goes.
func (r *Reconciler) ownIssued(ctx context.Context, p *v1alpha1.GaleraProxy) error {
	have := &corev1.Secret{}
	err := r.Get(ctx, client.ObjectKey{Namespace: p.Namespace, Name: resources.ProxyIssuedName(p)}, have)
	if err != nil || have.Labels[v1alpha1.LabelProxy] != p.Name || have.DeletionTimestamp != nil {
		return client.IgnoreNotFound(err)
	}
	next := have.DeepCopy()
	if err := controllerutil.SetOwnerReference(p, next, r.Scheme()); err != nil {
		return err
	}
	if equality.Semantic.DeepEqual(have.OwnerReferences, next.OwnerReferences) {
		return nil
	}
	locked := client.MergeFromWithOptions(have, client.MergeFromWithOptimisticLock{})
	return client.IgnoreNotFound(r.Patch(ctx, next, locked))
}

// renewIssued has the proxy's certificate issued anew when the nodes present one of another CA: cert-manager does not
// notice that an issuer signs with another one. By then clients have had their time to read it.
func (r *Reconciler) renewIssued(ctx context.Context, p *v1alpha1.GaleraProxy, c *v1alpha1.GaleraCluster) error {
	own, nodes := &corev1.Secret{}, &corev1.Secret{}
	key := client.ObjectKey{Namespace: p.Namespace, Name: resources.ProxyIssuedName(p)}
	if err := r.Get(ctx, key, own); err != nil {
		return client.IgnoreNotFound(err)
	}
	if err := r.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: resources.TLSSecretName(c)}, nodes); err != nil {
		return client.IgnoreNotFound(err)
	}
	presented, _, trusted := observe.PairOf(nodes)
	if !proxy.OfAnotherCA(own.Data[corev1.TLSCertKey], presented, trusted, r.Now()) {
		return nil
	}
	cert := &certmanagerv1.Certificate{}
	if err := r.Live.Get(ctx, key, cert); err != nil {
		return client.IgnoreNotFound(err)
	}
	return issuing.Again(ctx, r.Client, cert, r.Now())
}
