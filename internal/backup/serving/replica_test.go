//go:build integration

package serving

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/galera-operator/galera-operator/internal/backup/binlog"
)

// TestReplica: a MariaDB replica follows an archive as it would follow the server that has written it, goes on where it
// was after each interruption, ends where it is asked to, and does not go on across a gap.
func TestReplica(t *testing.T) {
	for name, image := range map[string]string{"11.8": "galera-mariadb:11.8", "10.11": "galera-mariadb:10.11"} {
		t.Run(name, func(t *testing.T) {
			if name == "10.11" && os.Getenv("GALERA_SLOW") == "" {
				t.Skip("GALERA_SLOW is not set")
			}
			t.Parallel()
			s := &scene{T: t, whole: t}
			s.source = start(t, image, "--log-bin=binlog", "--binlog-format=ROW", "--server-id=1", "--binlog-checksum=CRC32",
				"--innodb-flush-log-at-trx-commit=0")
			s.replica = start(t, image, "--server-id=7", "--log-bin=own", "--log-slave-updates", "--gtid-domain-id=9",
				"--slave-net-timeout=2", "--gtid-strict-mode=1", "--skip-slave-start")
			for _, step := range []struct {
				name string
				run  func(*scene)
			}{
				{"before the first transaction", (*scene).begins},
				{"what is in the archive", (*scene).catchesUp},
				{"what comes later", (*scene).goesOn},
				{"nothing is written", (*scene).idles},
				{"nothing is left when it connects", (*scene).quiet},
				{"the replica is ahead of the archive", (*scene).ahead},
				{"the replica is killed", (*scene).killed},
				{"the archive's program is started again", (*scene).served},
				{"an end within a segment", (*scene).ends},
				{"a position of another history", (*scene).other},
				{"a segment is missing", (*scene).missing},
				{"the archive begins anew where it has ended", (*scene).joins},
				{"the archive begins anew", (*scene).anew},
			} {
				if !t.Run(step.name, func(t *testing.T) { s.T, s.written.T, s.source.T, s.replica.T = t, t, t, t; step.run(s) }) {
					break
				}
			}
		})
	}
}

// scene is a source, what is archived of it, and a replica of the archive.
type scene struct {
	*testing.T
	whole           *testing.T
	source, replica *mariadb
	written         written
	port            int
	stop            func()
	logs            int
	format          []byte
}

const sums = "SELECT CONCAT(COUNT(*), ' ', SUM(CRC32(CONCAT(id, v)))) FROM shop.t"

// begins: a replica that is to end where the chain begins has no event to take yet, and ends with the first one.
func (s *scene) begins() {
	s.source.run("CREATE DATABASE older", "CREATE DATABASE old")
	at := s.position()
	s.archiveLogs() // what was before the archive
	s.written = *newWritten(s.whole, at)
	s.serve("0.0.0.0:0")
	s.replica.run("SET GLOBAL gtid_slave_pos = '" + at.String() + "'")
	s.change()
	s.replica.run("START SLAVE UNTIL master_gtid_pos = '" + at.String() + "'")
	s.heartbeats(2)
	s.source.run("CREATE DATABASE shop")
	s.archiveLogs()
	s.ended(at)
}

func (s *scene) catchesUp() {
	s.source.run("CREATE TABLE shop.t (id INT PRIMARY KEY AUTO_INCREMENT, v LONGTEXT NOT NULL)",
		"CREATE TABLE shop.bare (a INT, b VARCHAR(10))", "INSERT INTO shop.bare VALUES (1, 'x'), (1, 'x')",
		"INSERT INTO shop.t (v) SELECT seq FROM mysql.seq_1_to_1000", "CREATE USER app IDENTIFIED BY 'secret'",
		"INSERT INTO shop.t (v) VALUES (REPEAT('large', 4 * 1024 * 1024))", "ALTER TABLE shop.t ADD n INT DEFAULT 5")
	s.write(10)
	s.archiveLogs()
	s.replica.run("STOP SLAVE", "START SLAVE")
	s.equal()
	s.replica.is("SELECT COUNT(*) FROM mysql.global_priv WHERE user = 'app'", "1")
}

func (s *scene) goesOn() {
	for range 3 {
		s.write(20)
		s.archiveLogs()
	}
	s.equal()
}

