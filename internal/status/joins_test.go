package status

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/plan"
)

func TestJoinIsReported(t *testing.T) {
	began := time.Date(2026, 11, 21, 12, 0, 0, 5, time.UTC)
	eta := began.Add(90 * time.Second)
	for name, c := range map[string]struct {
		in   agentapi.Join
		want string
	}{
		"waiting": {agentapi.Join{Kind: "SST", Phase: agentapi.JoinWaiting}, "SST, waiting"},
		"transferring": {agentapi.Join{Kind: "SST", Donor: "shop-1", Phase: agentapi.JoinTransferring, Bytes: 512 << 20,
			Total: 2 << 30, Rate: 17 << 20, ETA: &eta},
			"SST from shop-1, transferring, 512 of 2048 MiB (25 %), 17.0 MiB/s, until about 12:01:30 UTC"},
		"total not known": {agentapi.Join{Kind: "SST", Phase: agentapi.JoinTransferring, Bytes: 3 << 20},
			"SST, transferring, 3 MiB"},
		"more than hoped": {agentapi.Join{Kind: "SST", Phase: agentapi.JoinPreparing, Bytes: 3 << 20, Total: 2 << 20},
			"SST, preparing, 3 of 2 MiB (100 %)"},
		"incremental": {agentapi.Join{Kind: "IST", Donor: "shop-2", Phase: agentapi.JoinApplying},
			"IST from shop-2, applying"},
		"catching up": {agentapi.Join{Kind: "IST", Donor: "shop-2", Phase: agentapi.JoinApplying, WriteSets: 40, Behind: 60,
			ETA: &eta},
			"IST from shop-2, applying, 40 write-sets received, 60 behind, until about 12:01:30 UTC"},
		"the queue": {agentapi.Join{Kind: "SST", Phase: agentapi.JoinApplying, Bytes: 3 << 20, Behind: 60},
			"SST, applying, 3 MiB, 60 write-sets behind"},
		"over": {agentapi.Join{Kind: "IST", WriteSets: 12, EndedAt: &eta}, ""},
	} {
		c.in.StartedAt = began
		out := join(&c.in)
		if out.Message != c.want {
			t.Errorf("%s: %q, want %q", name, out.Message, c.want)
		}
		// What is stored and read again must not differ: it would be written for ever.
		if again := join(&c.in); !equality.Semantic.DeepEqual(out, again) || out.StartedAt.Nanosecond() != 0 {
			t.Errorf("%s: not the same twice", name)
		}
	}
	if q := join(&agentapi.Join{Kind: "SST", Bytes: 1600 << 20}).BytesDone.String(); q != "1600Mi" {
		t.Errorf("bytesDone %s", q)
	}
	if join(nil) != nil {
		t.Error("no join is one")
	}
}

// TestCacheIsNoNews: the oldest write-set moves all the time.
func TestCacheIsNoNews(t *testing.T) {
	before := v1alpha1.MemberStatus{NodeState: "Synced",
		Cache: cache(&agentapi.Cache{Size: 128 << 20, Oldest: 5, WindowSeconds: 60}, v1alpha1.MemberStatus{}, "Synced")}
	for name, c := range map[string]struct {
		in    agentapi.Cache
		state string
		want  int64
	}{
		"later":          {agentapi.Cache{Size: 128 << 20, Oldest: 9, WindowSeconds: 60}, "Synced", 5},
		"another window": {agentapi.Cache{Size: 128 << 20, Oldest: 9, WindowSeconds: 30}, "Synced", 9},
		"no window":      {agentapi.Cache{Size: 128 << 20, Oldest: 9}, "Synced", 9},
		"another size":   {agentapi.Cache{Size: 256 << 20, Oldest: 9, WindowSeconds: 60}, "Synced", 9},
		"another state":  {agentapi.Cache{Size: 128 << 20, Oldest: 9, WindowSeconds: 60}, "Donor", 9},
	} {
		if got := cache(&c.in, before, c.state); got.OldestSeqno != c.want {
			t.Errorf("%s: %d, want %d", name, got.OldestSeqno, c.want)
		}
	}
}

