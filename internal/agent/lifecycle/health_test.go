package lifecycle

import (
	"testing"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

func TestReasonToTerminate(t *testing.T) {
	up := agentapi.Server{Component: galera.ComponentPrimary, State: galera.NodeSynced, Ready: true, ClusterUUID: uuidA}
	for name, c := range map[string]struct {
		edit   func(*agentapi.Server)
		formed string
		want   string
	}{
		"joined":            {func(*agentapi.Server) {}, "", ""},
		"bootstrapped":      {func(*agentapi.Server) {}, uuidA, ""},
		"bootstrapped anew": {func(*agentapi.Server) {}, uuidB, agentapi.FailureForeignUUID},
		"zero":              {func(s *agentapi.Server) { s.ClusterUUID = galera.ZeroUUID }, "", agentapi.FailureZeroUUID},
		"zero, after an order": {func(s *agentapi.Server) { s.ClusterUUID = galera.ZeroUUID }, uuidA,
			agentapi.FailureZeroUUID},
		"zero, still joining": {func(s *agentapi.Server) {
			s.ClusterUUID, s.State, s.Ready = galera.ZeroUUID, galera.NodeJoining, false
		}, "", ""},
		"zero, no quorum": {func(s *agentapi.Server) {
			s.ClusterUUID, s.Component = galera.ZeroUUID,
				galera.ComponentNonPrimary
		}, "", ""},
		"uuid not known yet": {func(s *agentapi.Server) { s.ClusterUUID = "" }, uuidA, ""},
	} {
		s := up
		c.edit(&s)
		got := ""
		if f := ReasonToTerminate(&s, c.formed); f != nil {
			got = f.Reason
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if ReasonToTerminate(nil, uuidA) != nil {
		t.Error("a server that does not answer was judged a danger to the data")
	}
}

func TestHasStateAndServes(t *testing.T) {
	for state, want := range map[galera.NodeState][2]bool{
		galera.NodeSynced: {true, true}, galera.NodeDonor: {true, false}, galera.NodeJoined: {true, false},
		galera.NodeJoining: {false, false}, galera.NodeUnknown: {false, false},
	} {
		s := &agentapi.Server{Component: galera.ComponentPrimary, State: state, Ready: true, ClusterUUID: uuidA}
		if HasState(s) != want[0] || Serves(s) != want[1] {
			t.Errorf("%q: %v %v", state, HasState(s), Serves(s))
		}
		s.ClusterUUID = galera.ZeroUUID
		if HasState(s) || Serves(s) {
			t.Errorf("%q without a history", state)
		}
	}
	if HasState(nil) || Serves(nil) {
		t.Error("nil")
	}
}

func TestJoinKind(t *testing.T) {
	for name, c := range map[string]struct {
		transfer bool
		from, to galera.Position
		want     string
	}{
		"transfer":       {true, galera.Position{}, at(5), "SST"},
		"other history":  {false, galera.Position{UUID: uuidB, Seqno: 5}, at(5), "SST"},
		"missed some":    {false, at(3), at(5), "IST"},
		"missed nothing": {false, at(5), at(5), "None"},
	} {
		if got := JoinKind(c.transfer, c.from, c.to); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
