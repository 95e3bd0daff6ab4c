package experiment

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s.io/apimachinery/pkg/api/meta"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
)

// Settled explains why a cluster is not yet what its spec asks for, "" when it is.
func Settled(c *v1alpha1.GaleraCluster) string {
	ready := meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionReady)
	switch {
	case c.Status.ObservedGeneration != c.Generation:
		return "the operator has not seen the cluster's spec yet"
	case c.Spec.Hibernate:
		return "the cluster hibernates: spec.hibernate is set"
	case c.Status.Operation != nil:
		return fmt.Sprintf("operation %s, step %s", c.Status.Operation.Type, c.Status.Operation.Step)
	case ready == nil:
		return "the cluster is not Ready"
	case ready.Status != metav1.ConditionTrue:
		return fmt.Sprintf("the cluster is not Ready: %s: %s", ready.Reason, ready.Message)
	case len(c.Status.Members) != int(c.Spec.Replicas):
		return fmt.Sprintf("%d of %d nodes are known", len(c.Status.Members), c.Spec.Replicas)
	}
	return ""
}

// Proof explains why a cluster's encryption is not proved to be that of its spec, "" when it is. What counts is what
// every node was observed to do, and not what it was reported.
func Proof(c *v1alpha1.GaleraCluster) string {
	if why := Settled(c); why != "" {
		return why
	}
	want := Normal(c.Spec.TLS)
	if why := certified(c, want); why != "" {
		return why
	}
	for _, m := range c.Status.Members {
		if m.TLS == nil || m.TLS.Replication == nil || m.TLS.Clients == nil || m.TLS.StateTransfer == nil {
			return m.Name + ": nothing was observed yet"
		}
		for _, channel := range []struct {
			name, policy string
			fact         v1alpha1.ChannelStatus
			dialled      bool
		}{
			{"replication", string(want.Replication), *m.TLS.Replication, true},
			{"clients", string(want.Clients), *m.TLS.Clients, true},
			// It has no listener between transfers: what is reported is what its scripts enforce.
			{"stateTransfer", string(want.StateTransfer), *m.TLS.StateTransfer, false},
		} {
			why := contradicts(channel.policy, channel.fact, channel.dialled)
			if why == "" && channel.dialled && channel.policy != v1alpha1.TLSDisabled {
				why = handshake(channel.fact, want)
			}
			if why != "" {
				return fmt.Sprintf("%s: %s: %s", m.Name, channel.name, why)
			}
		}
	}
	return ""
}

// certified reports whether the nodes still have, or show, a certificate of before: cert-manager takes its time to make
// one with another key, and nothing else describes it.
func certified(c *v1alpha1.GaleraCluster, want v1alpha1.TLSSpec) string {
	have := c.Status.TLS
	if have == nil || have.Key == "" {
		return ""
	}
	if key := fmt.Sprintf("%s-%d", want.Certificate.PrivateKey.Algorithm,
		want.Certificate.PrivateKey.Size); have.Key != key {
		return "the nodes have a certificate with a key of " + have.Key + " instead of " + key
	}
	for _, m := range c.Status.Members {
		if m.TLS == nil {
			continue
		}
		for _, f := range []*v1alpha1.ChannelStatus{m.TLS.Replication, m.TLS.Clients} {
			if f != nil && f.Serial != "" && f.Serial != have.Serial {
				return fmt.Sprintf("%s: presented the certificate %s instead of %s", m.Name, f.Serial, have.Serial)
			}
		}
	}
	return ""
}

// Copied explains why the full copy a node has got last is not proved to have come as its cluster's spec.tls says, ""
// when it is.
func Copied(c *v1alpha1.GaleraCluster, node string) string {
	i := slices.IndexFunc(c.Status.Members, func(m v1alpha1.MemberStatus) bool { return m.Name == node })
	if i < 0 || c.Status.Members[i].Join == nil {
		return node + ": nothing is known of its copy"
	}
	join, want := c.Status.Members[i].Join, Normal(c.Spec.TLS)
	why := ""
	switch seen := (v1alpha1.ChannelStatus{Protocol: join.Protocol, Cipher: join.Cipher}); {
	case string(want.StateTransfer) == v1alpha1.TLSDisabled && join.Protocol != "":
		why = "observed " + join.Protocol + " instead of Plaintext"
	case string(want.StateTransfer) != v1alpha1.TLSDisabled:
		why = handshake(seen, want)
	}
	if why != "" {
		return node + ": its copy: " + why
	}
	return ""
}

func contradicts(policy string, f v1alpha1.ChannelStatus, dialled bool) string {
	switch policy {
	case v1alpha1.TLSRequired:
		if f.Observed != "TLS" {
			return "observed " + f.Observed + " instead of TLS"
		}
		if dialled && !f.PlaintextRefused {
			return "plaintext was not seen to be refused"
		}
	case v1alpha1.TLSPreferred:
		if f.Observed != "TLS" && f.Observed != "Mixed" {
			return "observed " + f.Observed + " instead of TLS"
		}
	default:
		if f.Observed != "Plaintext" {
			return "observed " + f.Observed + " instead of Plaintext"
		}
	}
	return ""
}

// handshake describes how the one that was made differs from a policy. The one that dialled it has noted what was
// spoken: without that, there was none.
func handshake(f v1alpha1.ChannelStatus, want v1alpha1.TLSSpec) string {
	switch least := "TLSv" + want.MinVersion; {
	case f.Protocol == "":
		return "no version of TLS was observed, and " + least + " or newer is wanted"
	case f.Protocol < least:
		return "observed " + f.Protocol + " instead of " + least + " or newer"
	case f.Cipher == "":
		return "no cipher was observed, and " + want.Cipher + " is wanted"
	case want.Cipher != "Auto" && f.Cipher != want.Cipher:
		return "observed " + f.Cipher + " instead of " + want.Cipher
	}
	return ""
}
