//go:build integration

package agent_test

import (
	"strings"
	"testing"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/galera"
)

// TestIPv6Only: nodes that have no address of IPv4 form a cluster, join by full and by incremental transfers, and prove
// their encryption.
func TestIPv6Only(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(*agentapi.NodeConfig){
		"TLS, mariadb-backup": nil,
		"TLS, rsync":          func(c *agentapi.NodeConfig) { c.StateTransfer.Method = "Rsync" },
		"in clear": func(c *agentapi.NodeConfig) {
			c.TLS.Replication, c.TLS.StateTransfer = galera.SocketPlain, galera.PolicyDisabled
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorldOn(t, true, 3, edit)
			w.cn = "shop" // stunnel asks for a common name that is among the DNS names
			w.publishCertificate(w.leaf())
			s := &scenario{T: t, world: w}
			s.wait()
			s.form()
			if w.config.TLS.Replication == galera.SocketStrict {
				s.prove()
			}
			s.killOne()
			s.newVolume()
			for _, n := range w.nodes {
				addresses := n.mustSQL("SELECT variable_value FROM information_schema.global_status " +
					"WHERE variable_name = 'wsrep_incoming_addresses'")
				if strings.Count(addresses, "[fd00:213:") != len(w.nodes) {
					t.Errorf("%s: the members' addresses are %s", n.name, addresses)
				}
			}
		})
	}
}

func TestIPv6OnlyArbitrator(t *testing.T) {
	t.Parallel()
	s := newArbitration(t, true)
	s.form()
	s.prove()
	s.lose()
}
