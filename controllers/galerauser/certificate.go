package galerauser

import (
	"context"
	"errors"
	"slices"

	cmv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	cmmeta "github.com/cert-manager/cert-manager/pkg/apis/meta/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/controllers/clusterref"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/ownership"
	"github.com/galera-operator/galera-operator/internal/pki"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// certificate has the user's certificate requested, and returns it once it is issued. Without it the application waits,
// and the account does not.
func (p *pass) certificate(ctx context.Context) (pair *corev1.Secret, err error) {
	if p.user.Spec.Require != v1alpha1.RequireX509 {
		return nil, p.dropCertificate(ctx)
	}
	want := resources.UserCertificate(p.cluster, p.user)
	err = ownership.Own(ctx, p.Client, p.Live, p.cluster.UID, want)
	if meta.IsNoMatchError(err) {
		p.bindingProblem = clusterref.Blocker{Reason: v1alpha1.ReasonCertManagerMissing,
			Message:    "cert-manager is not installed: install it, or set spec.require to another value than X509",
			RetryAfter: clusterref.RefusedInterval}
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	pair, err = p.secret(ctx, client.ObjectKeyFromObject(want))
	if err == nil && issued(pair, p.user) {
		return pair, nil
	}
	if client.IgnoreNotFound(err) != nil {
		return nil, err
	}
	have := &cmv1.Certificate{}
	if err := p.Live.Get(ctx, client.ObjectKeyFromObject(want), have); client.IgnoreNotFound(err) != nil {
		return nil, err
	}
	p.bindingProblem = clusterref.Blocker{Reason: v1alpha1.ReasonCertificatePending, RetryAfter: clusterref.WaitInterval,
		Message: "waiting for cert-manager to issue the user's certificate (Certificate " +
			want.Name + " in the namespace " + want.Namespace + ")" + refusal(have)}
	return nil, nil
}

// renew binds the archiver's newest certificate, and the CAs of the cluster, while nodes accept no writes because the
// lease is not renewed: the pods that renew it need both, so that nothing else would end this wait. Nothing is written
// to the cluster.
func (p *pass) renew(ctx context.Context) error {
	c, u := p.cluster, p.user
	if !p.blocker.Leaseless || u.Name != resources.ArchiverName(c) || !metav1.IsControlledBy(u, c) ||
		u.Status.Account == "" {
		return nil
	}
	pair, err := p.certificate(ctx)
	if err != nil || pair == nil {
		return err
	}
	_, err = p.bind(ctx, pair)
	return p.foreignSecret(err)
}

// issued reports whether a Secret holds a pair, and whether its certificate is this user's: the namespace has those of
// others, too.
func issued(pair *corev1.Secret, u *v1alpha1.GaleraUser) bool {
	crt, key, _ := observe.PairOf(pair)
	leaf := pki.Parse(crt)
	return len(leaf) > 0 && len(key) > 0 && leaf[0].Subject.CommonName == u.Name &&
		slices.Equal(leaf[0].Subject.Organization, []string{u.Namespace})
}

// refusal returns what cert-manager reports of an issuance that failed, "" of one that goes on.
func refusal(c *cmv1.Certificate) string {
	for _, condition := range c.Status.Conditions {
		if condition.Type == cmv1.CertificateConditionIssuing && condition.Status == cmmeta.ConditionFalse &&
			condition.Message != "" {
			return ". cert-manager reports: " + condition.Message
		}
	}
	return ""
}

// dropIssued removes a user's certificate and its key.
func (r *Reconciler) dropIssued(ctx context.Context, c *v1alpha1.GaleraCluster, u *v1alpha1.GaleraUser) error {
	certificate := resources.UserCertificate(c, u)
	err := ownership.Remove(ctx, r.Client, r.Live, c.UID, certificate)
	if meta.IsNoMatchError(err) {
		err = nil
	}
	key := &corev1.Secret{}
	key.Namespace, key.Name = certificate.Namespace, certificate.Name
	return errors.Join(err, client.IgnoreNotFound(r.Delete(ctx, key)))
}

// dropCertificate removes what was made for an earlier spec. Whether anything was is not known before the status is
// about this one.
func (p *pass) dropCertificate(ctx context.Context) error {
	if p.user.Status.CertificateNotAfter == nil && p.user.Status.ObservedGeneration == p.user.Generation {
		return nil
	}
	return p.dropIssued(ctx, p.cluster, p.user)
}
