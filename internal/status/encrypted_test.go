package status

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/observe"
	"github.com/galera-operator/galera-operator/internal/plan"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// healthy is a three-node cluster with all the evidence there can be.
func healthy() Input {
	in := Input{
		Facts:     observe.Facts{Cluster: &v1alpha1.GaleraCluster{}},
		Seen:      map[string]observe.Seen{},
		Published: &PublishedPair{Serial: "01", NotAfter: noon.Add(time.Hour)},
		Now:       noon,
	}
	in.Config.Revision = "r1"
	in.Config.TLS = agentapi.TLSConfig{Replication: galera.SocketStrict, StateTransfer: galera.PolicyRequired,
		Clients: galera.PolicyRequired}
	in.Facts.Cluster.Spec.Replicas, in.Snapshot.Replicas = 3, 3
	names := []string{"n-0", "n-1", "n-2"}
	for i, name := range names {
		fact := agentapi.ChannelFact{Observed: agentapi.ObservedTLS, Protocol: "TLSv1.3", Serial: "01", Verified: true,
			PlaintextRefused: true, CheckedAt: noon.Add(-time.Second)}
		r := agentapi.Report{Name: name, TLS: agentapi.TLSReport{LoadedSerial: "01", Peers: map[string]agentapi.ChannelFact{},
			Channels: map[string]agentapi.ChannelFact{
				agentapi.ChannelReplication: fact, agentapi.ChannelStateTransfer: fact, agentapi.ChannelClients: fact,
			}}}
		r.Server = &agentapi.Server{}
		for _, peer := range names {
			if peer != name {
				r.TLS.Peers[peer] = fact
			}
		}
		in.Seen[name] = observe.Seen{Report: r, Live: true}
		in.Snapshot.Members = append(in.Snapshot.Members, galera.Member{
			Name: name, Ordinal: i, Known: true, Phase: galera.PhaseRunning, ConfigLoaded: "r1",
			Pod:    galera.Pod{Exists: true, Ready: true},
			Server: &galera.Server{Component: galera.ComponentPrimary, State: galera.NodeSynced, ClusterUUID: "u", Size: 3},
		})
	}
	return in
}

// fact edits the evidence for one channel of one node.
func fact(node, channel string, edit func(*agentapi.ChannelFact)) func(*Input) {
	return func(in *Input) {
		f := in.Seen[node].Report.TLS.Channels[channel]
		edit(&f)
		in.Seen[node].Report.TLS.Channels[channel] = f
	}
}

func TestEncrypted(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Input)
		want   string
	}{
		"all evidence": {func(*Input) {}, "True Proved"},
		"nothing required": {func(in *Input) { in.Config.TLS = agentapi.TLSConfig{Replication: galera.SocketPlain} },
			"False Disabled"},
		"replication in clear": {func(in *Input) { in.Config.TLS.Replication = galera.SocketPlain }, "False PartlyEncrypted"},
		"transfers may be": {func(in *Input) { in.Config.TLS.StateTransfer = galera.PolicyDisabled },
			"False PartlyEncrypted"},
		"dynamic sockets":  {func(in *Input) { in.Config.TLS.Replication = galera.SocketDynamic }, "False Switching"},
		"a node is silent": {func(in *Input) { delete(in.Seen, "n-1") }, "Unknown NotYetProved"},
		"plaintext on 4567": {fact("n-2", agentapi.ChannelReplication,
			func(f *agentapi.ChannelFact) { f.Observed = agentapi.ObservedMixed }), "False PlaintextAccepted"},
		"plaintext on 3306": {fact("n-0", agentapi.ChannelClients,
			func(f *agentapi.ChannelFact) { f.Observed = agentapi.ObservedPlaintext }), "False PlaintextAccepted"},
		"transfers in clear": {fact("n-0", agentapi.ChannelStateTransfer,
			func(f *agentapi.ChannelFact) { f.Observed = agentapi.ObservedPlaintext }), "False PlaintextAccepted"},
		"refusal not tried": {fact("n-1", agentapi.ChannelClients,
			func(f *agentapi.ChannelFact) { f.PlaintextRefused = false }), "Unknown NotYetProved"},
		"sessions in clear are left": {fact("n-1", agentapi.ChannelClients, func(f *agentapi.ChannelFact) {
			f.PlaintextRefused, f.PlaintextSessions, f.Problem = false, 3, "sessions are still open (3)"
		}), "False PlaintextSessions"},
		"sessions were not counted": {fact("n-1", agentapi.ChannelClients, func(f *agentapi.ChannelFact) {
			f.PlaintextRefused, f.Problem = false, "sessions were not counted"
		}), "Unknown NotYetProved"},
		"chain not trusted": {fact("n-1", agentapi.ChannelReplication,
			func(f *agentapi.ChannelFact) { f.Verified = false }), "False PeerUnverified"},
		"old evidence": {fact("n-1", agentapi.ChannelReplication,
			func(f *agentapi.ChannelFact) { f.CheckedAt = noon.Add(-time.Hour) }), "Unknown NotYetProved"},
		"clients may be plain": {both(func(in *Input) { in.Config.TLS.Clients = galera.PolicyPreferred },
			fact("n-0", agentapi.ChannelClients, func(f *agentapi.ChannelFact) { f.Observed = agentapi.ObservedMixed })),
			"False PartlyEncrypted"},
		"a proxy is proved":      {proxied(metav1.ConditionTrue, v1alpha1.ReasonProved), "True Proved"},
		"a proxy is not proved":  {proxied(metav1.ConditionFalse, v1alpha1.ReasonNotYetProved), "Unknown NotYetProved"},
		"a proxy is not trusted": {proxied(metav1.ConditionFalse, v1alpha1.ReasonPeerUnverified), "False PeerUnverified"},
		"a proxy accepts plaintext": {proxied(metav1.ConditionFalse, v1alpha1.ReasonPlaintextAccepted),
			"False PlaintextAccepted"},
		"a proxy without a verdict": {both(proxied(metav1.ConditionTrue, v1alpha1.ReasonProved), func(in *Input) {
			in.Facts.Proxies[0].Status.Conditions = nil
		}), "Unknown NotYetProved"},
		"a proxy without pods": {both(proxied(metav1.ConditionFalse, v1alpha1.ReasonNotYetProved), func(in *Input) {
			in.Facts.Proxies[0].Status.Replicas = 0
		}), "True Proved"},
		"proxies that cannot be read": {func(in *Input) { in.Facts.ProxiesUnknown = true }, "Unknown NotYetProved"},
		"a proxy where clients may be plain": {both(proxied(metav1.ConditionFalse, v1alpha1.ReasonNotYetProved),
			func(in *Input) { in.Config.TLS.Clients = galera.PolicyPreferred }), "False PartlyEncrypted"},
		"a peer not verified": {func(in *Input) { delete(in.Seen["n-0"].Report.TLS.Peers, "n-2") }, "Unknown NotYetProved"},
		"a peer is not trusted": {func(in *Input) {
			in.Seen["n-0"].Report.TLS.Peers["n-2"] = agentapi.ChannelFact{Observed: agentapi.ObservedTLS}
		}, "False PeerUnverified"},
	} {
		t.Run(name, func(t *testing.T) {
			in := healthy()
			tc.change(&in)
			v := encrypted(in, proved(in))
			if got := string(v.status) + " " + v.reason; got != tc.want {
				t.Errorf("got %s (%s), want %s", got, v.message, tc.want)
			}
		})
	}
}

