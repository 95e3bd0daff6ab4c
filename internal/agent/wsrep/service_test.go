package wsrep

import (
	"slices"
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

func TestTimesWithoutServiceAreKept(t *testing.T) {
	var s Service
	if s.Back(); s.Away() || len(s.away) != 0 {
		t.Fatalf("a start is no loss of service: %+v", s.away)
	}
	for range maxAway + 2 {
		s.Leave()
		s.Leave()
		if !s.Away() {
			t.Fatal("it is away")
		}
		s.Back()
	}
	if len(s.away) != maxAway || s.Away() || s.away[0].To.Before(s.away[0].From) {
		t.Errorf("%+v", s.away)
	}
}

func named(names ...string) (out []agentapi.GroupMember) {
	for _, n := range names {
		out = append(out, agentapi.GroupMember{UUID: "of it", Name: n})
	}
	return out
}

func TestNodesOf(t *testing.T) {
	const first, second = "a-cluster-with-quite-a-long-name-0", "a-cluster-with-quite-a-long-name-1"
	peers := []agentapi.Peer{{Name: first}, {Name: second}, {Name: "shop-0"}}
	got := NodesOf(named("shop-0", agentapi.GroupName(second), agentapi.GroupName(first), "arbitrator.x"), peers)
	if want := named("shop-0", second, first, "arbitrator.x"); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestMembersAreOfTheViewOfTheStatus(t *testing.T) {
	var a View
	a.Take(named("shop-0", "shop-1"), true)
	view := func(id int64, size int) agentapi.Server {
		return agentapi.Server{Component: galera.ComponentPrimary, ViewID: id, Size: size}
	}
	if got := a.Members(view(3, 3), time.Now()); got != nil {
		t.Errorf("of another size: %v", got)
	}
	if got := a.Members(view(4, 2), time.Now()); len(got) != 2 {
		t.Errorf("of this view: %v", got)
	}
	if got := a.Members(view(5, 2), time.Now()); len(got) != 2 {
		t.Errorf("the status was behind: %v", got)
	}
	if got := a.Members(view(6, 2), time.Now().Add(fastAfterPoke)); got != nil {
		t.Errorf("of a view that was not reported: %v", got)
	}
	before := time.Now()
	a.Take(named("shop-1", "shop-2"), true)
	if got := a.Members(view(4, 2), before.Add(-time.Second)); got != nil {
		t.Errorf("asked for before they were reported: %v", got)
	}
	if got := a.Members(view(6, 2), time.Now()); len(got) != 2 || got[1].Name != "shop-2" {
		t.Errorf("reported: %v", got)
	}
}

// TestMembersWithoutQuorum: who is in the component of a member without quorum is known, so that the other members of
// it need not be stopped before it is made Primary.
func TestMembersWithoutQuorum(t *testing.T) {
	lost := agentapi.Server{Component: galera.ComponentNonPrimary, Size: 2}
	before := time.Now()
	var a View
	a.Take(named("shop-0", "shop-1", "shop-2"), true)
	if got := a.Members(lost, time.Now()); got != nil {
		t.Errorf("the names are of the view before: %v", got)
	}
	a.Take(named("shop-0", "shop-1"), false)
	if got := a.Members(lost, time.Now()); !slices.Equal(got, named("shop-0", "shop-1")) {
		t.Errorf("without quorum: %v", got)
	}
	if got := a.Members(lost, before); got != nil {
		t.Errorf("asked for before they were reported: %v", got)
	}
	var next View
	next.Load(a.Save())
	if got := next.Members(lost, time.Now()); len(got) != 2 {
		t.Errorf("after the agent was replaced: %v", got)
	}
	for what, s := range map[string]agentapi.Server{
		"another size":  {Component: galera.ComponentNonPrimary, Size: 1},
		"Primary again": {Component: galera.ComponentPrimary, Size: 2, ViewID: 9},
		"in no group":   {Component: galera.ComponentDisconnected, Size: 2},
	} {
		if got := a.Members(s, time.Now()); got != nil {
			t.Errorf("%s: %v", what, got)
		}
	}
}