// TestTransferProblems: what a failed transfer, a full disk and a missing program are called, and whether
// a person has to act.
func TestTransferProblems(t *testing.T) {
	failing := func(reason string) func(*Input) {
		return func(in *Input) {
			in.Snapshot.Members[1].Failure = &galera.Failure{Reason: reason, Message: "as it is"}
		}
	}
	for name, c := range map[string]struct {
		edit    func(*Input)
		reason  string
		blocked bool
	}{
		"failed":     {failing(agentapi.FailureTransfer), v1alpha1.ReasonTransferFailed, false},
		"stalled":    {failing(agentapi.FailureStalled), v1alpha1.ReasonTransferFailed, false},
		"donor lost": {failing(agentapi.FailureDonorLost), v1alpha1.ReasonTransferFailed, false},
		"disk":       {failing(agentapi.FailureDiskFull), v1alpha1.ReasonDiskFull, true},
		"a tool":     {failing(agentapi.FailureToolMissing), v1alpha1.ReasonTransferToolsMissing, true},
		// Its own or the donor's: only the condition of the certificates shows which.
		"a certificate": {failing(agentapi.FailureCertificate), v1alpha1.ReasonMemberFailed, false},
		"a tool, before it is needed": {func(in *Input) {
			s := in.Seen["n-2"]
			s.Report.Image.Missing = []string{"zstd"}
			in.Seen["n-2"] = s
		}, v1alpha1.ReasonTransferToolsMissing, true},
	} {
		in := healthy()
		c.edit(&in)
		p := firstProblem(in)
		if p == nil || p.Reason != c.reason || p.Blocked != c.blocked {
			t.Errorf("%s: %+v, want %s, blocked %v", name, p, c.reason, c.blocked)
		} else if strings.HasSuffix(p.Message, "as it is") {
			t.Errorf("%s: %q does not describe what to do", name, p.Message)
		}
	}
	if p := firstProblem(healthy()); p != nil {
		t.Errorf("a healthy cluster has the problem %+v", p)
	}
}

// TestReadyReportsJoins: a copy of an hour is reported in Ready, whatever it is for.
func TestReadyReportsJoins(t *testing.T) {
	const progress = "n-2 joins: SST from n-1, transferring"
	joining := func(in *Input) {
		in.Snapshot.Members[2].Server = nil
		s := in.Seen["n-2"]
		s.Report.Join = &agentapi.Join{Kind: agentapi.JoinSST, Donor: "n-1", Phase: agentapi.JoinTransferring}
		in.Seen["n-2"] = s
	}
	waiting := plan.Decision{Reason: plan.ReasonJoining, Message: "waiting for n-2"}
	for name, c := range map[string]struct {
		edit   func(*Input)
		reason string
		want   string
	}{
		"by itself": {func(in *Input) { in.Decision = waiting }, v1alpha1.ReasonJoining, "waiting for n-2; " + progress},
		"scaling": {func(in *Input) {
			in.Snapshot.Replicas = 5
			in.Decision = plan.Decision{Reason: plan.ReasonScaling, Message: "waiting for n-2, scaling from 3 to 5 nodes"}
		}, v1alpha1.ReasonScaling, "waiting for n-2, scaling from 3 to 5 nodes; " + progress},
		"scaling, for another reason": {func(in *Input) {
			in.Snapshot.Replicas, in.Decision = 5, waiting
		}, v1alpha1.ReasonScaling, "scaling from 3 to 5 nodes; waiting for n-2; " + progress},
		"an operation": {func(in *Input) {
			in.Snapshot.Operation, in.Decision = &galera.Operation{}, waiting
		}, v1alpha1.ReasonJoining, "waiting for n-2; " + progress},
	} {
		in := healthy()
		joining(&in)
		c.edit(&in)
		if v := ready(in, nil, yes("", "")); v.reason != c.reason || v.message != c.want {
			t.Errorf("%s: %s %q, want %s %q", name, v.reason, v.message, c.reason, c.want)
		}
	}
}
