package measure

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"database/sql"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/galera-operator/galera-operator/internal/bench/cluster"
	"github.com/galera-operator/galera-operator/internal/bench/result"
	"github.com/galera-operator/galera-operator/internal/bench/transport"
)

const (
	// serverIP has the database's port to itself, whatever else there is on this host.
	serverIP     = "127.0.0.33"
	rootPassword = "it's a \"secret\" \\ #1"
)

// mariadb is a real mariadbd.
type mariadb struct{ db *sql.DB }

func startMariaDB(t *testing.T, options ...string) mariadb {
	t.Helper()
	dir := shortDir(t)
	data, socket := filepath.Join(dir, "data"), filepath.Join(dir, "db.sock")
	if out, err := exec.Command("mariadb-install-db", "--no-defaults", "--auth-root-authentication-method=normal",
		"--datadir="+data, "--user=root").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	start(t, append([]string{"mariadbd", "--no-defaults", "--user=root", "--datadir=" + data, "--socket=" + socket,
		"--bind-address=" + serverIP, "--skip-name-resolve",
		"--innodb-buffer-pool-size=32M", "--pid-file=" + filepath.Join(dir, "db.pid")}, options...)...)
	cfg := mysql.NewConfig()
	cfg.User, cfg.Net, cfg.Addr = "root", "unix", socket
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		t.Fatal(err)
	}
	m := mariadb{sql.OpenDB(connector)}
	t.Cleanup(func() { _ = m.db.Close() })
	for end := time.Now().Add(30 * time.Second); m.db.Ping() != nil &&
		time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
	}
	for _, statement := range []string{"DROP USER IF EXISTS root@'127.0.0.1'",
		"CREATE USER root@'%' IDENTIFIED BY PASSWORD '" + cluster.NativeHash(rootPassword) + "'",
		"GRANT ALL ON *.* TO root@'%'"} {
		if _, err := m.db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// count reads one of the server's counters.
func (m mariadb) count(t *testing.T, name string) (n int64) {
	t.Helper()
	if err := m.db.QueryRow("SHOW GLOBAL STATUS LIKE '"+name+"'").Scan(&name, &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// start starts a program, and shows its words when the test fails.
func start(t *testing.T, args ...string) {
	t.Helper()
	cmd := exec.Command(args[0], args[1:]...)
	var words bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &words, &words, 2*time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%s says:\n%s", args[0], words.String())
		}
	})
}

// shortDir is one whose sockets' names are not too long.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "px") //nolint:usetesting // see above
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// newAuthority makes a CA and a certificate of it for the server: ca.crt, tls.crt and tls.key.
func newAuthority(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ca := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ca"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	leaf := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "db"}, NotBefore: ca.NotBefore,
		NotAfter: ca.NotAfter, IPAddresses: []net.IP{net.ParseIP(serverIP)}}
	for name, template := range map[string]*x509.Certificate{"ca.crt": ca, "tls.crt": leaf} {
		der, err := x509.CreateCertificate(rand.Reader, template, ca, key.Public(), key)
		if err != nil {
			t.Fatal(err)
		}
		writePEM(t, filepath.Join(dir, name), "CERTIFICATE", der)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	writePEM(t, filepath.Join(dir, "tls.key"), "PRIVATE KEY", der)
	return dir
}

func writePEM(t *testing.T, file, kind string, der []byte) {
	t.Helper()
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
}

// startProxy starts a real ProxySQL with our configuration, and returns its socket.
func startProxy(t *testing.T, edit func(*transport.ProxySettings)) string {
	t.Helper()
	s := transport.ProxySettings{Host: serverIP, Port: 3306, User: "root", Hash: cluster.NativeHash(rootPassword),
		AdminPassword: "WORD", Connections: 4}
	edit(&s)
	dir, file := shortDir(t), filepath.Join(t.TempDir(), transport.ProxyConfigFile)
	if err := os.WriteFile(file, transport.ProxyConfig(dir, s), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- RunSidecar(ctx, transport.UsageSocket(dir), transport.ProxyCommand(dir, file)) }()
	t.Cleanup(func() { stop(); t.Log(<-ended) })
	return transport.ProxySocket(dir)
}

