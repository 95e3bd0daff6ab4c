package galeracluster

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/atrest"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/resources"
	"github.com/galera-operator/galera-operator/internal/status"
	"github.com/galera-operator/galera-operator/internal/validate"
)

var (
	encryptionRequired = prometheus.NewDesc("galera_operator_encryption_required",
		"Whether the policy in force asks for encryption of a channel.", append(perCluster, "channel"), nil)
	encryptionPartial = prometheus.NewDesc("galera_operator_encryption_partial",
		"Whether all that the policy asks for was proved, and the policy leaves a channel without TLS.", perCluster, nil)
	atRestRequired = prometheus.NewDesc("galera_operator_encryption_at_rest_required",
		"Whether the spec asks for encryption at rest.", perCluster, nil)
	keysUsable = prometheus.NewDesc("galera_operator_encryption_keys_usable",
		"Whether the Secret has the keys that the nodes need, with the same bytes, and each node can read its data with "+
			"those that it has; no series where none are needed.", perCluster, nil)
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

// collectAtRest exports what is asked for, and whether the nodes have the keys that they need to start.
func collectAtRest(send sender, in status.Input, reported v1alpha1.GaleraClusterStatus) {
	send(atRestRequired, flag(in.Facts.Cluster.AtRest() != nil))
	facts := in.Facts
	facts.Cluster = facts.Cluster.DeepCopy()
	facts.Cluster.Status.AtRest = reported.AtRest // of this pass
	if usable, known := secretUsable(facts); memberLacksKeys(in) {
		send(keysUsable, 0)
	} else if known {
		send(keysUsable, flag(usable))
	}
}

// memberLacksKeys reports whether a node refuses its volume for the keys that it has, or has none. The Secret may well
// be the right one by the status then: what is on the volume is of another cluster, or of another time.
func memberLacksKeys(in status.Input) bool {
	return slices.ContainsFunc(in.Snapshot.Members, func(m galera.Member) bool {
		return m.Failure != nil && m.Failure.Reason == agentapi.FailureKeys
	})
}

// secretUsable reports whether the Secret has the keys that are recorded; where none are, whether it has any. Not known
// while nodes need none, while it was not read, and while keys are being made or recorded.
func secretUsable(f observe.Facts) (usable, known bool) {
	c, k, needed := f.Cluster, f.Keys, resources.NeededKeys(f.Cluster)
	switch {
	case k == nil, needed == nil && c.AtRest() == nil:
		return false, false
	case !k.Exists || k.Problem != "":
		return false, !validate.MayMakeKeys(f)
	case needed == nil:
		return false, false
	}
	return atrest.Differ(needed, k.Fingerprints) == "", true
}
