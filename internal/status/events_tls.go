package status

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

const actionRenew = "Renew"

// stepEvents are the messages for the steps of a CA's replacement.
var stepEvents = map[string]string{
	"DistributingTrust":    "a new CA was issued; all nodes load it alongside the old one",
	"RotatingCertificates": "all nodes trust the new CA; a certificate of it is published",
	"AwaitingApproval": "all nodes present the new certificate; the old CA stays trusted until you approve its " +
		"removal",
	"RemovingOldCA": "the old CA is no longer published; nodes are restarted one at a time to drop it",
	"Settled":       "no node trusts the old CA any more",
}

// certificateEvents reports changes of certificates.
func certificateEvents(before, after *v1alpha1.ClusterTLSStatus) []Event {
	if before == nil || after == nil {
		return nil
	}
	var out []Event
	add := func(reason, message string) {
		out = append(out, Event{corev1.EventTypeNormal, reason, actionRenew, message})
	}
	if after.Serial != before.Serial && before.Serial != "" {
		add("CertificatePublished", fmt.Sprintf("certificate %s is published to the nodes and replaces %s", after.Serial,
			before.Serial))
	}
	if after.Step != before.Step && before.Step != "" && stepEvents[after.Step] != "" {
		add("CA"+after.Step, stepEvents[after.Step])
	}
	for _, r := range after.Renewals {
		i := slices.IndexFunc(before.Renewals, func(o v1alpha1.RenewalStatus) bool {
			return o.Of == r.Of &&
				o.Token == r.Token
		})
		switch {
		case i < 0:
			add("RenewalRequested", fmt.Sprintf("a new certificate was requested (%s@%s)", r.Of, r.Token))
		case r.CompletedAt != nil && before.Renewals[i].CompletedAt == nil:
			add("Renewed", fmt.Sprintf("the new certificate was issued (%s@%s)", r.Of, r.Token))
		}
	}
	return out
}
