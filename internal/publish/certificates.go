package publish

import (
	"cmp"
	"crypto/x509"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/pki"
	"github.com/galera-operator/galera-operator/internal/plan"
	"github.com/galera-operator/galera-operator/internal/resources"
	"github.com/galera-operator/galera-operator/internal/status"
	"github.com/galera-operator/galera-operator/internal/validate"
)

// tlsResult are the objects that carry certificates, and what is reported of them.
type tlsResult struct {
	objects []client.Object
	pair    *status.PublishedPair
	refused *validate.Problem // why the issued pair is held back
}

// tls publishes the pair and the CAs that the planner chooses, from the published pair and the
// issued one. An invalid pair is never published.
func (pub Publisher) tls(f observe.Facts, seen map[string]observe.Seen, now time.Time) (out tlsResult,
	err error) {
	controlCA, err := pub.ControlCA()
	if err != nil {
		return out, fmt.Errorf("reading the operator's own certificate: %w", err)
	}
	issued, problem := f.Issued, validate.Certificate(f, now)
	if problem != nil {
		issued = nil
	}
	if problem != nil && problem.Reason != v1alpha1.ReasonCertificateExpired {
		// of an expired one, which the nodes have, the date is enough
		out.refused = problem
	}
	if f.Cluster.Paused() {
		issued = nil // nothing else is published
	}
	choice := plan.Publish(observe.Certificates(f, issued, seen, now))
	out.refused = cmp.Or(out.refused, status.TooManyCAs(f.Cluster, choice))
	from := f.Published
	if choice.Issued {
		from = issued
	}
	crt, key, _ := observe.PairOf(from)
	if crt == nil {
		return out, nil
	}
	cas := bundle(choice.CAs, f.Published, issued)
	if f.Cluster.Paused() {
		_, _, cas = observe.PairOf(f.Published)
	}
	out.pair = &status.PublishedPair{Choice: choice, CAs: pki.Parse(cas)}
	if leaf := pki.Parse(crt); len(leaf) > 0 {
		pair := pki.Pair{Leaf: leaf[0]}
		out.pair.Serial, out.pair.Key, out.pair.NotAfter = pair.Serial(), pair.Key(), leaf[0].NotAfter
	}
	_, _, clientCA := observe.PairOf(f.ClientCA)
	secret := resources.PublishedTLS(f.Cluster, crt, key, cas, controlCA, clientCA)
	if f.Published != nil {
		// What was chosen from an old state is never published over a newer one.
		secret.ResourceVersion = f.Published.ResourceVersion
	}
	out.objects = []client.Object{secret, resources.CAConfigMap(f.Cluster, cas)}
	return out, nil
}

// bundle makes ca.crt from the fingerprints that were chosen.
func bundle(chosen []string, secrets ...*corev1.Secret) []byte {
	var known []*x509.Certificate
	for _, s := range secrets {
		_, _, ca := observe.PairOf(s)
		known = append(known, pki.Parse(ca)...)
	}
	var out []*x509.Certificate
	for _, fp := range chosen {
		if i := slices.IndexFunc(known, func(c *x509.Certificate) bool { return pki.Fingerprint(c) == fp }); i >= 0 {
			out = append(out, known[i])
		}
	}
	return pki.Encode(out)
}
