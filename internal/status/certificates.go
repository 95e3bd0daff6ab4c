package status

import (
	"fmt"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// certificatesValid is True when the published pair is valid, and every node that runs reports that it presents it and
// trusts no other CA. Nothing is known of one that does not answer.
func certificatesValid(in Input) condition {
	if p := issuer(in); p != nil {
		return no(p.Reason, p.Message)
	}
	if p := certificate(in); p != nil {
		return no(p.Reason, p.Message)
	}
	for _, m := range in.Snapshot.Members {
		r := in.report(m.Name)
		if r == nil || r.Server == nil {
			continue
		}
		if r.TLS.Problem != "" {
			return no(v1alpha1.ReasonCertificateRefused, m.Name+" does not load the published certificate: "+r.TLS.Problem)
		}
	}
	if why := oldTrust(in); why != "" {
		return no(v1alpha1.ReasonOldCATrusted, why)
	}
	for _, m := range in.Snapshot.Members {
		if r := in.report(m.Name); r != nil && r.Server != nil && r.TLS.LoadedSerial != "" &&
			r.TLS.LoadedSerial != in.Published.Serial {
			return no(v1alpha1.ReasonCertificateNotLoaded,
				fmt.Sprintf("%s still presents certificate %s; the published one is %s",
					m.Name, r.TLS.LoadedSerial, in.Published.Serial))
		}
	}
	if v, ok := arbitratorCertificate(in); !ok {
		return v
	}
	if why := unproven(in); why != "" {
		return unproved(why)
	}
	return yes(v1alpha1.ReasonHealthy, fmt.Sprintf("certificate %s is valid until %s",
		in.Published.Serial, in.Published.NotAfter.UTC().Format("2006-01-02 15:04:05"))+sharedIssuerHint(in))
}

// unproven names who does not answer, and so may present an earlier certificate; "" when all do.
func unproven(in Input) string {
	silent := unseen(in)
	if a := in.Snapshot.Arbitrator; a != nil && a.Pod.Exists && in.report(a.Name) == nil {
		silent = append(silent, a.Name)
	}
	if len(silent) == 0 {
		return ""
	}
	text := "waiting for evidence from " + list(silent)
	if mayTrustOld(in) {
		text += ": a CA that was dropped may still be trusted there, see status.tls.trustedCAs"
	}
	return text
}

// sharedIssuerHint warns of an issuer that others may use: Galera does not check names.
func sharedIssuerHint(in Input) string {
	if in.cluster().Spec.TLS.IssuerRef == nil {
		return ""
	}
	return "; note that Galera checks only the CA of a certificate: the holder of any certificate of this issuer can " +
		"join the group, so use an issuer for this cluster only"
}
