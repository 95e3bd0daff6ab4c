package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/galera-operator/galera-operator/internal/pki/pkitest"
	"github.com/galera-operator/galera-operator/test/harness"
)

const (
	nodes    = 3
	user     = "bench"
	settings = `[mysqld]
user=mysql
datadir=/var/lib/mysql/data
socket=/run/mysqld/mysqld.sock
bind-address=0.0.0.0
skip-name-resolve
binlog_format=ROW
innodb_autoinc_lock_mode=2
innodb_flush_log_at_trx_commit=2
innodb_buffer_pool_size=512M
innodb_log_file_size=512M
max_allowed_packet=64M
wsrep_on=ON
wsrep_provider=%s
wsrep_cluster_name=far
wsrep_cluster_address=gcomm://%s
wsrep_node_name=%s
wsrep_node_address=%s
wsrep_sst_method=rsync
wsrep_provider_options="%sgcache.size=512M;pc.recovery=no;evs.inactive_check_period=PT0.25S;evs.join_retrans_period=PT0.1S;evs.keepalive_period=%s"
`
	socketTLS = "socket.ssl=yes;socket.ssl_cert=/bench/tls.crt;socket.ssl_key=/bench/tls.key;socket.ssl_ca=/bench/ca.crt;"
)

// kind is what distinguishes one cluster from another.
type kind struct {
	tls bool
	// far nodes reach each other through slow devices.
	far bool
	// options are further provider options, each with its semicolon; settings further lines of the server's.
	options, settings string
	// keepalive is evs.keepalive_period, by default the shipped PT0.1S.
	keepalive string
	// suite is the only cipher of all connections, "" for OpenSSL's choice. One of TLS 1.2 is that version's.
	suite string
	// pinned nodes run on one processor each.
	pinned bool
}

// cluster is three nodes. Clients reach them directly.
type cluster struct {
	kind
	dir   string
	names []string
	// outside is where clients reach each node.
	outside []string
}

func newCluster(ctx context.Context, image string, k kind) (c *cluster, err error) {
	c = &cluster{kind: k}
	if c.dir, err = os.MkdirTemp("", "galera-far-"); err != nil {
		return c, err
	}
	if err := c.files(); err != nil {
		return c, err
	}
	suffix := strings.ToLower(rand.Text()[:8])
	for i := range nodes {
		name := fmt.Sprintf("galera-far-%s-%d", suffix, i)
		c.names = append(c.names, name)
		run := []string{"run", "-d", "--name", name, "--user", "root", "--cap-add", "NET_ADMIN", "--device", "/dev/net/tun",
			"-v", "/var/lib/mysql", "-v", c.dir + ":/bench:ro"}
		if c.pinned {
			run = append(run, "--cpuset-cpus", strconv.Itoa(i%runtime.NumCPU()))
		}
		if _, err := harness.Docker(ctx, append(run, image, "sleep", "infinity")...); err != nil {
			return c, err
		}
		address, err := harness.Docker(ctx, "inspect", "--format", "{{.NetworkSettings.IPAddress}}", name)
		if err != nil {
			return c, err
		}
		c.outside = append(c.outside, strings.TrimSpace(address))
	}
	for i := range c.names {
		if err := c.startNode(ctx, i); err != nil {
			return c, err
		}
	}
	return c, c.prepare(ctx)
}

// files are what every container mounts: this program, a certificate, and the delay.
func (c *cluster) files() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	program, err := os.ReadFile(self)
	if err != nil {
		return err
	}
	ca := pkitest.NewCAUntil("far", time.Now().Add(24*time.Hour))
	cert, key := ca.Issue(pkitest.Leaf{Subject: pkix.Name{CommonName: "node"}, Names: []string{"node"},
		Usages: pkitest.Both, NotAfter: time.Now().Add(24 * time.Hour)})
	files := map[string][]byte{"replication": program, "tls.crt": cert, "tls.key": key, "ca.crt": ca.PEM,
		"delay": []byte("0s"), "openssl.cnf": []byte("openssl_conf = init\n[init]\nssl_conf = ssl\n" +
			"[ssl]\nsystem_default = all\n[all]\n" + c.tlsSettings())}
	for name, data := range files {
		//nolint:gosec // a throw-away key on this machine
		if err := os.WriteFile(filepath.Join(c.dir, name), data, 0o755); err != nil {
			return err
		}
	}
	return os.Chmod(c.dir, 0o755) //nolint:gosec // the database's user reads it, too
}

// tlsSettings are lines of OpenSSL's configuration.
func (k kind) tlsSettings() string {
	switch {
	case k.suite == "":
		return ""
	case strings.HasPrefix(k.suite, "TLS_"):
		return "Ciphersuites = " + k.suite + "\n"
	}
	// The server's own certificate, for its clients, is of RSA.
	return "MaxProtocol = TLSv1.2\nCipherString = " + k.suite + ":" + strings.Replace(k.suite, "ECDSA", "RSA", 1) + "\n"
}

