package config

import (
	"testing"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// TestRefusedFromTheStart: a server of a cluster that another one has taken over from, or that needs a lease, refuses
// writes from its start, and is not restarted for it.
func TestRefusedFromTheStart(t *testing.T) {
	of := func(n agentapi.NodeConfig) (readOnly, hash string) {
		out := Build(Input{Config: n, Name: "shop-0", Address: "10.0.0.1"})
		readOnly, _ = out.MyCnf.Get("mysqld", "read_only")
		return readOnly, out.Hash
	}
	settings := map[string]string{"max_connections": "10"}
	before, hash := of(agentapi.NodeConfig{Settings: settings})
	after, same := of(agentapi.NodeConfig{Settings: settings, Refuse: true})
	leased, likewise := of(agentapi.NodeConfig{Settings: settings, Lease: true})
	if before != "" || after != "ON" || hash != same || leased != "ON" || likewise != hash {
		t.Errorf("read_only %q, then %q, with a lease %q, %s, %s, %s", before, after, leased, hash, same, likewise)
	}
}
