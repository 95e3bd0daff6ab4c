package transport

import (
	"fmt"
	"path"
	"strings"
)

const (
	// ProxyDir is where proxy and client meet; nothing else is written to.
	ProxyDir = "/run/galera-proxy"
	// ProxyConfigDir is where the configuration is mounted.
	ProxyConfigDir = "/etc/galera-operator/proxy"
	// ProxyConfigFile is its name there, and its key in the Secret.
	ProxyConfigFile = "proxysql.cnf"
)

// ProxySettings are what differs from run to run.
type ProxySettings struct {
	// Host and Port of the database.
	Host string
	Port int32
	// User and Hash are the account clients log in with. Of its password, ProxySQL needs the hash only: it takes from the
	// clients' login what it logs in to the database with.
	User, Hash string
	// AdminPassword of the proxy itself. It is not used; without one it would be a well-known word.
	AdminPassword string
	// CA is the file to verify the database's certificate with; "" for no TLS.
	CA string
	// Connections to the database there may be at once.
	Connections int
}

// ProxyCommand starts ProxySQL with the configuration in a file. It begins with nothing else, writes to dir only, and
// asks no server for a newer version.
func ProxyCommand(dir, file string) []string {
	return []string{"proxysql", "--foreground", "--exit-on-error", "--initial", "--no-monitor", "--no-version-check",
		"--datadir", dir, "--config", file}
}

// ProxySocket is where clients connect to a proxy that writes to dir.
func ProxySocket(dir string) string { return path.Join(dir, "mysql.sock") }

// UsageSocket is where the proxy's container reports what it has used.
func UsageSocket(dir string) string { return path.Join(dir, "usage.sock") }

// ProxyConfig returns the configuration of a proxy that writes to dir.
func ProxyConfig(dir string, s ProxySettings) []byte {
	var b strings.Builder
	section(&b, "admin_variables", [][2]string{
		// It cannot be switched off: it listens where no other process gets.
		{"mysql_ifaces", text(path.Join(dir, "admin.sock"))},
		{"admin_credentials", text("admin:" + s.AdminPassword)},
		{"stats_credentials", text("stats:" + s.AdminPassword)},
	})
	section(&b, "mysql_variables", append([][2]string{
		{"interfaces", text(ProxySocket(dir))},
		{"have_ssl", "false"},
		{"monitor_enabled", "false"},
		// All connections stay: a tenth of them by default.
		{"free_connections_pct", "100"},
		// The first failure goes to the client: it explains why, and what is tried again is in no figure.
		{"connect_retries_on_failure", "0"},
		{"connect_timeout_server", "10000"},
	}, verification(s)...))
	useTLS := 0
	if s.CA != "" {
		useTLS = 1
	}
	fmt.Fprintf(&b, "mysql_servers = ({ address=%s, port=%d, hostgroup=0, max_connections=%d, use_ssl=%d })\n",
		text(s.Host), s.Port, s.Connections, useTLS)
	fmt.Fprintf(&b, "mysql_users = ({ username=%s, password=%s, default_hostgroup=0 })\n", text(s.User), text(s.Hash))
	return []byte(b.String())
}

// verification makes the proxy verify the chain of the database's certificate; it does not look at names.
func verification(s ProxySettings) [][2]string {
	if s.CA == "" {
		return nil
	}
	return [][2]string{{"ssl_p2s_ca", text(s.CA)}}
}

func section(b *strings.Builder, name string, settings [][2]string) {
	b.WriteString(name + " =\n{\n")
	for _, s := range settings {
		b.WriteString("  " + s[0] + "=" + s[1] + "\n")
	}
	b.WriteString("}\n")
}

// text quotes what has no quotes in it: names, paths, hashes and passwords of our own.
func text(s string) string { return `"` + s + `"` }
