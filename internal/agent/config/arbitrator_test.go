package config

import (
	"strings"
	"testing"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/platform"
)

func pairConfig(mode galera.SocketMode) Input {
	return Input{Name: "shop-0", Address: "10.0.0.1", Provider: "/p.so", User: "mysql", Places: platform.DefaultPlaces(),
		Config: agentapi.NodeConfig{
			Cluster: "shop", Members: []agentapi.Peer{{Name: "shop-0", Host: "a"}, {Name: "shop-1", Host: "b"}},
			Arbitrator: &agentapi.Peer{Name: "shop-arbitrator", Host: "c"},
			TLS: agentapi.TLSConfig{Replication: mode, StateTransfer: galera.PolicyRequired,
				Clients: galera.PolicyRequired, MinVersion: "1.3"},
			StateTransfer: agentapi.StateTransferConfig{Method: MariaBackup},
		}}
}

// TestNodesDialTheArbitrator, and need no restart for it.
func TestNodesDialTheArbitrator(t *testing.T) {
	in := pairConfig(galera.SocketStrict)
	with := Build(in)
	if got, _ := with.MyCnf.Get("mysqld", "wsrep_cluster_address"); got != "gcomm://a,b,c" {
		t.Error(got)
	}
	in.Config.Arbitrator = nil
	if without := Build(in); without.Hash != with.Hash {
		t.Error("an arbitrator would restart every node")
	}
}

func TestBuildArbitrator(t *testing.T) {
	strict, dynamic, plain := BuildArbitrator(pairConfig(galera.SocketStrict)),
		BuildArbitrator(pairConfig(galera.SocketDynamic)), BuildArbitrator(pairConfig(galera.SocketPlain))
	if strict.Hash == dynamic.Hash || dynamic.Hash == plain.Hash {
		t.Error("another encryption needs a restart")
	}
	for _, c := range []struct {
		a              Arbitrator
		tls, dynamical bool
	}{{strict, true, false}, {dynamic, true, true}, {plain, false, false}} {
		if strings.Contains(c.a.Options, "socket.ssl") != c.tls || strings.Contains(c.a.Options,
			"socket.dynamic=yes") != c.dynamical ||
			strings.Contains(c.a.Options, "gcache") || !strings.Contains(c.a.Options, "pc.recovery=no") {
			t.Errorf("%s: %s", c.a.Socket, c.a.Options)
		}
	}
	file := strict.File("shop", "arbitrator.x", "shop-0", pairConfig(galera.SocketStrict).Config.Members)
	for _, line := range []string{"name = arbitrator.x\n", "group = shop\n", "address = gcomm://a,b\n",
		"donor = shop-1,\n", "options = pc.recovery=no;"} {
		if !strings.Contains(file, line) {
			t.Errorf("no %q in\n%s", line, file)
		}
	}
}