// quiet: a replica that has everything connects, and waits for what comes.
func (s *scene) quiet() {
	s.replica.run("STOP SLAVE", "START SLAVE")
	s.idles()
}

// idles: a connection on which nothing is sent for longer than the replica waits is kept by heartbeats.
func (s *scene) idles() {
	s.heartbeats(5)
	s.replica.status("Slave_IO_Running", "Yes")
	s.write(5)
	s.archiveLogs()
	s.equal()
}

func (s *scene) heartbeats(n int) {
	s.Helper()
	const from = " FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'Slave_received_heartbeats'"
	before := s.replica.value("SELECT VARIABLE_VALUE" + from)
	s.replica.is(fmt.Sprintf("SELECT VARIABLE_VALUE >= %d + %s", n, before)+from, "1")
}

// ahead: a replica may have more than the archive, as one that was seeded from a later backup has. It waits.
func (s *scene) ahead() {
	s.replica.run("STOP SLAVE")
	s.written.held = map[string][]byte{}
	const both = "INSERT INTO shop.t (v) VALUES ('both')"
	s.source.run(both)
	s.replica.unlogged(both)
	s.replica.run("SET GLOBAL gtid_slave_pos = '"+s.position().String()+"'", "START SLAVE")
	s.write(3)
	s.archiveLogs()
	s.heartbeats(3)
	s.replica.status("Slave_IO_Running", "Yes")
	s.written.release()
	s.equal()
}

func (s *scene) killed() {
	s.write(100)
	s.archiveLogs()
	s.replica.kill()
	s.write(100)
	s.archiveLogs()
	s.replica.restart()
	s.replica.run("START SLAVE")
	s.equal()
}

func (s *scene) served() {
	s.write(50)
	s.archiveLogs()
	s.stop()
	s.write(50)
	s.archiveLogs()
	s.serve(fmt.Sprintf("0.0.0.0:%d", s.port))
	s.equal()
}

func (s *scene) ends() {
	s.replica.run("STOP SLAVE")
	s.write(10)
	end := s.position()
	s.write(10)
	s.archiveLogs()
	for range 2 { // the second time it is there
		s.replica.run("START SLAVE UNTIL master_gtid_pos = '" + end.String() + "'")
		s.ended(end)
	}
	s.replica.run("STOP SLAVE", "START SLAVE")
	s.equal()
}

// ended: both threads have ended at a transaction, without an error.
func (s *scene) ended(at binlog.GTID) {
	s.Helper()
	s.replica.status("Slave_SQL_Running", "No")
	s.replica.status("Slave_IO_Running", "No")
	s.replica.is("SELECT @@gtid_slave_pos", at.String())
	if state := s.replica.slave(); state["Last_IO_Errno"] != "0" || state["Last_SQL_Errno"] != "0" {
		s.Error(state)
	}
}

// refused: the channel ends with a reason.
func (s *scene) refused(why string) {
	s.Helper()
	s.replica.status("Last_IO_Errno", "1236")
	if text := s.replica.slave()["Last_IO_Error"]; !strings.Contains(text, Refused) || !strings.Contains(text, why) {
		s.Error(text)
	}
}

func (s *scene) other() {
	at := s.position()
	for wrong, why := range map[binlog.GTID]string{
		{Domain: at.Domain, Server: 5, Seq: at.Seq}:         "holds the transactions 0-1, and the position is 0-5-",
		{Domain: at.Domain, Server: at.Server, Seq: 1}:      "what follows 0-1-1 is not in the archive any more",
		{Domain: at.Domain + 3, Server: at.Server, Seq: 12}: "no position in the domain 0",
	} {
		s.replica.run("STOP SLAVE", "SET GLOBAL gtid_slave_pos = '"+wrong.String()+"'", "START SLAVE")
		s.refused(why)
	}
	s.replica.run("STOP SLAVE", "SET GLOBAL gtid_slave_pos = '"+at.String()+"'", "START SLAVE")
	s.equal()
}

// missing: a segment that is not there is waited for, until there is one after it.
func (s *scene) missing() {
	before := s.position()
	s.written.held = map[string][]byte{}
	s.write(10)
	s.archiveLogs()
	lost := s.written.held
	s.written.held = nil
	s.heartbeats(2)
	s.replica.status("Slave_IO_Running", "Yes")
	s.write(10)
	s.archiveLogs()
	s.refused("there is a gap in the archive: the segment " + binlog.Name(s.written.at.Number-3) + " is missing")
	s.replica.run("STOP SLAVE", "START SLAVE")
	s.refused("what follows " + before.String() + " is not in the archive any more")
	s.written.held = lost
	s.written.release()
	s.replica.run("STOP SLAVE", "START SLAVE")
	s.equal()
}

