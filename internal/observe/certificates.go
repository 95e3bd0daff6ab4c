package observe

import (
	"crypto/x509"
	"errors"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/pki"
	"github.com/galera-operator/galera-operator/internal/resources"
)

// PairOf returns the files of a Secret, nil where there are none.
func PairOf(s *corev1.Secret) (crt, key, ca []byte) {
	if s == nil {
		return nil, nil, nil
	}
	return s.Data[corev1.TLSCertKey], s.Data[corev1.TLSPrivateKeyKey], s.Data[resources.CAKey]
}

// Publication is the ID of what a Secret gives to the nodes, as their agents report it; "" without one.
func Publication(s *corev1.Secret) string {
	crt, key, ca := PairOf(s)
	if len(crt) == 0 {
		return ""
	}
	return pki.ID(crt, key, ca, s.Data[agentapi.ClientCAKey])
}

// staleCAs are the CAs a running server still trusts though they are not published any more. One that has
// expired is no matter: nothing verifies by it.
func staleCAs(f Facts, r agentapi.Report, now time.Time) []string {
	if f.Published == nil || r.TLS.Loaded == "" {
		return nil
	}
	_, _, ca := PairOf(f.Published)
	published := pki.Fingerprints(ca)
	return slices.DeleteFunc(slices.Clone(r.TLS.TrustedCAs), func(fp string) bool {
		return slices.Contains(published, fp) || recordedEnd(f.Cluster, fp, now).Before(now)
	})
}

// recordedEnd is the end of a CA as it was recorded while it was published; unknown is not over.
func recordedEnd(c *v1alpha1.GaleraCluster, fingerprint string, now time.Time) time.Time {
	if c.Status.TLS != nil {
		for _, t := range c.Status.TLS.TrustedCAs {
			if t.Fingerprint == fingerprint && t.NotAfter != nil {
				return t.NotAfter.Time
			}
		}
	}
	return now
}

// Certificates puts together what the choice of the pair to publish is made from. issued is the issuer's
// Secret, nil when there is none or when it was refused.
func Certificates(f Facts, issued *corev1.Secret, seen map[string]Seen, now time.Time) galera.Certificates {
	crt, key, ca := PairOf(f.Published)
	issuedCrt, _, issuedCA := PairOf(issued)
	cas := pki.Parse(slices.Concat(ca, []byte("\n"), issuedCA))
	out := galera.Certificates{
		Published: pairOf(crt, ca), Issued: pairOf(issuedCrt, issuedCA),
		Manual: f.Cluster.Spec.TLS.DropOldCA == v1alpha1.DropManual, MaxCAs: pki.MaxCAs,
	}
	if len(cas) > pki.MaxCAs {
		out.Published.Chain = pki.Chain(crt, pki.Parse(ca), now)
	}
	out.Published.Anchors, out.Issued.Anchors = pki.Anchors(crt, cas, now), pki.Anchors(issuedCrt, cas, now)
	var problem *pki.Problem
	_, err := pki.Check(crt, key, ca, nil, now)
	// One with too many CAs is no reason to present another leaf at once.
	out.Valid = err == nil || errors.As(err, &problem) && problem.Reason == pki.ReasonTooMany
	for _, c := range cas {
		if now.After(c.NotAfter) {
			out.Expired = append(out.Expired, pki.Fingerprint(c))
		}
	}
	out.Droppable = droppable(f.Cluster, cas)
	out.ClientsWait = clientsWait(f, out.Issued.Anchors, now)
	for i := range Size(f) {
		name := resources.PodName(f.Cluster, i)
		out.Members = append(out.Members, certificateUse(f, name, seen[name]))
	}
	if u, ok := arbitratorUse(f, seen); ok {
		out.Members = append(out.Members, u)
	}
	out.Members = append(out.Members, proxyUses(f, cas, out.Issued, now)...)
	return out
}

