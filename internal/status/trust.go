package status

import (
	"crypto/x509"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/pki"
	"github.com/galera-operator/galera-operator/internal/plan"
	"github.com/galera-operator/galera-operator/internal/resources"
	"github.com/galera-operator/galera-operator/internal/validate"
)

// stepRemovingOldCA follows the planner's steps: the old CA is no longer published, and nodes are restarted.
const stepRemovingOldCA = "RemovingOldCA"

// trustedCAs are the published CAs, and those that a running node still trusts, or may still trust: what was recorded
// stays until every node that may run has reported that it is without.
func trustedCAs(in Input) []v1alpha1.TrustedCA {
	if in.Published == nil {
		return nil
	}
	var out []v1alpha1.TrustedCA
	for _, c := range in.Published.CAs {
		state := v1alpha1.CACurrent
		if slices.Contains(in.Published.Choice.Old, pki.Fingerprint(c)) {
			state = v1alpha1.CAOld
		}
		t := describeCA(c, state)
		t.PublishedAt = publishedAt(in, t.Fingerprint)
		out = append(out, t)
	}
	for _, m := range in.Snapshot.Members {
		r := in.report(m.Name)
		if r == nil || r.TLS.Loaded == "" {
			continue
		}
		for _, fp := range r.TLS.TrustedCAs {
			if !slices.ContainsFunc(out, func(t v1alpha1.TrustedCA) bool { return t.Fingerprint == fp }) {
				out = append(out, remembered(in, fp))
			}
		}
	}
	if tls := in.cluster().Status.TLS; tls != nil && len(unseen(in)) > 0 {
		for _, t := range tls.TrustedCAs {
			if !slices.ContainsFunc(out, func(o v1alpha1.TrustedCA) bool { return o.Fingerprint == t.Fingerprint }) {
				out = append(out, remembered(in, t.Fingerprint))
			}
		}
	}
	return out[:min(len(out), maxTrusted)]
}

// maxTrusted is the limit of status.tls.trustedCAs. The published ones come first.
const maxTrusted = 32

// publishedAt is when a CA was first seen in NAME-ca: as recorded, or now.
func publishedAt(in Input, fingerprint string) *metav1.Time {
	cm := in.Facts.ClientTrust
	if cm == nil || !slices.Contains(pki.Fingerprints([]byte(cm.Data[resources.CAKey])), fingerprint) {
		return nil
	}
	if at := observe.PublishedToClients(in.Facts, fingerprint); at != nil && !at.After(in.Now) {
		return at
	}
	return timeOf(&in.Now)
}

// servedAfter is the earliest time at which a certificate of the new CA is presented, nil when nothing waits for
// clients.
func servedAfter(in Input) *metav1.Time {
	if in.Published.Choice.ClientsWait <= 0 {
		return nil
	}
	var at *metav1.Time
	delay, latest := resources.ClientTrustDelay(in.cluster()), observe.ReplacedBy(in.Facts)
	for _, t := range trustedCAs(in) {
		if t.State == v1alpha1.CAOld || t.PublishedAt == nil {
			continue
		}
		until := t.PublishedAt.Add(delay)
		if !latest.IsZero() && latest.Before(until) {
			until = latest
		}
		if until.After(in.Now) {
			at = timeOf(&until)
		}
	}
	return at
}

func describeCA(c *x509.Certificate, state string) v1alpha1.TrustedCA {
	return v1alpha1.TrustedCA{Fingerprint: pki.Fingerprint(c), Subject: clip(c.Subject.String(), 512),
		NotAfter: timeOf(&c.NotAfter), State: state}
}

// remembered returns the record of a CA from the time when it was published.
func remembered(in Input, fingerprint string) v1alpha1.TrustedCA {
	t := v1alpha1.TrustedCA{Fingerprint: fingerprint}
	if tls := in.cluster().Status.TLS; tls != nil {
		if i := slices.IndexFunc(tls.TrustedCAs,
			func(t v1alpha1.TrustedCA) bool { return t.Fingerprint == fingerprint }); i >= 0 {
			t = tls.TrustedCAs[i]
		}
	}
	t.State = v1alpha1.CADropped
	return t
}

// trustStep is how far a replacement of the CA has got.
func trustStep(in Input) string {
	if in.Published == nil {
		return ""
	}
	step := string(in.Published.Choice.Step)
	if step == string(plan.StepSettled) && (slices.ContainsFunc(in.Snapshot.Members, stale) || mayTrustOld(in)) {
		return stepRemovingOldCA
	}
	return step
}

// mayTrustOld reports whether a node that does not answer may still trust a CA that was dropped. An expired one is no
// matter.
func mayTrustOld(in Input) bool {
	return len(unseen(in)) > 0 && slices.ContainsFunc(trustedCAs(in), func(t v1alpha1.TrustedCA) bool {
		return t.State == v1alpha1.CADropped && (t.NotAfter == nil || !t.NotAfter.Time.Before(in.Now))
	})
}