// TestProxySQL: what connects to it is pooled, and a run counts only when what it speaks with the database is the
// arm's. It needs both programs in one place: compile it (CGO_ENABLED=0 go test -c -o runner.test
// ./internal/bench/measure), and let root run it in a container of the database image with ProxySQL in it (/runner.test
// -test.run=ProxySQL -test.v).
func TestProxySQL(t *testing.T) {
	for _, program := range []string{"mariadbd", "mariadb-install-db", "proxysql"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(program + " is not here; it needs the database's image with ProxySQL in it")
		}
	}
	ours, another := newAuthority(t), newAuthority(t)
	tls := []string{"--ssl-ca=" + ours + "/ca.crt", "--ssl-cert=" + ours + "/tls.crt", "--ssl-key=" + ours + "/tls.key"}
	verify := func(dir string) func(*transport.ProxySettings) {
		return func(s *transport.ProxySettings) { s.CA = filepath.Join(dir, "ca.crt") }
	}
	plain := func(*transport.ProxySettings) {}
	for name, tc := range map[string]struct {
		server []string
		proxy  func(*transport.ProxySettings)
		tls    bool
		want   string
	}{
		"plain":                {[]string{"--skip-ssl"}, plain, false, ""},
		"encrypted":            {append(tls, "--require-secure-transport", "--tls-version=TLSv1.3"), verify(ours), true, ""},
		"another CA":           {tls, verify(another), true, "certificate"},
		"plain on encrypted":   {tls, plain, true, "the arm wants TLS, and the proxy speaks none with the database"},
		"refused in plaintext": {append(tls, "--require-secure-transport"), plain, true, "through the proxy: Error "},
		"encrypted on plain": {tls, verify(ours), false,
			"the arm wants no TLS, and the proxy speaks TLSv1.3 with the database"},
		"another password": {[]string{"--skip-ssl"}, func(s *transport.ProxySettings) { s.Hash = cluster.NativeHash("x") },
			false, "through the proxy: Error 1045 (28000): ProxySQL Error: Access denied for user 'root'"},
	} {
		t.Run(name, func(t *testing.T) {
			m := startMariaDB(t, tc.server...)
			r := &runner{target: target{password: rootPassword, ca: filepath.Join(ours, "ca.crt")}}
			r.plan = result.Plan{Hosts: []string{serverIP}, TLS: tc.tls, Proxy: startProxy(t, tc.proxy),
				Connect: &result.Connect{Threads: 4, Connections: 1000, TLSVersion: "1.3"}}
			err := (connecting{r}).connect(t.Context())
			if tc.want != "" {
				if err == nil || !strings.Contains(err.Error(), tc.want) {
					t.Fatalf("got %v", err)
				}
				t.Log(err)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got := r.out.Connect
			if got.Connections != 1000 || got.Errors != 0 || strings.HasPrefix(got.Protocol, "TLSv1.3") != tc.tls {
				t.Errorf("got %+v", got)
			}
			if r.out.Proxy.CPUSeconds == 0 || r.out.Client.CPUSeconds <= r.out.Proxy.CPUSeconds || !got.Pooled ||
				got.Backend > 20 {
				t.Errorf("the proxy's part: %+v of %+v; %+v", r.out.Proxy, r.out.Client, got)
			}
			if made, asked := m.count(t, "Connections"), m.count(t, "Com_select"); made > 20 || asked < 1000 {
				t.Errorf("%d connections and %d queries reached the database", made, asked)
			}
			t.Logf("%.0f connections per second; %d connections and %d queries reached the database; %s %s", got.PerSecond,
				m.count(t, "Connections"), m.count(t, "Com_select"), got.Protocol, got.Cipher)
		})
	}
}
