package agent

import (
	"log/slog"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agent/ordering"
	"github.com/galera-operator/galera-operator/internal/agent/room"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

func lineageAgent(t *testing.T, s agentapi.Server) *agent {
	t.Helper()
	a := &agent{Options: Options{Logger: slog.New(slog.DiscardHandler)}}
	a.openBook(t)
	a.status = &s
	return a
}

// openBook gives an agent an order book, which is written at once.
func (a *agent) openBook(t *testing.T) {
	t.Helper()
	a.orders = ordering.New(room.Loop{Logger: a.Logger}, &a.volume)
	if err := a.orders.Open(t.TempDir()); err != nil {
		t.Fatal(err)
	}
}

// TestFirstLineIsKnownBeforeAnybodyCanJoin: whoever joins takes over the lines it is told of, and a
// member is told to be Primary before it serves.
func TestFirstLineIsKnownBeforeAnybodyCanJoin(t *testing.T) {
	a := lineageAgent(t, agentapi.Server{Component: galera.ComponentPrimary, State: galera.NodeJoined, ClusterUUID: uuidA})
	a.run.kind, a.run.epoch = agentapi.OrderInitialise, 1
	a.judgeServer()
	if l := a.orders.Content().Lineage; a.run.served || l.Epoch != 1 || l.Start.UUID != uuidA || l.Earlier == nil {
		t.Errorf("%+v (served %t)", l, a.run.served)
	}
}

// TestLinesAreTakenOver: also from a donor, which may be the only one who knows them.
func TestLinesAreTakenOver(t *testing.T) {
	line := galera.FirstLine(galera.Line{Epoch: 1, Start: at(0)}).Then(galera.Line{Epoch: 4, Start: at(40)})
	for state, want := range map[galera.NodeState]int64{galera.NodeDonor: 4, galera.NodeSynced: 4, galera.NodeJoined: 4, galera.NodeJoining: 0} {
		a := lineageAgent(t, agentapi.Server{Component: galera.ComponentPrimary, State: galera.NodeSynced, Ready: true, ClusterUUID: uuidA})
		a.onPeers(time.Now(), primary("a", func(p *agentapi.PeerView) { p.State, p.Lineage = state, line }))
		if got := a.orders.Content().Lineage; got.Epoch != want {
			t.Errorf("%s: %+v, want epoch %d", state, got, want)
		}
	}
}

// TestWhoIsLetGoAsksAnew: a member that is told to go on, because another one is about to start the cluster, joins nobody
// who was Primary before.
func TestWhoIsLetGoAsksAnew(t *testing.T) {
	a := lineageAgent(t, agentapi.Server{})
	asked := time.Now()
	a.onPeers(asked, primary("a", nil))
	a.accept(agentapi.Order{ID: "recover-2/b/start", Epoch: 2, Kind: agentapi.OrderStart}, asked, func(_ agentapi.OrderResult, err error) {
		if err != nil {
			t.Fatal(err)
		}
	})
	a.onPeers(asked, primary("a", nil))
	if len(a.peers) != 0 {
		t.Errorf("it believes %v", a.peers)
	}
	a.onPeers(time.Now(), primary("b", nil))
	if len(a.peers) != 1 {
		t.Errorf("it does not believe what it was told since")
	}
}