// unseen are the nodes that may run, of which it is not known now what they present and trust.
func unseen(in Input) []string {
	var out []string
	for _, m := range in.Snapshot.Members {
		if m.Pod.Exists && in.report(m.Name) == nil {
			out = append(out, m.Name)
		}
	}
	return out
}

// oldTrust reports whether an old CA is still trusted, and what happens next; "" when none is.
func oldTrust(in Input) string {
	choice := in.Published.Choice
	switch trustStep(in) {
	case string(plan.StepDistributingTrust):
		text := "the CA is being replaced: waiting for every node to trust the new one" + waitingFor(choice.Waiting)
		if len(choice.Waiting) == 0 && choice.ClientsWait > 0 {
			text = "the CA is being replaced: every node trusts the new one"
		}
		if at := servedAfter(in); at != nil {
			text += fmt.Sprintf("; clients have until %s to read it from the ConfigMap %s and their binding Secrets",
				at.UTC().Format(time.TimeOnly), resources.CAConfigMapName(in.cluster()))
		}
		return text
	case string(plan.StepRotatingCertificates):
		if len(choice.Old) == 0 {
			return ""
		}
		return fmt.Sprintf(
			"the CA is being replaced: %s still trusted; waiting for every node to present a certificate of the new one%s",
			areTrusted(in, v1alpha1.CAOld), waitingFor(choice.Waiting))
	case string(plan.StepAwaitingApproval):
		return fmt.Sprintf("the CA was replaced, and %s still trusted, because spec.tls.dropOldCA is Manual. To "+
			"remove it, and restart the nodes one at a time, "+
			"set the annotation %s", areTrusted(in, v1alpha1.CAOld), v1alpha1.AnnotationDropCA)
	case stepRemovingOldCA:
		if !slices.ContainsFunc(in.Snapshot.Members, stale) {
			return "" // it is not known
		}
		return fmt.Sprintf("the CA was replaced, and %s still trusted by %s until its next restart",
			areTrusted(in, v1alpha1.CADropped), list(staleMembers(in)))
	}
	return ""
}

// dropOldCA is what a replacement of the CA waits for with spec.tls.dropOldCA: Manual; nil when it does not.
func dropOldCA(in Input) *validate.Problem {
	if in.Published == nil || trustStep(in) != string(plan.StepAwaitingApproval) {
		return nil
	}
	return &validate.Problem{Reason: v1alpha1.ReasonOldCATrusted, Message: oldTrust(in),
		Command: dropCommand(in.cluster(), in.Published.Choice)}
}

// dropCommand approves the removal of all old CAs.
func dropCommand(c *v1alpha1.GaleraCluster, p plan.Publication) string {
	return kubectl("annotate", "--overwrite", "-n", c.Namespace, "galeracluster", c.Name,
		v1alpha1.AnnotationDropCA+"="+strings.Join(p.Old, ","))
}

// TooManyCAs explains why the issued pair is held back although it is valid, nil when it is not: with its CAs there
// would be more than the agents take.
func TooManyCAs(c *v1alpha1.GaleraCluster, p plan.Publication) *validate.Problem {
	if p.TooMany == 0 {
		return nil
	}
	text := fmt.Sprintf("the certificate in the Secret %q is not published to the nodes (%s): with its CAs they would "+
		"trust %d, and they take no more than %d", resources.IssuedSecretName(c), pki.ReasonTooMany, p.TooMany, pki.MaxCAs)
	switch {
	case p.Step == plan.StepAwaitingApproval:
		return &validate.Problem{Reason: v1alpha1.ReasonCertificateRefused, Blocked: true, Command: dropCommand(c, p),
			Message: text + "; drop old CAs first: name them in the annotation " + v1alpha1.AnnotationDropCA}
	case len(p.Old) > 0:
		return passing(v1alpha1.ReasonCertificateRefused, text+"; old CAs are dropped first, which waits for every node to "+
			"present the published certificate"+waitingFor(p.Waiting))
	}
	return blocking(v1alpha1.ReasonCertificateRefused, text+"; no CA can be dropped: let the issuer give only the CAs "+
		"that its certificate needs")
}

// areTrusted names the CAs in a state, with the verb.
func areTrusted(in Input, state string) string {
	var out []string
	for _, t := range trustedCAs(in) {
		if t.State == state {
			out = append(out, fmt.Sprintf("%s (%s)", t.Subject, t.Fingerprint[:min(16, len(t.Fingerprint))]))
		}
	}
	if len(out) == 1 {
		return "the old CA " + out[0] + " is"
	}
	return "the old CAs " + list(out) + " are"
}

func waitingFor(members []string) string {
	if len(members) == 0 {
		return ""
	}
	return " (" + list(members) + ")"
}

func stale(m galera.Member) bool { return m.StaleTrust }

func staleMembers(in Input) []string {
	var out []string
	for _, m := range in.Snapshot.Members {
		if stale(m) {
			out = append(out, m.Name)
		}
	}
	return out
}
