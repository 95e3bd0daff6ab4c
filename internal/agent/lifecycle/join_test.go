package lifecycle

import (
	"strings"
	"testing"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

const (
	uuidA = "90e0b86f-e577-11f1-b9b1-fa90d5744545"
	uuidB = "11111111-2222-3333-4444-555555555555"
)

func at(seqno int64) galera.Position { return galera.Position{UUID: uuidA, Seqno: seqno} }

func primary(name string, edit func(*agentapi.PeerView)) map[string]agentapi.PeerView {
	p := agentapi.PeerView{Name: name, Component: galera.ComponentPrimary, State: galera.NodeSynced, ClusterUUID: uuidA,
		Position: at(100)}
	if edit != nil {
		edit(&p)
	}
	return map[string]agentapi.PeerView{name: p}
}

func TestJudgeJoin(t *testing.T) {
	present := Joiner{Data: galera.DataPresent, Position: at(50)}
	with := func(peers ...map[string]agentapi.PeerView) map[string]agentapi.PeerView {
		all := map[string]agentapi.PeerView{}
		for _, m := range peers {
			for k, v := range m {
				all[k] = v
			}
		}
		return all
	}
	line := galera.FirstLine(galera.Line{Epoch: 7, Start: at(40)})
	later := line.Then(galera.Line{Epoch: 9, Start: at(60)})
	onLine := func(p *agentapi.PeerView) { p.Lineage = line }
	for name, c := range map[string]struct {
		self  Joiner
		peers map[string]agentapi.PeerView
		join  bool
		fails string
	}{
		"present":    {present, primary("a", nil), true, ""},
		"empty":      {Joiner{Data: galera.DataEmpty}, primary("a", nil), true, ""},
		"incomplete": {Joiner{Data: galera.DataIncomplete}, primary("a", nil), true, ""},
		"no peer":    {present, nil, false, ""},
		"none Primary": {present,
			primary("a", func(p *agentapi.PeerView) { p.Component = galera.ComponentNonPrimary }), false, ""},
		"Primary of nothing": {present,
			primary("a", func(p *agentapi.PeerView) { p.ClusterUUID = galera.ZeroUUID }), false, ""},
		"Primary, no uuid": {present, primary("a", func(p *agentapi.PeerView) { p.ClusterUUID = "" }), false,
			""},
		"only draining": {present, primary("a", func(p *agentapi.PeerView) { p.Draining = true }), false,
			""},
		"only joining": {present,
			primary("a", func(p *agentapi.PeerView) { p.State = galera.NodeJoining }), false, ""},
		"a donor will do": {present, primary("a", func(p *agentapi.PeerView) { p.State = galera.NodeDonor }),
			true, ""},
		"one draining of two": {present, with(primary("a", func(p *agentapi.PeerView) { p.Draining = true }),
			primary("b", nil)), true, ""},
		"foreign": {present, primary("a", func(p *agentapi.PeerView) { p.ClusterUUID = uuidB }),
			false, agentapi.FailureForeignUUID},
		"foreign, draining": {present,
			primary("a", func(p *agentapi.PeerView) { p.ClusterUUID, p.Draining = uuidB, true }), false,
			agentapi.FailureForeignUUID},
		"two histories": {Joiner{Data: galera.DataEmpty},
			with(primary("a", nil), primary("b", func(p *agentapi.PeerView) { p.ClusterUUID = uuidB })), false,
			agentapi.FailureForeignUUID},
		"unknown position": {Joiner{Data: galera.DataPresent}, primary("a", nil), false,
			agentapi.FailureRecovery},
		"marked": {Joiner{Data: galera.DataPresent, Position: at(50), Marked: true},
			primary("a", nil), true, ""},
		"marked, foreign": {Joiner{Data: galera.DataPresent, Position: galera.Position{UUID: uuidB, Seqno: 1},
			Marked: true}, primary("a", nil), false, agentapi.FailureForeignUUID},
		"beyond a later line's start": {present, primary("a", onLine), false, agentapi.FailureDiverged},
		"marked, beyond it": {Joiner{Data: galera.DataPresent, Position: at(50), Marked: true},
			primary("a", onLine), false, agentapi.FailureDiverged},
		"one member knows the line": {present, with(primary("a", nil), primary("b", onLine)), false,
			agentapi.FailureDiverged},
		"at its start": {Joiner{Data: galera.DataPresent, Position: at(40)}, primary("a", onLine), true,
			""},
		"before its start": {Joiner{Data: galera.DataPresent, Position: at(39)}, primary("a", onLine), true,
			""},
		"on the line already": {Joiner{Data: galera.DataPresent, Position: at(50), Lineage: line},
			primary("a", onLine), true, ""},
		"from an earlier line, too late": {Joiner{Data: galera.DataPresent, Position: at(50),
			Lineage: galera.FirstLine(galera.Line{Epoch: 6, Start: at(10)})}, primary("a", onLine), false,
			agentapi.FailureDiverged},
		"beyond an earlier line's start": {Joiner{Data: galera.DataPresent, Position: at(50),
			Lineage: galera.FirstLine(galera.Line{Epoch: 6, Start: at(10)})},
			primary("a", func(p *agentapi.PeerView) { p.Lineage = later }), false, agentapi.FailureDiverged},
		"on a line that was given up": {Joiner{Data: galera.DataPresent, Position: at(50),
			Lineage: line.Then(galera.Line{Epoch: 8, Start: at(49)})},
			primary("a", func(p *agentapi.PeerView) { p.Lineage = later }), false, agentapi.FailureDiverged},
		"on one without later writes": {Joiner{Data: galera.DataPresent, Position: at(50),
			Lineage: line.Then(galera.Line{Epoch: 8, Start: at(50)})},
			primary("a", func(p *agentapi.PeerView) { p.Lineage = later }), true, ""},
		"incomplete data have no history": {Joiner{Data: galera.DataIncomplete, Position: at(50)}, primary("a", onLine), true,
			""},
	} {
		v := JudgeJoin(c.self, c.peers)
		reason := ""
		if v.Failure != nil {
			reason = v.Failure.Reason
		}
		if v.Join != c.join || reason != c.fails || !v.Join && v.Failure == nil && v.Wait == "" {
			t.Errorf("%s: %+v (%s), want join %v, failure %q", name, v, reason, c.join, c.fails)
		}
	}
	if v := JudgeJoin(Joiner{Data: galera.DataEmpty}, with(primary("a", nil), primary("b", onLine))); !v.Line.Equal(line) {
		t.Errorf("the latest line is the one that is joined: %+v", v.Line)
	}
}

// TestJudgeJoinHistory: a member without data joins the recorded history, and no other.
func TestJudgeJoinHistory(t *testing.T) {
	joins := func(history string) JoinDecision {
		return JudgeJoin(Joiner{Data: galera.DataEmpty, History: history}, primary("a", nil))
	}
	if v := joins(primary("a", nil)["a"].ClusterUUID); !v.Join {
		t.Errorf("its own: %+v", v)
	}
	if v := joins(uuidB); v.Join || v.Failure == nil || v.Failure.Reason != agentapi.FailureForeignUUID {
		t.Errorf("another: %+v", v)
	}
}

func TestDonorAmong(t *testing.T) {
	donor := func(p *agentapi.PeerView) { p.State = galera.NodeDonor }
	if got := OnlyDonor(primary("a", donor)); got != "a" {
		t.Errorf("%q", got)
	}
	two := primary("a", donor)
	two["b"] = primary("b", donor)["b"]
	if got := OnlyDonor(two); got != "" {
		t.Errorf("two donors, and %q was chosen", got)
	}
	if got := OnlyDonor(primary("a", nil)); got != "" {
		t.Errorf("%q", got)
	}
}

// TestAwaitSettling: a join waits while the group counts on a server that has ended.
func TestAwaitSettling(t *testing.T) {
	peers := map[string]agentapi.PeerView{
		"shop-0": {Name: "shop-0", Component: galera.ComponentPrimary, State: galera.NodeSynced, ClusterUUID: uuidA},
		"shop-1": {Name: "shop-1", Component: galera.ComponentPrimary, State: galera.NodeSynced, ClusterUUID: uuidA,
			Settling: true},
	}
	if v := JudgeJoin(Joiner{}, peers); v.Join || v.Wait == "" || v.Failure != nil {
		t.Errorf("joins while the group settles: %+v", v)
	}
	delete(peers, "shop-1")
	if v := JudgeJoin(Joiner{}, peers); !v.Join {
		t.Errorf("does not join: %+v", v)
	}
	peers["shop-0"] = agentapi.PeerView{Name: "shop-0", Component: galera.ComponentPrimary, State: galera.NodeSynced,
		ClusterUUID: uuidA, Members: []string{"shop-0", "shop-2"}}
	if v := JudgeJoin(Joiner{Crashed: "shop-2"}, peers); v.Join || v.Wait == "" || v.Failure != nil {
		t.Errorf("joins while the group counts on its last server: %+v", v)
	}
	if v := JudgeJoin(Joiner{Crashed: "shop-1"}, peers); !v.Join {
		t.Errorf("does not join, though no operation counts on it: %+v", v)
	}
}

// TestJudgeJoinForgotten: eight bootstraps without the member are not taken for later write-sets of its own.
func TestJudgeJoinForgotten(t *testing.T) {
	own := galera.FirstLine(galera.Line{Epoch: 1, Start: at(0)})
	line := own
	for epoch := int64(2); epoch < 2+galera.RememberedLines; epoch++ {
		line = line.Then(galera.Line{Epoch: epoch, Start: at(20 * epoch)})
	}
	peers := primary("a", func(p *agentapi.PeerView) { p.Lineage = line })
	if v := JudgeJoin(Joiner{Data: galera.DataPresent, Position: at(40), Lineage: own}, peers); !v.Join || !v.SST {
		t.Errorf("a copy: %+v", v)
	}
	v := JudgeJoin(Joiner{Data: galera.DataPresent, Position: at(41), Lineage: own}, peers)
	if v.Join || v.Failure == nil || !strings.Contains(v.Failure.Message, "cannot be known") {
		t.Errorf("too old: %+v", v)
	}
}

// TestJudgeJoinCopies: what has to be replaced is, and nothing else.
func TestJudgeJoinCopies(t *testing.T) {
	line := galera.FirstLine(galera.Line{Epoch: 7, Start: at(40)})
	copied := line.Then(galera.Line{Epoch: 9, Start: at(50), Copied: true})
	in := func(l galera.Lineage) map[string]agentapi.PeerView {
		return primary("a", func(p *agentapi.PeerView) { p.Lineage = l })
	}
	for name, c := range map[string]struct {
		self Joiner
		line galera.Lineage
		want bool
	}{
		"an earlier state": {Joiner{Data: galera.DataPresent, Position: at(49), Lineage: line}, line, false},
		"no data":          {Joiner{Data: galera.DataEmpty}, line, true},
		"marked": {Joiner{Data: galera.DataPresent, Position: at(49), Lineage: line, Marked: true},
			line, true},
		"a component that was marked": {Joiner{Data: galera.DataPresent, Position: at(50), Lineage: line}, copied, true},
		"of the component that was marked": {Joiner{Data: galera.DataPresent, Position: at(51), Lineage: copied}, copied,
			false},
	} {
		if v := JudgeJoin(c.self, in(c.line)); !v.Join || v.SST != c.want {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

// TestNameRefused: a member that cannot ask any other because of certificates reports whose. One answer is enough to
// wait for the usual.
func TestNameRefused(t *testing.T) {
	wait := JoinDecision{Wait: "no other member is in a Primary component"}
	refused := map[string]string{"b": "unknown authority", "c": "unknown authority"}
	if got := NameRefused(wait, nil, refused).Wait; !strings.Contains(got, "b, c cannot be asked") ||
		!strings.Contains(got, "unknown authority") {
		t.Error(got)
	}
	for name, got := range map[string]JoinDecision{
		"a peer answers": NameRefused(wait, map[string]agentapi.PeerView{"c": {Name: "c"}}, refused),
		"none refuses":   NameRefused(wait, nil, nil),
	} {
		if got.Wait != wait.Wait {
			t.Errorf("%s: %s", name, got.Wait)
		}
	}
	if got := NameRefused(JoinDecision{Join: true}, nil, refused); got.Wait != "" {
		t.Errorf("%+v", got)
	}
}

// TestNameOthers: a member that gets answers only from agents of another cluster reports it. One answer of a peer is
// enough for the usual reasons.
func TestNameOthers(t *testing.T) {
	others := map[string]agentapi.Identity{"b": {Namespace: "prod", Cluster: "shop", UID: "two"}}
	wait := JoinDecision{Wait: "no other member is in a Primary component"}
	peer := map[string]agentapi.PeerView{"c": {Name: "c"}}
	if got := NameOthers(wait, nil, others).Wait; !strings.Contains(got, "addresses of b") ||
		!strings.Contains(got, "prod/shop (UID two)") {
		t.Errorf("%q", got)
	}
	for name, got := range map[string]JoinDecision{
		"a peer answers": NameOthers(wait, peer, others), "no one answers": NameOthers(wait, nil, nil),
	} {
		if got.Wait != wait.Wait {
			t.Errorf("%s: %q", name, got.Wait)
		}
	}
	refused := Refused(agentapi.FailureForeignUUID, "no")
	if got := NameOthers(refused, nil, others); got.Failure == nil || got.Wait != "" {
		t.Errorf("%+v", got)
	}
}
