package galeracluster

import (
	"bytes"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/conditions"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/pki"
	"github.com/galera-operator/galera-operator/internal/plan"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// publishTLS gives the nodes what the planner chooses from the pair they have and the pair that was
// issued; a bad one never reaches them.
func (r *Reconciler) publishTLS(in *conditions.Input) ([]client.Object, error) {
	controlCA, err := r.ControlCA()
	if err != nil {
		return nil, fmt.Errorf("reading the operator's own certificate: %w", err)
	}
	issued, problem := in.Facts.Issued, judge(*in)
	if problem != nil {
		issued, in.Refused = nil, problem
	}
	if problem != nil && problem.Reason == v1alpha1.ReasonCertificateExpired {
		in.Refused = nil // it is what the nodes have: the date says it all
	}
	if in.Facts.Cluster.Paused() {
		issued = nil // nothing else is published
	}
	choice := plan.Publish(observe.Certificates(in.Facts, issued, in.Seen, in.Now))
	from := in.Facts.Published
	if choice.Issued {
		from = issued
	}
	crt, key, _ := observe.PairOf(from)
	if crt == nil {
		return nil, nil
	}
	cas := bundle(choice.CAs, in.Facts.Published, issued)
	if in.Facts.Cluster.Paused() {
		_, _, cas = observe.PairOf(in.Facts.Published)
	}
	in.Published = &conditions.PublishedPair{Choice: choice, CAs: pki.Parse(cas)}
	if leaf := pki.Parse(crt); len(leaf) > 0 {
		pair := pki.Pair{Leaf: leaf[0]}
		in.Published.Serial, in.Published.Key, in.Published.NotAfter = pair.Serial(), pair.Key(), leaf[0].NotAfter
	}
	_, _, clientCA := observe.PairOf(in.Facts.ClientCA)
	secret := resources.PublishedTLS(in.Facts.Cluster, crt, key, cas, controlCA, clientCA)
	if in.Facts.Published != nil {
		// What was chosen from an old state is never published over a newer one.
		secret.ResourceVersion = in.Facts.Published.ResourceVersion
	}
	return append(clientSecrets(in, cas), secret, resources.CAConfigMap(in.Facts.Cluster, cas)), nil
}

// clientSecrets gives clients their pairs together with what verifies the servers, which the Secrets
// cert-manager writes do not hold: the two CAs are not the same. A name that the cluster needs itself is refused by
// the API; a spec from before that rule is told.
func clientSecrets(in *conditions.Input, serverCA []byte) []client.Object {
	f := in.Facts
	var out []client.Object
	for _, spec := range f.Cluster.Spec.TLS.ClientCertificates {
		if name := resources.ClientSecretName(f.Cluster, spec); resources.ReservedSecret(f.Cluster, name) {
			in.Failed = &conditions.Problem{Reason: v1alpha1.ReasonNameConflict, Blocked: true, Message: fmt.Sprintf(
				"the client certificate %q asks for the Secret %q, which the cluster needs itself; choose another secretName", spec.Name, name)}
			continue
		}
		if crt, key, _ := observe.PairOf(f.Clients[spec.Name]); len(crt) > 0 && len(key) > 0 {
			out = append(out, resources.ClientSecret(f.Cluster, spec, crt, key, serverCA))
		}
	}
	return out
}

// judge says why the issued pair may not reach the nodes, nil when it may.
func judge(in conditions.Input) *conditions.Problem {
	if in.Facts.Issued == nil {
		return nil
	}
	crt, key, ca := observe.PairOf(in.Facts.Issued)
	_, err := pki.Check(crt, key, ca, requiredNames(in.Facts.Cluster), in.Now)
	var problem *pki.Problem
	if !errors.As(err, &problem) {
		return nil
	}
	if before, _, _ := observe.PairOf(in.Facts.Published); problem.Reason == pki.ReasonExpired && bytes.Equal(before, crt) {
		return &conditions.Problem{Reason: v1alpha1.ReasonCertificateExpired}
	}
	return &conditions.Problem{Reason: v1alpha1.ReasonCertificateRefused, Blocked: true, Message: fmt.Sprintf(
		"the certificate in the Secret %q is not given to the nodes (%s): %s", in.Facts.Issued.Name, problem.Reason, problem.Message)}
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

// requiredNames are names the certificate must carry: the agents are called by them.
func requiredNames(c *v1alpha1.GaleraCluster) []string {
	return []string{serverName(c, resources.PodName(c, 0)), resources.ServiceName(c)}
}
