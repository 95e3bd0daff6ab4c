package metrics

import (
	"maps"
	"slices"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// certificateFamilies are about the certificates the running server has been given.
var certificateFamilies = []Family{
	{"galera_certificate_expiration_timestamp_seconds",
		"End of validity of the loaded certificate, in seconds since 1970.", gauge, nil, func(f Facts, send send) {
			if end := f.Report.TLS.LoadedNotAfter; end != nil {
				send(unix(*end))
			}
		}},
	{"galera_certificate_reloads_total", "Certificates loaded into the running server since the agent started.", counter,
		nil, func(f Facts, send send) {
			send(float64(f.Report.TLS.Reloads))
		}},
	{"galera_trusted_cas",
		"CA certificates the running server trusts, by whether they are still published. Galera drops one at a restart only.",
		gauge, []string{"published"}, func(f Facts, send send) {
			published := 0
			for _, ca := range f.Report.TLS.TrustedCAs {
				if slices.Contains(f.Report.TLS.PublishedCAs, ca) {
					published++
				}
			}
			send(float64(published), "true")
			send(float64(len(f.Report.TLS.TrustedCAs)-published), "false")
		}},
}

// channelFamily is one metric of each channel whose encryption was checked.
func channelFamily(name, help string, labels []string, of func(fact agentapi.ChannelFact, send send)) Family {
	return Family{name, help, gauge, append([]string{"channel"}, labels...), func(f Facts, each send) {
		for _, channel := range slices.Sorted(maps.Keys(f.Report.TLS.Channels)) {
			of(f.Report.TLS.Channels[channel], func(value float64,
				labels ...string) {
				each(value, append([]string{channel}, labels...)...)
			})
		}
	}}
}

// proofFamilies are what was observed of the encryption.
var proofFamilies = []Family{
	channelFamily("galera_channel_encrypted", "Whether only TLS was observed on the channel.", nil,
		func(fact agentapi.ChannelFact, send send) {
			send(flag(fact.Observed == agentapi.ObservedTLS))
		}),
	channelFamily("galera_channel_plaintext_accepted",
		"Whether a connection without TLS was accepted; no series while that is not known.", nil,
		func(fact agentapi.ChannelFact, send send) {
			if fact.Observed != agentapi.ObservedUnknown {
				send(flag(fact.Observed != agentapi.ObservedTLS))
			}
		}),
	channelFamily("galera_channel_info", "TLS version and cipher suite observed last.", []string{"protocol", "cipher"},
		func(fact agentapi.ChannelFact, send send) {
			if fact.Protocol != "" {
				send(1, fact.Protocol, fact.Cipher)
			}
		}),
	channelFamily("galera_channel_checked_timestamp_seconds", "When the channel was last checked, in seconds since 1970.",
		nil, func(fact agentapi.ChannelFact, send send) {
			if !fact.CheckedAt.IsZero() {
				send(unix(fact.CheckedAt))
			}
		}),
}

// peerFamilies are what the node saw when it dialled the others.
var peerFamilies = []Family{
	{"galera_peer_encrypted",
		"Whether only TLS was observed on port 4567 of another node; no series while that is not known.", gauge,
		[]string{"peer"}, func(f Facts, send send) {
			for _, peer := range slices.Sorted(maps.Keys(f.Report.TLS.Peers)) {
				if fact := f.Report.TLS.Peers[peer]; fact.Observed != agentapi.ObservedUnknown {
					send(flag(fact.Observed == agentapi.ObservedTLS), peer)
				}
			}
		}},
}
