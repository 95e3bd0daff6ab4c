package galeracluster

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/atrest"
	"github.com/galera-operator/galera-operator/internal/resources"
	"github.com/galera-operator/galera-operator/internal/status"
)

var (
	encryptionRequired = prometheus.NewDesc("galera_operator_encryption_required",
		"Whether the policy in force asks for encryption of a channel.", append(perCluster, "channel"), nil)
	encryptionPartial = prometheus.NewDesc("galera_operator_encryption_partial",
		"Whether all that the policy asks for was proved, and the policy leaves a channel without TLS.", perCluster, nil)
	atRestRequired = prometheus.NewDesc("galera_operator_encryption_at_rest_required",
		"Whether the spec asks for encryption at rest.", perCluster, nil)
	keysUsable = prometheus.NewDesc("galera_operator_encryption_keys_usable",
		"Whether the Secret has the keys that the nodes need, with the same bytes; no series where they need none.",
		perCluster, nil)
	certificateRenewal = prometheus.NewDesc("galera_operator_certificate_renewal_timestamp_seconds",
		"When cert-manager is, or was, to renew the published leaf, in seconds since 1970.", perCluster, nil)
)

// collectTLS exports what is asked for, against which the observed can be judged.
func collectTLS(send sender, in status.Input, reported v1alpha1.GaleraClusterStatus) {
	if in.Config.TLS.Replication != "" { // something is published
		required := status.RequiredChannels(in.Config.TLS)
		for _, channel := range []string{agentapi.ChannelReplication, agentapi.ChannelStateTransfer,
			agentapi.ChannelClients} {
			send(encryptionRequired, flag(slices.Contains(required, channel)), channel)
		}
	}
	if tls := reported.TLS; tls != nil && tls.Encrypted != "" {
		send(encryptionPartial, flag(tls.Encrypted == v1alpha1.EncryptedPartly))
	}
	if tls := reported.TLS; tls != nil && tls.RenewalTime != nil {
		send(certificateRenewal, float64(tls.RenewalTime.Unix()))
	}
}

// collectAtRest exports what is asked for, and whether the Secret still has the keys that nodes need to start.
func collectAtRest(send sender, in status.Input, reported v1alpha1.GaleraClusterStatus) {
	c := in.Facts.Cluster
	send(atRestRequired, flag(c.AtRest() != nil))
	recorded := c.DeepCopy()
	recorded.Status.AtRest = reported.AtRest // of this pass
	if needed, k := resources.NeededKeys(recorded), in.Facts.Keys; needed != nil && k != nil {
		send(keysUsable, flag(k.Exists && k.Problem == "" && atrest.Differ(needed, k.Fingerprints) == ""))
	}
}
