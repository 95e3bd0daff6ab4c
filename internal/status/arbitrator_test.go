package status

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/observe"
)

// arbitrated is a healthy cluster of two nodes and an arbitrator.
func arbitrated() Input {
	in := healthy()
	in.Facts.Cluster.Spec.Replicas, in.Snapshot.Replicas = 2, 2
	in.Snapshot.Members = in.Snapshot.Members[:2]
	in.Facts.ArbitratorPod = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "n-arbitrator-x"}}
	in.Snapshot.Arbitrator = &galera.Arbitrator{Name: "n-arbitrator", Wanted: true, Deployed: true, Scheduled: true,
		Pod: galera.Pod{Exists: true, Ready: true}, Known: true, Process: "arbitrator.a", Counted: true, ConfigLoaded: "r1"}
	fact := in.Seen["n-0"].Report.TLS.Channels[agentapi.ChannelReplication]
	in.Seen["n-arbitrator"] = observe.Seen{Live: true, Report: agentapi.Report{Phase: galera.PhaseRunning,
		Arbitration: &agentapi.Arbitration{Process: "arbitrator.a", Counted: true},
		TLS: agentapi.TLSReport{Loaded: "p", LoadedSerial: "01",
			Channels: map[string]agentapi.ChannelFact{agentapi.ChannelReplication: fact},
			Peers:    map[string]agentapi.ChannelFact{"n-0": fact, "n-1": fact}}}}
	for _, n := range []string{"n-0", "n-1"} {
		in.Seen[n].Report.TLS.Peers["n-arbitrator"] = fact
	}
	return in
}

// changed edits what the arbitrator's agent says.
func changed(in *Input, edit func(*agentapi.Report)) {
	s := in.Seen["n-arbitrator"]
	edit(&s.Report)
	in.Seen["n-arbitrator"] = s
}

func TestArbitratorInConditions(t *testing.T) {
	for name, tc := range map[string]struct {
		change                   func(*Input)
		ready, encrypted, quorum metav1.ConditionStatus
		says                     string
	}{
		"all is well": {func(*Input) {}, metav1.ConditionTrue, metav1.ConditionTrue, metav1.ConditionTrue,
			"2 nodes and the arbitrator"},
		"it is not counted": {func(in *Input) { in.Snapshot.Arbitrator.Counted = false },
			metav1.ConditionFalse, metav1.ConditionTrue, metav1.ConditionTrue, "the arbitrator is not in the Primary component"},
		"it is stale": {func(in *Input) { in.Snapshot.Arbitrator.RestartNeeded = true },
			metav1.ConditionFalse, metav1.ConditionTrue, metav1.ConditionTrue, "waiting for its restart"},
		"it is silent": {func(in *Input) { delete(in.Seen, "n-arbitrator") },
			metav1.ConditionFalse, metav1.ConditionUnknown, metav1.ConditionTrue, "evidence from the arbitrator"},
		"it accepts plaintext": {func(in *Input) {
			changed(in, func(r *agentapi.Report) {
				f := r.TLS.Channels[agentapi.ChannelReplication]
				f.Observed = agentapi.ObservedMixed
				r.TLS.Channels[agentapi.ChannelReplication] = f
			})
		}, metav1.ConditionFalse, metav1.ConditionFalse, metav1.ConditionTrue, "n-arbitrator: replication accepts plaintext"},
		"a node has not verified it": {func(in *Input) { delete(in.Seen["n-1"].Report.TLS.Peers, "n-arbitrator") },
			metav1.ConditionFalse, metav1.ConditionUnknown, metav1.ConditionTrue, "n-1 has not verified n-arbitrator"},
		"it has not verified a node": {func(in *Input) { delete(in.Seen["n-arbitrator"].Report.TLS.Peers, "n-1") },
			metav1.ConditionFalse, metav1.ConditionUnknown, metav1.ConditionTrue, "n-arbitrator has not verified n-1"},
		"a node is lost": {func(in *Input) { in.Snapshot.Members[1].Server = nil },
			metav1.ConditionFalse, metav1.ConditionUnknown, metav1.ConditionTrue, "2 of 3 nodes, the arbitrator included"},
		"a node and the arbitrator are lost": {func(
			in *Input) {
			in.Snapshot.Members[1].Server = nil
			in.Snapshot.Arbitrator.Counted = false
		},
			metav1.ConditionFalse, metav1.ConditionUnknown, metav1.ConditionFalse, "only 1 of 3"},
		"it alone is left": {func(in *Input) { in.Snapshot.Members[0].Server, in.Snapshot.Members[1].Server = nil, nil },
			metav1.ConditionFalse, metav1.ConditionUnknown, metav1.ConditionFalse, ""},
	} {
		t.Run(name, func(t *testing.T) {
			in := arbitrated()
			tc.change(&in)
			enc := encrypted(in, proved(in))
			rdy, quorum := ready(in, firstProblem(in), enc), quorumHealthy(in)
			if rdy.status != tc.ready || enc.status != tc.encrypted || quorum.status != tc.quorum {
				t.Errorf("ready %+v\nencrypted %+v\nquorum %+v", rdy, enc, quorum)
			}
			if all := rdy.message + enc.message + quorum.message; !strings.Contains(all, tc.says) {
				t.Errorf("%q does not say %q", all, tc.says)
			}
		})
	}
}