// proxied gives the cluster a proxy with pods, and a verdict of its channels.
func proxied(status metav1.ConditionStatus, reason string) func(*Input) {
	return func(in *Input) {
		p := v1alpha1.GaleraProxy{ObjectMeta: metav1.ObjectMeta{Name: "pool"}}
		p.Status.Replicas = 2
		p.Status.Proof = &v1alpha1.ProxyProof{Clients: v1alpha1.TLSRequired, ProvedAt: metav1.NewTime(noon)}
		meta.SetStatusCondition(&p.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionEncrypted, Status: status,
			Reason: reason, Message: "as the proxy reports"})
		in.Facts.Proxies = append(in.Facts.Proxies, p)
	}
}

func both(changes ...func(*Input)) func(*Input) {
	return func(in *Input) {
		for _, c := range changes {
			c(in)
		}
	}
}

// TestEncryptedWhateverTheClock: the host of one node has another time than the operator's.
func TestEncryptedWhateverTheClock(t *testing.T) {
	for name, tc := range map[string]struct {
		skew, age time.Duration
		want      string
	}{
		"behind":               {-3*time.Minute - time.Second, time.Second, "True Proved"},
		"ahead":                {3*time.Minute + time.Second, time.Second, "True Proved"},
		"ahead, old evidence":  {4 * time.Minute, evidenceLasts + time.Second, "Unknown NotYetProved"},
		"behind, old evidence": {-4 * time.Minute, evidenceLasts + time.Second, "Unknown NotYetProved"},
	} {
		in := healthy()
		there := noon.Add(tc.skew)
		fact("n-1", agentapi.ChannelReplication, func(f *agentapi.ChannelFact) { f.CheckedAt = there.Add(-tc.age) })(&in)
		s := in.Seen["n-1"]
		in.Seen["n-1"] = observe.Seen{Report: s.Report.Sent(there).Received(noon), At: noon, Live: true}
		for _, ch := range []string{agentapi.ChannelStateTransfer, agentapi.ChannelClients} {
			// checked by the operator's clock above
			fact("n-1", ch, func(f *agentapi.ChannelFact) { f.CheckedAt = noon })(&in)
		}
		v := encrypted(in, proved(in))
		if got := string(v.status) + " " + v.reason; got != tc.want {
			t.Errorf("%s: got %s (%s), want %s", name, got, v.message, tc.want)
		}
	}
}

// TestPartlyEncrypted: a policy that leaves a channel in clear is no reason for the cluster not to be Ready, and is
// never reported as encrypted.
func TestPartlyEncrypted(t *testing.T) {
	in := healthy()
	in.Decision.Reason = plan.ReasonHealthy
	in.Config.TLS.Replication, in.Config.TLS.Clients = galera.SocketPlain, galera.PolicyPreferred
	var s v1alpha1.GaleraClusterStatus
	Update(&s, in)
	enc := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionEncrypted)
	const channels = "replication (Disabled), clients (Preferred accepts both)"
	if s.TLS.Encrypted != v1alpha1.EncryptedPartly || enc.Status != metav1.ConditionFalse || !strings.Contains(enc.Message,
		channels) {
		t.Errorf("%s, %+v", s.TLS.Encrypted, enc)
	}
	if !meta.IsStatusConditionTrue(s.Conditions, v1alpha1.ConditionReady) {
		t.Errorf("%+v", meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionReady))
	}
}
