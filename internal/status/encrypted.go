package status

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// evidenceLasts is how long a check counts; agents check every half minute.
const evidenceLasts = 3 * time.Minute

// condition of a condition.
type condition struct {
	status  metav1.ConditionStatus
	reason  string
	message string
}

func yes(reason, message string) condition { return condition{metav1.ConditionTrue, reason, message} }
func no(reason, message string) condition  { return condition{metav1.ConditionFalse, reason, message} }
func unknown(reason, message string) condition {
	return condition{metav1.ConditionUnknown, reason, message}
}
func unproved(message string) condition { return unknown(v1alpha1.ReasonNotYetProved, message) }

// encrypted is True when every channel was proved to carry TLS only, by evidence; with a policy that leaves some of
// them without, it is False and names them.
func encrypted(in Input, proof condition) condition {
	plain := plaintextChannels(in.Config.TLS)
	if len(plain) == 0 || proof.status != metav1.ConditionTrue {
		return proof
	}
	return no(v1alpha1.ReasonPartlyEncrypted, "the policy leaves connections without TLS: "+strings.Join(plain, ", ")+"; "+
		proof.message)
}

// plaintextChannels names the channels that carry, or accept, plaintext by the policy in force.
func plaintextChannels(t agentapi.TLSConfig) []string {
	var out []string
	if t.Replication == galera.SocketPlain {
		out = append(out, agentapi.ChannelReplication+" ("+v1alpha1.TLSDisabled+")")
	}
	if t.StateTransfer != galera.PolicyRequired {
		out = append(out, agentapi.ChannelStateTransfer+" ("+v1alpha1.TLSDisabled+")")
	}
	switch t.Clients {
	case galera.PolicyRequired:
	case galera.PolicyPreferred:
		out = append(out, agentapi.ChannelClients+" ("+v1alpha1.TLSPreferred+" accepts both)")
	default:
		out = append(out, agentapi.ChannelClients+" ("+v1alpha1.TLSDisabled+")")
	}
	return out
}

// inAWord is the condition Encrypted for a column.
func inAWord(enc condition) string {
	if enc.reason == v1alpha1.ReasonPartlyEncrypted {
		return v1alpha1.EncryptedPartly
	}
	return string(enc.status)
}

// proved is whether the policy was observed to be in force: True only by evidence, at most evidenceLasts old.
// Replication and client connections of every node, if required, were dialled, used TLS with a certificate of the
// trusted CA, and refused plaintext, and no client session is left from before it was; with strict sockets each node
// verified every other one, and the arbitrator likewise. The proxies have proved their channels. SST is never dialled:
// the configuration of its scripts must require TLS. CertificatesValid reports whether the certificates are the newest.
func proved(in Input) condition {
	tls := in.Config.TLS
	required := RequiredChannels(tls)
	if len(required) == 0 {
		return no(v1alpha1.ReasonDisabled, "spec.tls requires encryption on no channel")
	}
	if tls.Replication == galera.SocketDynamic {
		return no(v1alpha1.ReasonSwitching,
			"replication is being switched: with dynamic sockets, connections may be unencrypted")
	}
	proof := ""
	for _, m := range in.Snapshot.Members {
		r := in.report(m.Name)
		if r == nil || m.Server == nil {
			return unproved("waiting for evidence from " + m.Name)
		}
		for _, ch := range required {
			if v, ok := judgeChannel(in, m.Name, ch, r); !ok {
				return v
			}
		}
		if v, ok := judgePeers(in, m.Name, r); !ok {
			return v
		}
		if f := r.TLS.Channels[required[0]]; proof == "" && f.Protocol != "" {
			proof = fmt.Sprintf(" (%s %s)", f.Protocol, f.Cipher)
		}
	}
	for _, others := range []func(Input) (condition, bool){arbitratorEncrypted, proxiesEncrypted} {
		if v, ok := others(in); !ok {
			return v
		}
	}
	return yes(v1alpha1.ReasonProved, fmt.Sprintf(
		"observed %s%s%s: %s encrypted with the cluster's certificate%s, plaintext refused",
		galera.OnAllNodes(len(in.Snapshot.Members)), arbitratorSuffix(in), proxiesSuffix(in), list(required),
		proof))
}

// RequiredChannels are the channels that Encrypted asks for: those whose policy is Required, and replication unless its
// sockets are plain.
func RequiredChannels(t agentapi.TLSConfig) []string {
	var out []string
	if t.Replication != galera.SocketPlain {
		out = append(out, agentapi.ChannelReplication)
	}
	if t.StateTransfer == galera.PolicyRequired {
		out = append(out, agentapi.ChannelStateTransfer)
	}
	if t.Clients == galera.PolicyRequired {
		out = append(out, agentapi.ChannelClients)
	}
	return out
}

// judgeChannel explains why one channel of one member does not count as encrypted. ok is true if it does.
func judgeChannel(in Input, member, channel string, r *agentapi.Report) (condition, bool) {
	f, ok := r.TLS.Channels[channel]
	if !ok || in.Now.Sub(f.CheckedAt) > evidenceLasts || f.Observed == agentapi.ObservedUnknown {
		return unproved(fmt.Sprintf("%s: no fresh evidence for %s%s", member, channel, because(f.Problem))), false
	}
	switch {
	case f.Observed != agentapi.ObservedTLS:
		return no(v1alpha1.ReasonPlaintextAccepted, fmt.Sprintf("%s: %s accepts plaintext%s", member, channel,
			because(f.Problem))), false
	case channel == agentapi.ChannelStateTransfer:
		// It listens only during an SST: the agent judges what the scripts are configured to enforce.
		return condition{}, true
	case f.PlaintextSessions > 0:
		return no(v1alpha1.ReasonPlaintextSessions, member+because(f.Problem)), false
	case !f.PlaintextRefused:
		return unproved(fmt.Sprintf("%s: waiting for the proof that %s refuses plaintext%s", member, channel,
			because(f.Problem))), false
	case !f.Verified:
		return no(v1alpha1.ReasonPeerUnverified, fmt.Sprintf("%s: the certificate on %s is not trusted%s", member, channel,
			because(f.Problem))), false
	}
	return condition{}, true
}

// judgePeers requires this member's handshakes with the others: a node cannot prove its own encryption alone.
func judgePeers(in Input, member string, r *agentapi.Report) (condition, bool) {
	if in.Config.TLS.Replication != galera.SocketStrict {
		return condition{}, true
	}
	for _, peer := range in.Snapshot.Members {
		if peer.Name == member {
			continue
		}
		if v, ok := judgePeer(r, member, peer.Name); !ok {
			return v, false
		}
	}
	return condition{}, true
}

func judgePeer(r *agentapi.Report, member, peer string) (condition, bool) {
	f, ok := r.TLS.Peers[peer]
	if !ok || f.Observed == agentapi.ObservedUnknown {
		return unproved(fmt.Sprintf("%s has not verified %s yet%s", member, peer, because(f.Problem))), false
	}
	if f.Observed != agentapi.ObservedTLS || !f.Verified {
		return no(v1alpha1.ReasonPeerUnverified, fmt.Sprintf("%s could not verify %s on the replication port%s", member, peer,
			because(f.Problem))), false
	}
	return condition{}, true
}

func because(problem string) string {
	if problem == "" {
		return ""
	}
	return ": " + problem
}
