package conditions

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/cluster"
)

func TestJoinIsTold(t *testing.T) {
	began := time.Date(2026, 11, 21, 12, 0, 0, 5, time.UTC)
	eta := began.Add(90 * time.Second)
	for name, c := range map[string]struct {
		in   agentapi.Join
		want string
	}{
		"waiting": {agentapi.Join{Kind: "SST", Phase: agentapi.JoinWaiting}, "full copy, waiting"},
		"transferring": {agentapi.Join{Kind: "SST", Donor: "shop-1", Phase: agentapi.JoinTransferring, Bytes: 512 << 20, Total: 2 << 30, Rate: 17 << 20, ETA: &eta},
			"full copy from shop-1, transferring, 512 of 2048 MiB (25 %), 17.0 MiB/s, until about 12:01:30 UTC"},
		"total not known": {agentapi.Join{Kind: "SST", Phase: agentapi.JoinTransferring, Bytes: 3 << 20}, "full copy, transferring, 3 MiB"},
		"more than hoped": {agentapi.Join{Kind: "SST", Phase: agentapi.JoinPreparing, Bytes: 3 << 20, Total: 2 << 20}, "full copy, preparing, 3 of 2 MiB (100 %)"},
		"incremental":     {agentapi.Join{Kind: "IST", Donor: "shop-2", Phase: agentapi.JoinApplying}, "what it missed from shop-2, applying"},
		"over":            {agentapi.Join{Kind: "IST", WriteSets: 12, EndedAt: &eta}, ""},
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
	before := v1alpha1.MemberStatus{NodeState: "Synced", Cache: cache(&agentapi.Cache{Size: 128 << 20, Oldest: 5, WindowSeconds: 60}, v1alpha1.MemberStatus{}, "Synced")}
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
			in.Snapshot.Members[1].Failure = &cluster.Failure{Reason: reason, Message: "as it is"}
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
		"a tool, before it is needed": {func(in *Input) {
			s := in.Seen["n-2"]
			s.Report.Image.Missing = []string{"zstd"}
			in.Seen["n-2"] = s
		}, v1alpha1.ReasonTransferToolsMissing, true},
	} {
		in := healthy()
		c.edit(&in)
		p := FirstProblem(in)
		if p == nil || p.Reason != c.reason || p.Blocked != c.blocked {
			t.Errorf("%s: %+v, want %s, blocked %v", name, p, c.reason, c.blocked)
		}
	}
	if p := FirstProblem(healthy()); p != nil {
		t.Errorf("a healthy cluster has the problem %+v", p)
	}
}
