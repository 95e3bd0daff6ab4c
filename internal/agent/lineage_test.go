package agent

import (
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/agenttest"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

func lineageAgent(t *testing.T, s agentapi.Server) *agent {
	t.Helper()
	a := fresh(t)
	a.run.Proc, a.run.Status = agenttest.Server(t), &s
	return a
}

// TestFirstLineIsKnownBeforeAJoin: a joiner takes over the lines it learns of, and a
// member is reported to be Primary before it serves.
func TestFirstLineIsKnownBeforeAJoin(t *testing.T) {
	a := lineageAgent(t, agentapi.Server{Component: galera.ComponentPrimary, State: galera.NodeJoined,
		ClusterUUID: agenttest.UUID})
	a.run.Kind, a.run.Line = agentapi.OrderInitialise, galera.Line{ID: "firststart-1", Epoch: 1}
	a.judgeServer()
	if l := a.orders.Content().Lineage; a.run.Served || l.Epoch != 1 || l.ID != "firststart-1" ||
		l.Start.UUID != agenttest.UUID || l.Earlier == nil {
		t.Errorf("%+v (served %t)", l, a.run.Served)
	}
}

// TestLinesAreTakenOver: also from a donor, which may be the only one who knows them.
func TestLinesAreTakenOver(t *testing.T) {
	line := galera.FirstLine(galera.Line{Epoch: 1, Start: agenttest.At(0)}).
		Then(galera.Line{Epoch: 4, Start: agenttest.At(40)})
	for state, want := range map[galera.NodeState]int64{galera.NodeDonor: 4, galera.NodeSynced: 4, galera.NodeJoined: 4,
		galera.NodeJoining: 0} {
		a := lineageAgent(t, agentapi.Server{Component: galera.ComponentPrimary, State: galera.NodeSynced, Ready: true,
			ClusterUUID: agenttest.UUID})
		a.onPeers(time.Now(), agenttest.Primary("a", func(p *agentapi.PeerView) { p.State, p.Lineage = state, line }))
		if got := a.orders.Content().Lineage; got.Epoch != want {
			t.Errorf("%s: %+v, want epoch %d", state, got, want)
		}
	}
}

// TestReleasedMemberAsksItsPeersAgain: a member that is ordered to go on, because another one is about to start the
// cluster, joins no peer who was Primary before.
func TestReleasedMemberAsksItsPeersAgain(t *testing.T) {
	a := fresh(t)
	asked := time.Now()
	a.onPeers(asked, agenttest.Primary("a", nil))
	a.commands.Accept(agentapi.Order{ID: "recover-2/b/start", Epoch: 2, Kind: agentapi.OrderStart}, asked,
		func(_ agentapi.OrderResult, err error) {
			if err != nil {
				t.Fatal(err)
			}
		})
	a.onPeers(asked, agenttest.Primary("a", nil))
	if len(a.group.Views) != 0 {
		t.Errorf("it believes %v", a.group.Views)
	}
	a.onPeers(time.Now(), agenttest.Primary("b", nil))
	if len(a.group.Views) != 1 {
		t.Errorf("it does not believe what was reported since")
	}
}