func TestArbitratorWithoutGarbd(t *testing.T) {
	in := arbitrated()
	in.Snapshot.Arbitrator.Process, in.Snapshot.Arbitrator.Counted = "", false
	in.Snapshot.Arbitrator.Failure = &galera.Failure{Reason: agentapi.FailureNoArbitrator,
		Message: "the image has no garbd"}
	if p := firstProblem(in); p == nil || p.Reason != v1alpha1.ReasonArbitratorUnusable || !p.Blocked {
		t.Errorf("%+v", p)
	}
	in.Snapshot.Arbitrator.Wanted, in.Snapshot.Arbitrator.Deployed = false, false
	if p := firstProblem(in); p != nil && p.Reason == v1alpha1.ReasonArbitratorUnusable {
		t.Errorf("of one that was removed: %+v", p)
	}
	in = arbitrated()
	in.Snapshot.Arbitrator.Failure = &galera.Failure{Reason: agentapi.FailureNoArbitrator,
		Message: "the image has no garbd"}
	in.Snapshot.Arbitrator.Process, in.Snapshot.Arbitrator.Counted = "", false
	if s := arbitratorStatus(in, nil); s.Ready || s.Connected || !strings.Contains(s.Message, "no garbd") {
		t.Errorf("%+v", s)
	}
}

func TestArbitratorCertificate(t *testing.T) {
	in := arbitrated()
	if v := certificatesValid(in); v.status != metav1.ConditionTrue {
		t.Errorf("%+v", v)
	}
	changed(&in, func(r *agentapi.Report) { r.TLS.TrustedCAs = []string{"old"} })
	if v := certificatesValid(in); v.reason != v1alpha1.ReasonOldCATrusted {
		t.Errorf("%+v", v)
	}
	changed(&in, func(r *agentapi.Report) { r.TLS.LoadedSerial = "00" })
	if v := certificatesValid(in); v.reason != v1alpha1.ReasonCertificateNotLoaded {
		t.Errorf("%+v", v)
	}
}

// TestRemovedArbitratorIsNotReported: its pod is there for a while.
func TestRemovedArbitratorIsNotReported(t *testing.T) {
	in := arbitrated()
	a := in.Snapshot.Arbitrator
	a.Wanted, a.Deployed, a.Scheduled, a.Pod.Outdated = false, false, false, true
	if s := arbitratorStatus(in, nil); s != nil {
		t.Errorf("%+v", s)
	}
}

func TestArbitratorEvents(t *testing.T) {
	none, first, second := (*v1alpha1.ArbitratorStatus)(nil), &v1alpha1.ArbitratorStatus{Connected: true, Process: "a"},
		&v1alpha1.ArbitratorStatus{Connected: true, Process: "b"}
	away := &v1alpha1.ArbitratorStatus{Process: "a"}
	for _, c := range []struct {
		before, after *v1alpha1.ArbitratorStatus
		want          string
	}{{none, first, "ArbitratorCounted"}, {first, first, ""}, {first, second, "ArbitratorCounted"},
		{first, away, "ArbitratorAway"}, {away, none, ""}, {first, none, ""}} {
		got := ""
		if e := arbitratorEvents(c.before, c.after); len(e) > 0 {
			got = e[0].Reason
		}
		if got != c.want {
			t.Errorf("%+v to %+v: %q, want %q", c.before, c.after, got, c.want)
		}
	}
}
