package arbitrator

import (
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

func TestNext(t *testing.T) {
	pair := Peers{Component: true}
	long := uncountedTimeout + time.Second
	for name, r := range map[string]struct {
		s    Situation
		want Act
	}{
		"two nodes serve":                      {Situation{Peers: pair}, Start},
		"no node serves":                       {Situation{}, Wait},
		"all are down":                         {Situation{Peers: Peers{Down: true}}, Wait},
		"no garbd":                             {Situation{Missing: true, Peers: pair}, Wait},
		"no certificate":                       {Situation{Waiting: "for a certificate", Peers: pair}, Wait},
		"after a failure":                      {Situation{Pause: true, Peers: pair}, Wait},
		"the pod ends":                         {Situation{Draining: true, Peers: pair}, Exit},
		"it is counted":                        {Situation{Running: true, Counted: true, Peers: pair}, Wait},
		"counted, with an old certificate":     {Situation{Running: true, Counted: true, Stale: true, Peers: pair}, Wait},
		"not counted, with an old certificate": {Situation{Running: true, Stale: true, Peers: pair}, Stop},
		"not counted yet":                      {Situation{Running: true, Uncounted: time.Second, Peers: pair}, Wait},
		"not counted for long":                 {Situation{Running: true, Uncounted: long, Peers: pair}, Stop},
		"quorum is lost for a while":           {Situation{Running: true, Uncounted: 10 * time.Second}, Wait},
		"the last node has left":               {Situation{Running: true, Peers: Peers{Down: true}}, Stop},
		"by order":                             {Situation{Running: true, Counted: true, Ordered: true, Peers: pair}, Stop},
		"by order, while nodes reload": {Situation{Running: true, Counted: true, Ordered: true, Reloading: true,
			Peers: pair}, Wait},
		"two nodes serve, and reload": {Situation{Reloading: true, Peers: pair}, Wait},
		"its pod ends, while nodes reload": {Situation{Running: true, Counted: true, Draining: true, Reloading: true,
			Peers: pair}, Stop},
		"its pod ends": {Situation{Running: true, Counted: true, Draining: true, Peers: pair}, Stop},
	} {
		if got := Next(r.s); got.Act != r.want {
			t.Errorf("%s: %+v, want %s", name, got, r.want)
		}
	}
}

func view(c galera.ComponentState, members ...string) agentapi.PeerView {
	return agentapi.PeerView{Component: c, Members: members}
}

func TestSummarise(t *testing.T) {
	both := []agentapi.Peer{{Name: "shop-0"}, {Name: "shop-1"}}
	const primary, down, apart = galera.ComponentPrimary, galera.ComponentUnknown, galera.ComponentNonPrimary
	for name, r := range map[string]struct {
		views map[string]agentapi.PeerView
		want  Peers
	}{
		"no peer answers": {nil, Peers{}},
		"both serve": {map[string]agentapi.PeerView{"shop-0": view(primary, "shop-0", "shop-1"),
			"shop-1": view(primary, "shop-0", "shop-1")}, Peers{Component: true}},
		"the second is copying": {map[string]agentapi.PeerView{"shop-0": view(primary, "shop-0", "shop-1"),
			"shop-1": view(down)}, Peers{Component: true}},
		"one is alone": {map[string]agentapi.PeerView{"shop-0": view(primary, "shop-0", "arbitrator.x"),
			"shop-1": view(down)}, Peers{}},
		"both are down": {map[string]agentapi.PeerView{"shop-0": view(down), "shop-1": view(down)},
			Peers{Down: true}},
		"one is down, one silent": {map[string]agentapi.PeerView{"shop-0": view(down)}, Peers{}},
		"both have lost quorum":   {map[string]agentapi.PeerView{"shop-0": view(apart), "shop-1": view(apart)}, Peers{}},
	} {
		if got := summarise(both, r.views); got != r.want {
			t.Errorf("%s: %+v, want %+v", name, got, r.want)
		}
	}
}

func TestCounted(t *testing.T) {
	views := map[string]agentapi.PeerView{"a": view(galera.ComponentPrimary, "a", "arbitrator.x"),
		"b": view(galera.ComponentNonPrimary, "b", "arbitrator.y")}
	if !Counted(views, "arbitrator.x") || Counted(views, "arbitrator.y") || Counted(views, "arbitrator.z") {
		t.Error("only who is listed in a Primary component counts")
	}
}

func TestGroup(t *testing.T) {
	members := []agentapi.Peer{{Name: "a"}, {Name: "b"}, {Name: "c"}, {Name: "d"}}
	leaving := view(galera.ComponentPrimary)
	leaving.Draining = true
	views := map[string]agentapi.PeerView{"a": view(galera.ComponentPrimary), "b": view(galera.ComponentPrimary),
		"c": view(galera.ComponentNonPrimary), "d": leaving}
	if got := Group(members, views, galera.SocketStrict, 0); len(got) != 2 {
		t.Errorf("%+v", got)
	}
	for attempt, want := range []string{"a", "b", "a"} {
		if got := Group(members, views, galera.SocketDynamic, attempt); len(got) != 1 || got[0].Name != want {
			t.Errorf("attempt %d: %+v, want %s", attempt, got, want)
		}
	}
}
