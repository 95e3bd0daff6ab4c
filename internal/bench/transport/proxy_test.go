package transport

import (
	"slices"
	"strings"
	"testing"
)

const plain = `admin_variables =
{
  mysql_ifaces="/dir/admin.sock"
  admin_credentials="admin:WORD"
  stats_credentials="stats:WORD"
}
mysql_variables =
{
  interfaces="/dir/mysql.sock"
  have_ssl=false
  monitor_enabled=false
  free_connections_pct=100
  connect_retries_on_failure=0
  connect_timeout_server=10000
}
mysql_servers = ({ address="x-db-0.x-db-nodes.shops.svc", port=3306, hostgroup=0, max_connections=100, use_ssl=0 })
mysql_users = ({ username="root", password="*AB", default_hostgroup=0 })
`

func TestConfig(t *testing.T) {
	encrypted := strings.NewReplacer("use_ssl=0", "use_ssl=1", "_server=10000\n",
		"_server=10000\n  ssl_p2s_ca=\"/ca/ca.crt\"\n").Replace(plain)
	for ca, want := range map[string]string{"": plain, "/ca/ca.crt": encrypted} {
		got := string(ProxyConfig("/dir", ProxySettings{Host: "x-db-0.x-db-nodes.shops.svc", Port: 3306, User: "root",
			Hash: "*AB", AdminPassword: "WORD", CA: ca, Connections: 100}))
		if got != want {
			t.Errorf("CA %q: got\n%s", ca, got)
		}
	}
}

func TestCommand(t *testing.T) {
	args := ProxyCommand("/dir", "/etc/proxysql.cnf")
	for _, want := range []string{"--foreground", "--initial", "--no-version-check", "--no-monitor"} {
		if !slices.Contains(args, want) {
			t.Errorf("%s is missing: %v", want, args)
		}
	}
	if at := slices.Index(args, "--datadir"); at < 0 || args[at+1] != "/dir" {
		t.Errorf("got %v", args)
	}
	if at := slices.Index(args, "--config"); at < 0 || args[at+1] != "/etc/proxysql.cnf" {
		t.Errorf("got %v", args)
	}
}
