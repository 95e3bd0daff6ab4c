package galeracluster

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/controllers/issuing"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/pki"
	"github.com/galera-operator/galera-operator/internal/validate"
)

// +kubebuilder:rbac:groups=cert-manager.io,resources=certificates/status,verbs=patch

// Kinds of renewals.
const (
	renewLeaf   = "leaf"
	renewCA     = "ca"
	renewLeafOf = "leaf-of-ca"
)

// renewals returns the record of renewals brought up to date, and what is wrong with a request. Renewed is what is
// asked for by annotation, and a leaf that became necessary because the issuer signs with another CA, which
// cert-manager does not notice.
func renewals(f observe.Facts, now time.Time) (record []v1alpha1.RenewalStatus, refused *validate.Problem) {
	if f.Cluster.Status.TLS != nil {
		record = slices.Clone(f.Cluster.Status.TLS.Renewals)
	}
	for _, word := range strings.FieldsFunc(f.Cluster.Annotations[v1alpha1.AnnotationRenew],
		func(r rune) bool { return r == ',' || r == ' ' }) {
		of, token, _ := strings.Cut(word, "@")
		if why := wrongRequest(f.Cluster, of, token); why != "" {
			refused = &validate.Problem{Reason: v1alpha1.ReasonRenewalRefused, Blocked: true,
				Message: fmt.Sprintf("the annotation %s requests %q: %s", v1alpha1.AnnotationRenew, word, why)}
			continue
		}
		record = request(record, f, of, token, now)
	}
	if ca := firstCertificate(f.SigningCA); ca != "" && f.Issued != nil && !comesFrom(f.Issued, ca) {
		record = request(record, f, renewLeafOf, ca[:observe.MinFingerprint], now)
	}
	for i := range record {
		r := &record[i]
		if is := present(f, r.Of); r.CompletedAt == nil && is != "" && is != r.Previous {
			at := metav1.NewTime(now)
			r.CompletedAt = &at
		}
	}
	return record, refused
}

func wrongRequest(c *v1alpha1.GaleraCluster, of, token string) string {
	switch {
	case of != renewLeaf && of != renewCA:
		return "write leaf@TOKEN or ca@TOKEN"
	case token == "" || len(token) > 100:
		return "a token of 1 to 100 characters must follow the @; each token takes effect once"
	case of == renewCA && c.Spec.TLS.IssuerRef != nil:
		return "the CA belongs to the issuer that spec.tls.issuerRef names; replace it there, and the operator follows"
	}
	return ""
}

// request records a renewal, once for each token.
func request(record []v1alpha1.RenewalStatus, f observe.Facts, of, token string,
	now time.Time) []v1alpha1.RenewalStatus {
	i := slices.IndexFunc(record, func(r v1alpha1.RenewalStatus) bool { return r.Of == of })
	if i >= 0 && record[i].Token == token {
		return record
	}
	previous := present(f, of)
	if previous == "" {
		return record // there is nothing to renew yet
	}
	r := v1alpha1.RenewalStatus{Of: of, Token: token, Previous: previous, RequestedAt: metav1.NewTime(now)}
	if i < 0 {
		return append(record, r)
	}
	record[i] = r
	return record
}

// present is the fingerprint of what a renewal replaces.
func present(f observe.Facts, of string) string {
	if of == renewCA {
		return firstCertificate(f.SigningCA)
	}
	crt, _, _ := observe.PairOf(f.Issued)
	return firstCertificate(crt)
}

func firstCertificate(pemBytes []byte) string {
	if prints := pki.Fingerprints(pemBytes); len(prints) > 0 {
		return prints[0]
	}
	return ""
}

// comesFrom reports whether a CA is among what was issued: as a link of the chain, or as its end.
func comesFrom(issued *corev1.Secret, ca string) bool {
	crt, _, root := observe.PairOf(issued)
	return slices.Contains(pki.Fingerprints(crt), ca) || slices.Contains(pki.Fingerprints(root), ca)
}

// renew does what was recorded in an earlier pass, and is not done.
func (r *Reconciler) renew(ctx context.Context, f observe.Facts, now time.Time) error {
	if f.Cluster.Status.TLS == nil {
		return nil
	}
	for _, recorded := range f.Cluster.Status.TLS.Renewals {
		if recorded.CompletedAt != nil || present(f, recorded.Of) != recorded.Previous {
			continue
		}
		if recorded.Of == renewCA {
			return r.replaceCA(ctx, f.CAPair)
		}
		return issuing.Again(ctx, r, f.Certificate, now)
	}
	return nil
}

// replaceCA removes the private CA's pair: cert-manager makes another, with another key. Exactly the
// Secret that was seen goes, never its successor.
func (r *Reconciler) replaceCA(ctx context.Context, pair *corev1.Secret) error {
	if pair == nil {
		return nil
	}
	return client.IgnoreNotFound(r.Delete(ctx, pair,
		client.Preconditions{UID: &pair.UID, ResourceVersion: &pair.ResourceVersion}))
}
