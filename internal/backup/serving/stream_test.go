//go:build integration

package serving

import (
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
	"github.com/galera-operator/galera-operator/internal/backup/task"
	"github.com/galera-operator/galera-operator/internal/pki"
)

// streamName is what the certificates of the servers name.
const streamName = "stream.test"

// TestStream: a replica is sent what a server writes before it is archived, goes on with the archive when the stream
// breaks, and returns. A server that has another transaction with the replica's number is not streamed from.
func TestStream(t *testing.T) {
	for name, image := range map[string]string{"11.8": "galera-mariadb:11.8", "10.11": "galera-mariadb:10.11"} {
		t.Run(name, func(t *testing.T) {
			if name == "10.11" && os.Getenv("GALERA_SLOW") == "" {
				t.Skip("GALERA_SLOW is not set")
			}
			t.Parallel()
			s := &streamScene{scene: scene{T: t, whole: t}, link: newLink(t)}
			s.source = s.server(image, "--server-id=1")
			s.replica = start(t, image, "--server-id=7", "--log-bin=own", "--log-slave-updates", "--gtid-domain-id=9",
				"--slave-net-timeout=4", "--gtid-strict-mode=1", "--skip-slave-start")
			s.link.to(s.source)
			for _, step := range []struct {
				name string
				run  func(*streamScene)
			}{
				{"before it is archived", (*streamScene).ahead},
				{"what the server writes for itself", (*streamScene).foreign},
				{"the connection is cut for a moment", (*streamScene).cut},
				{"the stream is broken", (*streamScene).broken},
				{"the stream returns", (*streamScene).returns},
				{"an end", (*streamScene).ends},
				{"the replica is killed", (*streamScene).killed},
				{"the server counts the same numbers again", (*streamScene).counts},
				{"what was streamed was lost", (*streamScene).lost},
			} {
				if !t.Run(step.name, func(t *testing.T) { s.T, s.written.T, s.source.T, s.replica.T = t, t, t, t; step.run(s) }) {
					break
				}
			}
		})
	}
}

type streamScene struct {
	scene
	link  *link
	image string
	roots *x509.CertPool
}

// server starts one with a certificate.
func (s *streamScene) server(image string, options ...string) *mariadb {
	s.Helper()
	s.image = image
	dir := newDir(s.whole)
	cert, key, err := pki.SelfSignServer(time.Now().Add(-time.Hour), time.Now().Add(time.Hour), streamName)
	if err != nil {
		s.Fatal(err)
	}
	if s.roots == nil {
		s.roots = x509.NewCertPool()
	}
	s.roots.AppendCertsFromPEM(cert)
	for name, data := range map[string][]byte{"tls.crt": cert, "tls.key": key} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil { //nolint:gosec // a test's
			s.Fatal(err)
		}
	}
	m := startIn(s.whole, dir, image, append(options, "--gtid-domain-id=3", "--log-bin=binlog", "--binlog-format=ROW",
		"--binlog-checksum=CRC32",
		"--ssl-cert=/run/d/tls.crt", "--ssl-key=/run/d/tls.key", "--require-secure-transport=ON")...)
	m.mine()
	m.unlogged("CREATE USER stream IDENTIFIED BY 'a \\\\ secret'")
	m.unlogged("GRANT REPLICATION SLAVE ON *.* TO stream")
	return m
}

// mine has the test write in the domain that is followed, and not in that of the server, as clients of a node do.
func (m *mariadb) mine() {
	m.Helper()
	cfg := mysql.NewConfig()
	cfg.User, cfg.Net, cfg.Addr, cfg.MaxAllowedPacket = "root", "unix", filepath.Join(m.dir, "s"), 64<<20
	cfg.Params = map[string]string{"gtid_domain_id": "0"}
	c, err := mysql.NewConnector(cfg)
	if err != nil {
		m.Fatal(err)
	}
	_ = m.DB.Close()
	m.DB = sql.OpenDB(c)
}

// open has the archive served, and the server streamed.
func (s *streamScene) open(address, line string) {
	s.Helper()
	s.written.streams = &streams{line: line, pinned: line, servers: []string{"127.0.0.1:1", s.link.address},
		dialled: dialled{who: func() (account, error) { return account{"stream", `a \ secret`}, nil },
			trust: func(string) (*tls.Config, error) {
				return &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: s.roots, ServerName: streamName}, nil
			}}}
	s.serve(address)
}

