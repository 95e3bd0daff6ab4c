//go:build integration

package agent_test

import (
	"os"
	"os/exec"
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

// needIPv6 skips a test on a host whose kernel gives containers no IPv6.
func needIPv6(t *testing.T) {
	t.Helper()
	off, err := os.ReadFile("/proc/sys/net/ipv6/conf/all/disable_ipv6")
	if err != nil || strings.TrimSpace(string(off)) != "0" {
		t.Skip("the kernel has no IPv6, or net.ipv6.conf.all.disable_ipv6 is set")
	}
}

// dropIPv4 takes away the address of IPv4 that Docker gives to every container.
func (n *node) dropIPv4() {
	n.w.t.Helper()
	pid := n.w.run(exec.Command("docker", "inspect", "-f", "{{.State.Pid}}", n.container()))
	n.w.run(exec.Command("nsenter", "-t", pid, "-n", "ip", "-4", "address", "flush", "dev", "eth0"))
}
