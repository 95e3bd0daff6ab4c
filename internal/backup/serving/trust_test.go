//go:build integration

package serving

import (
	"crypto/tls"
	"crypto/x509/pkix"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/pki/pkitest"
)

// TestTrust: a server is streamed from only if its certificate is of the mounted CA, also by way of another one, and
// names the endpoint's host, unless any name will do. Where it asks for a certificate of clients, it gets the mounted
// one. Files that are exchanged count from the next stream on.
func TestTrust(t *testing.T) {
	t.Parallel()
	root, other, clients := pkitest.NewCA("private"), pkitest.NewCA("other"), pkitest.NewCA("clients")
	between := root.Intermediate("between")
	cert, key := between.Issue(pkitest.Leaf{Names: []string{"localhost"}})
	own, ownKey := clients.Issue(pkitest.Leaf{Subject: pkix.Name{CommonName: "second-site"}})
	theirs, theirKey := other.Issue(pkitest.Leaf{Subject: pkix.Name{CommonName: "second-site"}})
	dir, ca, client := newDir(t), t.TempDir(), t.TempDir()
	write := func(dir string, files map[string][]byte) {
		t.Helper()
		for name, data := range files {
			if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil { //nolint:gosec // a test's
				t.Fatal(err)
			}
		}
	}
	write(dir, map[string][]byte{"tls.crt": append(cert, between.PEM...), "tls.key": key, "clients.crt": clients.PEM})
	m := startIn(t, dir, "galera-mariadb:11.8", "--server-id=1", "--log-bin=binlog", "--binlog-format=ROW",
		"--ssl-cert=/run/d/tls.crt", "--ssl-key=/run/d/tls.key", "--ssl-ca=/run/d/clients.crt",
		"--require-secure-transport=ON")
	for user, require := range map[string]string{"any": "SSL", "known": "X509", "named": "SUBJECT '/CN=second-site'"} {
		m.unlogged("CREATE USER " + user + " IDENTIFIED BY 'secret' REQUIRE " + require)
		m.unlogged("GRANT REPLICATION SLAVE ON *.* TO " + user)
	}
	m.run("CREATE DATABASE shop", "CREATE DATABASE crm")
	at, err := binlog.Parse(m.value("SELECT @@gtid_binlog_pos"))
	if err != nil {
		t.Fatal(err)
	}
	l := newLink(t)
	l.to(m)
	_, port, err := net.SplitHostPort(l.address)
	if err != nil {
		t.Fatal(err)
	}
	open := func(what, user, host string, of task.Stream, want string) {
		t.Helper()
		d := dialled{who: func() (account, error) { return account{user, "secret"}, nil },
			trust: func(host string) (*tls.Config, error) { return trusted(of, host, ca, client) }}
		u, err := d.open(t.Context(), net.JoinHostPort(host, port), at)
		if err == nil {
			u.log.Close()
		}
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", what, err)
		}
	}
	identity, anyName := task.Stream{}, task.Stream{AnyName: true}
	withOwn, anyWithOwn := task.Stream{Client: true}, task.Stream{AnyName: true, Client: true}

	open("no CA", "any", "localhost", identity, "no such file")
	write(ca, map[string][]byte{"ca.crt": []byte("x")})
	open("no certificate in it", "any", "localhost", identity, "spec.replicaOf.tls.caSecretRef")
	for what, pem := range map[string][]byte{"another CA": other.PEM, "the CA of clients": clients.PEM} {
		write(ca, map[string][]byte{"ca.crt": pem})
		open(what, "any", "localhost", identity, "unknown authority")
		open(what+", any name", "any", "localhost", anyName, "unknown authority")
	}
	write(ca, map[string][]byte{"ca.crt": append(other.PEM, root.PEM...)})
	open("the private CA, with another one", "any", "localhost", identity, "")
	open("another name", "any", "127.0.0.1", identity, "127.0.0.1")
	open("any name", "any", "127.0.0.1", anyName, "")

	open("no certificate is shown", "known", "localhost", identity, "Access denied")
	open("none is mounted", "known", "localhost", withOwn, "no such file")
	write(client, map[string][]byte{"tls.crt": theirs, "tls.key": theirKey})
	open("one of another CA", "known", "localhost", withOwn, "it cannot be logged in to")
	write(client, map[string][]byte{"tls.crt": own, "tls.key": ownKey})
	for _, user := range []string{"any", "known", "named"} {
		open("a certificate is shown to "+user, user, "localhost", withOwn, "")
		open("also with any name, to "+user, user, "127.0.0.1", anyWithOwn, "")
	}
	write(client, map[string][]byte{"tls.key": theirKey})
	open("a key of another certificate", "known", "localhost", withOwn, "private key does not match")
}