// clientsWait is how much longer clients have to read a CA by which the issued leaf verifies: from when it was first
// seen published for them, or from now. It ends before the published leaf does, also when nothing can be published for
// them.
func clientsWait(f Facts, anchors []string, now time.Time) time.Duration {
	delay := resources.ClientTrustDelay(f.Cluster)
	wait := delay
	for _, fp := range anchors {
		if since := PublishedToClients(f, fp); since != nil {
			wait = min(wait, delay-now.Sub(since.Time))
		}
	}
	if end := ReplacedBy(f); !end.IsZero() {
		wait = min(wait, end.Sub(now))
	}
	return max(0, min(delay, wait))
}

// replaceMargin is how long before its end a leaf is replaced at the latest; it is a tenth of a short life.
const replaceMargin = time.Hour

// ReplacedBy returns when the published leaf is replaced at the latest, whatever clients have read by then; zero when
// there is none.
func ReplacedBy(f Facts) time.Time {
	crt, _, _ := PairOf(f.Published)
	leaf := pki.Parse(crt)
	if len(leaf) == 0 {
		return time.Time{}
	}
	end := leaf[0].NotAfter
	return end.Add(-min(replaceMargin, end.Sub(leaf[0].NotBefore)/10))
}

// PublishedToClients is when a CA that clients can read now was first seen where they read it; nil if it is not there,
// or if that was not recorded yet. A time in the future, by another leader's clock, is as good as now.
func PublishedToClients(f Facts, fingerprint string) *metav1.Time {
	if f.ClientTrust == nil || f.Cluster.Status.TLS == nil ||
		!slices.Contains(pki.Fingerprints([]byte(f.ClientTrust.Data[resources.CAKey])), fingerprint) {
		return nil
	}
	for _, t := range f.Cluster.Status.TLS.TrustedCAs {
		if t.Fingerprint == fingerprint && t.State != v1alpha1.CADropped {
			return t.PublishedAt
		}
	}
	return nil
}

// MinFingerprint is how much of a fingerprint has to be given to name a CA.
const MinFingerprint = 16

// droppable reads the approval to drop CAs: fingerprints, or their beginnings.
func droppable(c *v1alpha1.GaleraCluster, cas []*x509.Certificate) []string {
	var out []string
	for _, want := range strings.Split(c.Annotations[v1alpha1.AnnotationDropCA], ",") {
		want = strings.ToLower(strings.TrimSpace(want))
		for _, ca := range cas {
			if fp := pki.Fingerprint(ca); len(want) >= MinFingerprint && strings.HasPrefix(fp, want) {
				out = append(out, fp)
			}
		}
	}
	return out
}

func pairOf(crt, ca []byte) galera.Pair {
	leaf := pki.Fingerprints(crt)
	if len(leaf) == 0 {
		return galera.Pair{}
	}
	return galera.Pair{Leaf: leaf[0], CAs: pki.Fingerprints(ca)}
}

func certificateUse(f Facts, name string, s Seen) galera.CertificateUse {
	u := galera.CertificateUse{Name: name}
	if f.Pods[name] == nil || !s.Live {
		return u
	}
	r, id := s.Report, Publication(f.Published)
	u.Loaded = tookOver(r, id)
	u.Serves = u.Loaded && (r.Server == nil && r.TLS.Loaded == "" || presents(r))
	return u
}

// tookOver reports whether a member's server was given exactly this publication, or will be when it starts. Of
// one that is being started it is not known yet what it has read.
func tookOver(r agentapi.Report, id string) bool {
	if r.TLS.Installed != id || r.TLS.Problem != "" {
		return false
	}
	return r.TLS.Loaded == id || r.TLS.Loaded == "" && r.Phase != galera.PhaseStarting &&
		r.Phase != galera.PhaseInitialising
}

// presents reports whether every channel that speaks TLS was seen presenting the loaded leaf.
func presents(r agentapi.Report) bool {
	if r.Server == nil {
		return false
	}
	for _, ch := range []string{agentapi.ChannelReplication, agentapi.ChannelClients} {
		fact, ok := r.TLS.Channels[ch]
		if !ok || fact.Observed == agentapi.ObservedUnknown || fact.Observed != agentapi.ObservedPlaintext &&
			fact.Serial != r.TLS.LoadedSerial {
			return false
		}
	}
	return true
}