// joins: a chain that begins where the one before has ended is followed, connected or not, and from before its begin.
func (s *scene) joins() {
	s.written.begin(s.position())
	s.write(10)
	s.archiveLogs()
	s.equal()
	s.replica.run("STOP SLAVE")
	s.write(10)
	s.archiveLogs()
	s.written.begin(s.position())
	s.write(10)
	s.archiveLogs()
	s.replica.run("START SLAVE")
	s.equal()
}

func (s *scene) anew() {
	s.write(10)
	lost := s.position()
	s.write(10)
	_ = s.transactions()
	s.written.begin(lost)
	s.refused("begins anew")
	s.replica.run("STOP SLAVE", "START SLAVE")
	s.refused("has begun anew with the segment " + binlog.Name(s.written.at.Number) + ": what was written before it may " +
		"be missing (a test wants it)")
}

// serve has the archive served, at a port of the host that containers reach.
func (s *scene) serve(address string) {
	s.Helper()
	var ca []byte
	s.port, ca, s.stop = s.written.serve(s.whole, address)
	if err := os.WriteFile(filepath.Join(s.replica.dir, "ca.crt"), ca, 0o644); err != nil { //nolint:gosec // no secret
		s.Fatal(err)
	}
}

func (s *scene) change() {
	s.replica.run(fmt.Sprintf("CHANGE MASTER TO MASTER_HOST = '%s', MASTER_PORT = %d, MASTER_USER = '%s', "+
		"MASTER_PASSWORD = '%s', MASTER_USE_GTID = slave_pos, MASTER_CONNECT_RETRY = 1, MASTER_SSL = 1, "+
		"MASTER_SSL_VERIFY_SERVER_CERT = 1, MASTER_SSL_CA = '/run/d/ca.crt'", sourceName, s.port, testUser,
		strings.NewReplacer(`\`, `\\`, "'", "''").Replace(testPassword)))
}

// write makes transactions on the source.
func (s *scene) write(n int) {
	s.Helper()
	for range n {
		s.source.run("INSERT INTO shop.t (v) VALUES (UUID())")
	}
}

func (s *scene) position() binlog.GTID {
	s.Helper()
	at, err := binlog.Parse(s.source.value("SELECT @@gtid_binlog_pos"))
	if err != nil {
		s.Fatal(err)
	}
	return at
}

func (s *scene) equal() {
	s.Helper()
	s.replica.is("SELECT @@gtid_slave_pos", s.position().String())
	s.replica.is(sums, s.source.value(sums))
}

// archiveLogs stores what the source has written since it was called last, in two segments.
func (s *scene) archiveLogs() {
	s.Helper()
	all := s.transactions()
	if s.written.archived == nil {
		return
	}
	for _, some := range [][]group{all[:len(all)/2], all[len(all)/2:]} {
		content := [][]byte{s.format}
		for _, g := range some {
			content = append(content, g.events)
		}
		if len(some) > 0 {
			s.written.add(some[len(some)-1].of, len(some), content...)
		}
	}
}

type group struct {
	of     binlog.GTID
	events []byte
}

func (s *scene) transactions() (all []group) {
	s.Helper()
	s.source.run("FLUSH BINARY LOGS")
	s.logs++
	data, err := os.ReadFile(filepath.Join(s.source.dir, "data", fmt.Sprintf("binlog.%06d", s.logs)))
	if err != nil {
		s.Fatal(err)
	}
	in, g := bytes.NewReader(data[len(binlog.Magic):]), binlog.Grouper{}
	for {
		e, err := binlog.Next(in, &binlog.Buffer{})
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			s.Fatal(err)
		}
		switch kind, err := g.See(e); {
		case err != nil:
			s.Fatal(err)
		case kind == binlog.Format:
			s.format = bytes.Clone(e)
		case kind == binlog.Begin:
			all = append(all, group{of: g.Done().GTID, events: bytes.Clone(e)})
		case kind != binlog.Outside:
			all[len(all)-1].events = append(all[len(all)-1].events, e...)
		}
	}
}
