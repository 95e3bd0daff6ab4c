package lifecycle

import (
	"testing"
	"time"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

func TestGiveUp(t *testing.T) {
	nonPrimary := primary("a", func(p *agentapi.PeerView) { p.Component = galera.ComponentNonPrimary })
	donor := primary("a", func(p *agentapi.PeerView) {
		p.Component, p.Donation = galera.ComponentNonPrimary, &agentapi.Donation{}
	})
	up := func(c galera.ComponentState) *agentapi.Server { return &agentapi.Server{Component: c} }
	for name, c := range map[string]struct {
		status *agentapi.Server
		run    Run
		peers  map[string]agentapi.PeerView
		want   time.Duration
	}{
		"joining":                     {nil, Run{Joining: true}, primary("a", nil), 0},
		"no peer is Primary any more": {nil, Run{Joining: true}, nonPrimary, noPrimaryTimeout},
		"no peer answers":             {nil, Run{Joining: true}, nil, noPeersTimeout},
		"in a full transfer":          {nil, Run{Joining: true, SST: true, Received: true}, nonPrimary, 0},
		"its donor has begun":         {nil, Run{Joining: true, SST: true}, donor, 0},
		"its donor is gone":           {nil, Run{Joining: true, SST: true}, nonPrimary, noPeersTimeout},
		"waits for a donor":           {nil, Run{Joining: true, SST: true}, primary("a", nil), 0},
		"its donor may be cut off":    {nil, Run{Joining: true, SST: true}, nil, 0},
		"has the copy":                {up(galera.ComponentNonPrimary), Run{Joining: true, SST: true}, nonPrimary, 0},
		"bootstrapping":               {nil, Run{}, nonPrimary, 0},
		"served, busy":                {nil, Run{Served: true}, nonPrimary, 0},
		"running":                     {up(galera.ComponentPrimary), Run{Served: true}, nil, 0},
		"without quorum":              {up(galera.ComponentNonPrimary), Run{Served: true}, nil, 0},
		"left the group, as if for good": {up(galera.ComponentDisconnected), Run{Served: true}, primary("a", nil),
			disconnectedTimeout},
	} {
		c.run.Server, c.run.Peers = c.status, c.peers
		if why, got := GiveUp(c.run); got != c.want || (why != "") != (c.want != 0) {
			t.Errorf("%s: %s (%q), want %s", name, got, why, c.want)
		}
	}
}
