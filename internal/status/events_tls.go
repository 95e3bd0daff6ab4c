package status

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

const actionRenew = "Renew"

// stepEvents say what a step of the replacement of a CA means.
var stepEvents = map[string]string{
	"DistributingTrust":    "a new CA was issued: all nodes are made to trust it beside the old one",
	"RotatingCertificates": "all nodes trust the new CA: its certificate is published",
	"AwaitingApproval":     "all nodes present the new certificate; the old CA waits to be dropped by hand",
	"RemovingOldCA":        "the old CA is published no more: nodes are restarted one by one to forget it",
	"Settled":              "the old CA is trusted by no node any more",
}

// certificateEvents tell what became of certificates.
func certificateEvents(before, after *v1alpha1.ClusterTLSStatus) []Event {
	if before == nil || after == nil {
		return nil
	}
	var out []Event
	tell := func(reason, message string) {
		out = append(out, Event{corev1.EventTypeNormal, reason, actionRenew, message})
	}
	if after.Serial != before.Serial && before.Serial != "" {
		tell("CertificatePublished", fmt.Sprintf("certificate %s is given to the nodes instead of %s", after.Serial, before.Serial))
	}
	if after.Step != before.Step && before.Step != "" && stepEvents[after.Step] != "" {
		tell("CA"+after.Step, stepEvents[after.Step])
	}
	for _, r := range after.Renewals {
		i := slices.IndexFunc(before.Renewals, func(o v1alpha1.RenewalStatus) bool { return o.Of == r.Of && o.Token == r.Token })
		switch {
		case i < 0:
			tell("RenewalRequested", fmt.Sprintf("a new certificate is asked for (%s@%s)", r.Of, r.Token))
		case r.CompletedAt != nil && before.Renewals[i].CompletedAt == nil:
			tell("Renewed", fmt.Sprintf("the new certificate is there (%s@%s)", r.Of, r.Token))
		}
	}
	return out
}
