package agent

import (
	"slices"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

func TestTimesWithoutServiceAreKept(t *testing.T) {
	a := &agent{}
	in := agentapi.Server{Component: galera.ComponentPrimary, Ready: true}
	alone := agentapi.Server{Component: galera.ComponentNonPrimary}
	see := func(s agentapi.Server) {
		a.status = &s
		a.watchService()
	}
	see(alone)
	if len(a.away) != 0 {
		t.Fatalf("a start is no loss of service: %+v", a.away)
	}
	a.run.served = true
	for range awayKept + 2 {
		see(alone)
		see(alone)
		if !a.isAway() {
			t.Fatal("it is away")
		}
		see(in)
	}
	if len(a.away) != awayKept || a.isAway() || a.away[0].To.Before(a.away[0].From) {
		t.Errorf("%+v", a.away)
	}
	a.leaveService()
	a.run.stopping = true
	see(in)
	if !a.isAway() {
		t.Error("it says that it serves, but it stops and refuses queries")
	}
}

func TestNodesOf(t *testing.T) {
	const first, second = "a-cluster-with-quite-a-long-name-0", "a-cluster-with-quite-a-long-name-1"
	peers := []agentapi.Peer{{Name: first}, {Name: second}, {Name: "shop-0"}}
	got := nodesOf([]string{"shop-0", agentapi.GroupName(second), agentapi.GroupName(first), "arbitrator.x"}, peers)
	if want := []string{"shop-0", second, first, "arbitrator.x"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestMembersAreOfTheViewOfTheStatus(t *testing.T) {
	a := &agent{}
	a.takeMembers([]string{"shop-0", "shop-1"})
	view := func(id int64, size int) agentapi.Server {
		return agentapi.Server{Component: galera.ComponentPrimary, ViewID: id, Size: size}
	}
	if got := a.membersOf(view(3, 3), time.Now()); got != nil {
		t.Errorf("of another size: %v", got)
	}
	if got := a.membersOf(view(4, 2), time.Now()); len(got) != 2 {
		t.Errorf("of this view: %v", got)
	}
	if got := a.membersOf(view(5, 2), time.Now()); len(got) != 2 {
		t.Errorf("the status was behind: %v", got)
	}
	if got := a.membersOf(view(6, 2), time.Now().Add(fastAfterPoke)); got != nil {
		t.Errorf("of a view that was not told of: %v", got)
	}
	before := time.Now()
	a.takeMembers([]string{"shop-1", "shop-2"})
	if got := a.membersOf(view(4, 2), before.Add(-time.Second)); got != nil {
		t.Errorf("asked for before they were told of: %v", got)
	}
	if got := a.membersOf(view(6, 2), time.Now()); len(got) != 2 || got[1] != "shop-2" {
		t.Errorf("told of: %v", got)
	}
}
