package galerabenchmark

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/bench/experiment"
	"github.com/galera-operator/galera-operator/internal/bench/result"
)

// proved is a Ready cluster of one node that was observed to encrypt everything.
func proved() *v1alpha1.GaleraCluster {
	fact := v1alpha1.ChannelStatus{Observed: "TLS", PlaintextRefused: true, Protocol: "TLSv1.3",
		Cipher: "TLS_AES_128_GCM_SHA256"}
	c := &v1alpha1.GaleraCluster{Spec: v1alpha1.GaleraClusterSpec{Replicas: 1}}
	c.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue}}
	c.Status.Members = []v1alpha1.MemberStatus{{Name: "x-db-0", TLS: &v1alpha1.MemberTLSStatus{Replication: &fact,
		Clients: &fact, StateTransfer: &fact},
		Join: &v1alpha1.JoinStatus{Kind: "SST", Protocol: fact.Protocol, Cipher: fact.Cipher}}}
	return c
}

// TestVerdictsWantTheProofAgain after the run, whatever was measured.
func TestVerdictsWantTheProofAgain(t *testing.T) {
	lost := proved()
	lost.Status.Members[0].TLS = nil
	for _, record := range []result.Record{
		{Run: result.Run{Kind: result.KindOLTP}, Output: &result.Output{OLTP: &result.OLTPResult{Transactions: 1}}},
		{Run: result.Run{Kind: result.KindTransfer},
			Output: &result.Output{Transfer: &result.TransferFacts{Kind: "SST", Victim: "x-db-0"}}},
	} {
		for c, want := range map[*v1alpha1.GaleraCluster]string{proved(): "",
			lost: "after the run the encryption was not proved any more: x-db-0: nothing was observed yet"} {
			v := verdictOf(&v1alpha1.GaleraBenchmark{}, benchmarkFacts{State: experiment.State{Cluster: c}}, record)
			if v.Valid != (want == "") || v.Reason != want {
				t.Errorf("%s: %+v, want %q", record.Kind, v, want)
			}
		}
	}
}

// TestVerdictsWantTheCopysTLS: the channel of transfers shows its suite only while one goes on.
func TestVerdictsWantTheCopysTLS(t *testing.T) {
	inClear := proved()
	inClear.Status.Members[0].Join.Protocol = ""
	for kind, record := range map[string]result.Record{
		"a load": {Run: result.Run{Kind: result.KindOLTP}, Output: &result.Output{OLTP: &result.OLTPResult{Transactions: 1}}},
		"": {Run: result.Run{Kind: result.KindTransfer},
			Output: &result.Output{Transfer: &result.TransferFacts{Kind: "SST", Victim: "x-db-0"}}},
	} {
		v := verdictOf(&v1alpha1.GaleraBenchmark{}, benchmarkFacts{State: experiment.State{Cluster: inClear}}, record)
		if v.Valid != (kind != "") || !v.Valid && !strings.Contains(v.Reason,
			"x-db-0: its copy: no version of TLS was observed") {
			t.Errorf("%s: %+v", kind, v)
		}
	}
}

// TestVerdictsKnowWhoWrites: of a workload that writes, the nodes must have replicated something.
func TestVerdictsKnowWhoWrites(t *testing.T) {
	at := result.Sample{result.MetricStarted: 1, result.MetricView: 1, result.MetricSynced: 1, result.MetricReplicated: 0,
		result.MetricReceived: 0}
	o := &result.Output{OLTP: &result.OLTPResult{Transactions: 1000}, StartedAt: time.Unix(1e9, 0),
		EndedAt: time.Unix(1e9+15, 0),
		Members: map[string]result.Window{"x-0": {Before: at, After: at}, "x-1": {Before: at, After: at}}}
	b := &v1alpha1.GaleraBenchmark{}
	for profile, counts := range map[string]bool{"WriteOnly": false, "ReadWrite": false, "ReadOnly": true,
		"PointSelect": true} {
		b.Spec.Workloads = []v1alpha1.BenchmarkWorkload{{Name: "other", OLTP: &v1alpha1.OLTPWorkload{Profile: "ReadOnly"}},
			{Name: "w", OLTP: &v1alpha1.OLTPWorkload{Profile: profile}}}
		v := verdictOf(b, benchmarkFacts{}, result.Record{Run: result.Run{Kind: result.KindOLTP, Workload: "w"}, Output: o})
		if v.Valid != counts || !counts && !strings.HasPrefix(v.Reason, "no node replicated anything") {
			t.Errorf("%s: %+v", profile, v)
		}
	}
}

// TestEndsAreOneOrTheOther: a benchmark has measured everything or needs a user, and never both.
func TestEndsAreOneOrTheOther(t *testing.T) {
	b := &v1alpha1.GaleraBenchmark{}
	b.Name, b.Status.EndingSince = "x", &metav1.Time{Time: time.Unix(1e9, 0)}
	for name, tc := range map[string]struct {
		failure  *v1alpha1.BenchmarkFailure
		complete bool
	}{
		"measured": {nil, true},
		"given up": {&v1alpha1.BenchmarkFailure{Reason: v1alpha1.ReasonTooManyInvalidRuns, Message: "again and again"},
			false},
	} {
		b.Status.Failure = tc.failure
		// The private cluster is still being deleted, and is not waited for any longer.
		seen := benchmarkFacts{State: experiment.State{Benchmark: b, Going: true, Now: time.Unix(1e9, 0).Add(24 * time.Hour)}}
		d := experiment.Next(seen.State)
		var s v1alpha1.GaleraBenchmarkStatus
		benchmarkConditions(&s, b, d)
		if meta.IsStatusConditionTrue(s.Conditions, v1alpha1.ConditionComplete) != tc.complete ||
			meta.IsStatusConditionTrue(s.Conditions, v1alpha1.ConditionStalled) == tc.complete ||
			meta.IsStatusConditionTrue(s.Conditions, v1alpha1.ConditionReconciling) {
			t.Errorf("%s: %+v", name, s.Conditions)
		}
		if c := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionComplete); !strings.Contains(c.Message,
			"; left behind: the private cluster") {
			t.Errorf("%s: %s", name, c.Message)
		}
	}
}