// prove returns an error unless every node has its provider options, and speaks by its cipher with a client that offers
// all.
func (c *cluster) prove(ctx context.Context) error {
	for i, name := range c.names {
		has, err := c.query(ctx, i, "SHOW VARIABLES LIKE 'wsrep_provider_options'")
		if err != nil {
			return err
		}
		for want := range strings.SplitSeq(strings.TrimSuffix(c.options, ";"), ";") {
			if want = strings.Replace(want, "=", " = ", 1); !strings.Contains(has, want) {
				return fmt.Errorf("%s does not have the option %s: %s", name, want, has)
			}
		}
		if c.suite == "" || !c.tls {
			continue
		}
		if err := c.proveSuite(ctx, i); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// proveSuite asks a node what it speaks with a client that offers everything. One that has just joined may answer late.
func (c *cluster) proveSuite(ctx context.Context, i int) error {
	says := ""
	for range 10 {
		text, err := c.sh(ctx, i, "openssl s_client -connect "+c.address(i)+":4567 -cert /bench/tls.crt "+
			"-key /bench/tls.key </dev/null 2>&1 | grep -o 'Cipher is .*'")
		if says = strings.TrimSpace(text); err == nil && says == "Cipher is "+c.suite {
			return nil
		}
		time.Sleep(500 * time.Millisecond)
	}
	return fmt.Errorf("it is to speak %s only, and openssl found: %q", c.suite, says)
}

// address is where a node reaches another one.
func (c *cluster) address(i int) string {
	if c.far {
		return fmt.Sprintf("10.88.0.%d", i+1)
	}
	return c.outside[i]
}

// startDevice starts the slow device of a node.
func (c *cluster) startDevice(ctx context.Context, i int) error {
	carry := []string{c.address(i)}
	for j := range c.names {
		if j != i {
			carry = append(carry, c.address(j)+"="+c.outside[j])
		}
	}
	if _, err := harness.Docker(ctx, "exec", "-d", c.names[i], "sh", "-c", "exec /bench/replication -carry "+
		strings.Join(carry, ",")+" >/tmp/carry 2>&1"); err != nil {
		return err
	}
	_, err := c.sh(ctx, i, `for i in $(seq 100); do [ -e /sys/class/net/far0 ] && break; sleep 0.1; done`)
	return err
}

func (c *cluster) startNode(ctx context.Context, i int) error {
	if c.far {
		if err := c.startDevice(ctx, i); err != nil {
			return err
		}
	}
	var group []string
	for j := range c.names {
		group = append(group, c.address(j))
	}
	provider, err := c.sh(ctx, i, `find / -xdev -name libgalera_smm.so | head -n 1`)
	if err != nil {
		return err
	}
	options, first := c.options, ""
	if c.tls {
		options += socketTLS
	}
	if i == 0 {
		first = "--wsrep-new-cluster"
	}
	text := fmt.Sprintf(settings, strings.TrimSpace(provider), strings.Join(group, ","), c.names[i], c.address(i), options,
		cmp.Or(c.keepalive, "PT0.1S")) + c.settings
	if _, err := harness.DockerWithInput(ctx, text, "exec", "-i", c.names[i], "sh", "-euc",
		`cat >/etc/far.cnf; mkdir -p /var/lib/mysql/data /run/mysqld; chown mysql:mysql /var/lib/mysql/data /var/lib/mysql /run/mysqld`); err != nil {
		return err
	}
	if _, err := c.sh(ctx, i,
		`mariadb-install-db --defaults-file=/etc/far.cnf --auth-root-authentication-method=normal --wsrep-on=OFF >/dev/null`); err != nil {
		return err
	}
	if _, err := harness.Docker(ctx, "exec", "-d", "-e", "OPENSSL_CONF=/bench/openssl.cnf", c.names[i], "sh", "-c",
		"exec mariadbd --defaults-file=/etc/far.cnf "+first+" >/tmp/log 2>&1"); err != nil {
		return err
	}
	return c.await(ctx, i, i+1)
}

func (c *cluster) sh(ctx context.Context, i int, script string) (string, error) {
	return harness.Docker(ctx, "exec", c.names[i], "sh", "-euc", script)
}

func (c *cluster) query(ctx context.Context, i int, statement string) (string, error) {
	return harness.DockerWithInput(ctx, statement, "exec", "-i", c.names[i], "mariadb", "-N", "-S",
		"/run/mysqld/mysqld.sock")
}

// await waits until a node is Synced in a component of that size.
func (c *cluster) await(ctx context.Context, i, size int) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	want := fmt.Sprintf("Synced %d", size)
	for {
		out, err := c.query(ctx, i, "SHOW STATUS LIKE 'wsrep_local_state_comment'; SHOW STATUS LIKE 'wsrep_cluster_size'")
		if f := strings.Fields(out); err == nil && len(f) == 4 && f[1]+" "+f[3] == want {
			return nil
		}
		select {
		case <-ctx.Done():
			log, _ := c.sh(context.WithoutCancel(ctx), i, "tail -n 30 /tmp/log; cat /tmp/carry")
			return fmt.Errorf("node %d is not Synced with %d: %w\n%s", i, size, err, log)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func (c *cluster) prepare(ctx context.Context) error {
	_, err := c.query(ctx, 0,
		fmt.Sprintf(
			"CREATE USER %[1]s@'%%' IDENTIFIED BY '%[1]s'; GRANT ALL ON *.* TO %[1]s@'%%'; CREATE DATABASE bench; USE bench; "+
				"CREATE TABLE small (id BIGINT AUTO_INCREMENT PRIMARY KEY, k BIGINT NOT NULL, payload CHAR(120) NOT NULL, KEY "+
				"(k)); "+
				"CREATE TABLE large (id BIGINT AUTO_INCREMENT PRIMARY KEY, payload VARBINARY(1000) NOT NULL)", user))
	return err
}

// setRoundTrip sets the round trip between the nodes, and waits until it is in force.
func (c *cluster) setRoundTrip(ctx context.Context, trip time.Duration) error {
	path := filepath.Join(c.dir, "delay")
	//nolint:gosec // read by the containers
	if err := os.WriteFile(path, []byte(trip.String()), 0o644); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(3 * time.Second):
		return nil
	}
}

func (c *cluster) remove() error {
	var errs []error
	for _, name := range c.names {
		_, err := harness.Docker(context.Background(), "rm", "-f", "-v", name)
		errs = append(errs, err)
	}
	return errors.Join(append(errs, os.RemoveAll(c.dir))...)
}