func (s *streamScene) streamed(what string, ok func(task.Streamed) bool) {
	s.Helper()
	s.replica.until(what, func() bool {
		of, _ := s.written.streams.report()
		return ok(*of)
	})
}

func (s *streamScene) connected() {
	s.Helper()
	s.streamed("streaming", func(of task.Streamed) bool {
		return of.Connected && of.Endpoint == s.link.address && of.Error == ""
	})
}

// ahead: the replica has what is not archived; before, all of the archive. A server that does not answer is passed by.
func (s *streamScene) ahead() {
	s.source.run("CREATE DATABASE shop", "CREATE TABLE shop.t (id INT PRIMARY KEY AUTO_INCREMENT, v LONGTEXT NOT NULL)")
	at := s.position()
	s.archiveLogs()
	s.written = *newWritten(s.whole, at)
	s.open("0.0.0.0:0", "")
	s.replica.run("CREATE DATABASE shop", "CREATE TABLE shop.t (id INT PRIMARY KEY AUTO_INCREMENT, v LONGTEXT NOT NULL)",
		"RESET MASTER", "SET GLOBAL gtid_slave_pos = '"+at.String()+"'")
	s.change()
	s.write(20)
	s.archiveLogs()
	s.replica.run("START SLAVE")
	s.equal()
	if of, line := s.written.streams.report(); of.Connected || line != "h/a" {
		s.Errorf("streams before the line of history is recorded: %+v, %q", of, line)
	}
	s.stop()
	s.open(fmt.Sprintf("0.0.0.0:%d", s.port), "h/a")
	s.connected()
	s.write(20)
	s.source.run("INSERT INTO shop.t (v) VALUES (REPEAT('large', 4 * 1024 * 1024))",
		"ALTER TABLE shop.t ADD n INT DEFAULT 5", "FLUSH TABLES")
	s.equal()
	s.idleStream()
}

// idleStream: a stream on which nothing is sent for longer than the replica waits is kept by heartbeats.
func (s *streamScene) idleStream() {
	s.Helper()
	s.heartbeats(4)
	s.replica.status("Slave_IO_Running", "Yes")
	s.connected()
}

// foreign: a transaction of another domain that the server has written for itself is not followed, one of another
// server ends the stream.
func (s *streamScene) foreign() {
	s.inSession("SET SESSION gtid_domain_id = 3", "CREATE DATABASE local_only")
	s.write(3)
	s.equalSums()
	s.connected()
	s.replica.is("SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = 'local_only'", "0")
	s.inSession("SET SESSION gtid_domain_id = 4", "SET SESSION server_id = 44", "CREATE DATABASE foreign_one")
	s.streamed("refused", func(of task.Streamed) bool { return strings.Contains(of.Error, "another server") })
}

func (s *streamScene) inSession(statements ...string) {
	s.Helper()
	conn, err := s.source.Conn(s.T.Context())
	if err != nil {
		s.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	for _, q := range append(statements, "SET SESSION gtid_domain_id = 0", "SET SESSION server_id = 1") {
		if _, err := conn.ExecContext(s.T.Context(), q); err != nil {
			s.Fatalf("%s: %v", q, err)
		}
	}
}

// position0 is domain0.
func (s *streamScene) position0() binlog.GTID {
	s.Helper()
	at, err := binlog.Parse(s.domain0())
	if err != nil {
		s.Fatal(err)
	}
	return at
}

// store archives what was written since it was called last.
func (s *streamScene) store() {
	s.Helper()
	content, last, n := [][]byte{}, binlog.GTID{}, 0
	for _, g := range s.transactions() {
		if g.of.Domain == 0 {
			content, last, n = append(content, g.events), g.of, n+1
		}
	}
	s.written.add(last, n, append([][]byte{s.format}, content...)...)
}

// domain0 is the position in the domain that is followed.
func (s *streamScene) domain0() string {
	s.Helper()
	for _, one := range strings.Split(s.source.value("SELECT @@gtid_binlog_pos"), ",") {
		if strings.HasPrefix(one, "0-") {
			return one
		}
	}
	s.Fatal("no position")
	return ""
}

func (s *streamScene) equalSums() {
	s.Helper()
	s.replica.is("SELECT @@gtid_slave_pos", s.domain0())
	s.replica.is(sums, s.source.value(sums))
}

// cut: what was sent is known, so that the stream goes on without the archive.
func (s *streamScene) cut() {
	s.connectedAgain()
	s.link.cut()
	s.write(5)
	s.link.to(s.source)
	s.connectedAgain()
	s.equalSums()
}

func (s *streamScene) connectedAgain() {
	s.Helper()
	s.replica.until("it goes on", func() bool {
		of, _ := s.written.streams.report()
		return of.Connected
	})
}

// broken: the archive is followed, and the reason is known.
func (s *streamScene) broken() {
	s.link.cut()
	s.streamed("broken", func(of task.Streamed) bool { return !of.Connected && of.Error != "" })
	s.write(10)
	s.store()
	s.equalSums()
}

func (s *streamScene) returns() {
	s.link.to(s.source)
	s.connectedAgain()
	s.write(10)
	s.equalSums()
}

func (s *streamScene) ends() {
	s.replica.run("STOP SLAVE")
	s.write(5)
	end := s.domain0()
	s.write(5)
	for range 2 {
		s.replica.run("START SLAVE UNTIL master_gtid_pos = '" + end + "'")
		s.replica.status("Slave_SQL_Running", "No")
		s.replica.status("Slave_IO_Running", "No")
		s.replica.is("SELECT @@gtid_slave_pos", end)
	}
	s.replica.run("STOP SLAVE", "START SLAVE")
	s.equalSums()
}

func (s *streamScene) killed() {
	s.connectedAgain()
	for range 3 {
		s.write(100)
		s.replica.kill()
		s.write(20)
		s.replica.restart()
		s.replica.run("START SLAVE")
	}
	s.equalSums()
}

// counts: a server that has lost the last transaction, and has another one of that number, is refused.
func (s *streamScene) counts() {
	s.connectedAgain()
	s.store()
	s.equalSums()
	at := s.position0()
	other := s.server(s.image, "--server-id=1")
	before := at
	before.Seq--
	other.run("RESET MASTER", "SET GLOBAL gtid_binlog_state = '"+before.String()+"'", "CREATE DATABASE another",
		"CREATE DATABASE further")
	s.link.cut()
	s.link.to(other)
	s.streamed("refused", func(of task.Streamed) bool { return strings.Contains(of.Error, "it has lost transactions") })
	s.replica.is("SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name IN ('another', 'further')", "0")
	s.replica.status("Slave_IO_Running", "Yes")
}

// lost: the replica has transactions that were not archived. The archive goes on in a later line with as many others.
func (s *streamScene) lost() {
	s.link.cut()
	s.stop()
	s.link.close()
	s.link = newLink(s.whole)
	s.link.to(s.source)
	s.open(fmt.Sprintf("0.0.0.0:%d", s.port), "h/a")
	s.connectedAgain()
	lost := s.position0()
	s.write(3)
	s.equalSums()
	s.link.cut()
	s.written.earlier, s.written.line = s.written.at.Lines, "b"
	n := lost.Seq
	s.unlike("")
	s.written.add(binlog.GTID{Server: 1, Seq: n + 3}, 3, transactions(n+1, n+2, n+3)...)
	s.unlike("another one in the archive") // also once the channel is closed
	s.refused("another one in the archive")
	s.stop() // without what was sent in memory
	s.open(fmt.Sprintf("0.0.0.0:%d", s.port), "h/a")
	s.replica.run("STOP SLAVE", "START SLAVE")
	s.refused("may have been lost")
	s.unlike("may have been lost")
}

// unlike is whether the replica, by its number at the end of the archive, is known to have what the archive has.
func (s *streamScene) unlike(says string) {
	s.Helper()
	why, err := s.written.streams.unlike(s.Context(), s.written.archived, s.written.at)
	if err != nil || (why == "") != (says == "") || !strings.Contains(why, says) {
		s.Errorf("%q, %v", why, err)
	}
}
