//go:build integration

package agent_test

import (
	"bytes"
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/backup/task"
)

const backUpSource = "mariadb-backup --no-defaults --backup --user=root --socket=/tmp/s --datadir=/tmp/d "

// TestAdoptedServer: the programs of the Jobs fill the first node's volume with a backup of another server that
// mariadb-backup has made while it was written to. The agents bootstrap from there, another node receives a copy, and
// the cluster follows the server from the position in the backup: it ends with the same rows.
func TestAdoptedServer(t *testing.T) {
	for name, series := range map[string]string{"11.8": image, "10.11": oldImage} {
		t.Run(name, func(t *testing.T) {
			if series == oldImage && os.Getenv("GALERA_SLOW") == "" {
				t.Skip("GALERA_SLOW is not set")
			}
			t.Parallel()
			s := &adopting{following: newFollowing(t, 2, series), series: series}
			s.jobs = newJobs(s.world)
			s.jobs.image = series
			s.credentials("channel", channelPassword)
			s.mustSource("CREATE USER app IDENTIFIED BY 'x'; GRANT ALL ON shop.* TO app; CREATE USER ''@'192.0.2.%'; " +
				"CREATE USER `shop-archiver` IDENTIFIED BY 'old'; CREATE DATABASE galera_operator; " +
				"CREATE USER `galera-operator-replay` IDENTIFIED BY 'old'; CREATE OR REPLACE USER root@'127.0.0.1'; " +
				"CREATE DEFINER = root@'127.0.0.1' VIEW shop.v AS SELECT 1; " +
				"ALTER TABLE mysql.gtid_slave_pos ENGINE = Aria; CREATE TABLE mysql.gtid_slave_pos_InnoDB LIKE " +
				"mysql.gtid_slave_pos; ALTER TABLE mysql.gtid_slave_pos_InnoDB ENGINE = InnoDB; " +
				"CREATE EVENT shop.nightly ON SCHEDULE EVERY 1 DAY DO DELETE FROM shop.t WHERE id < 0; " +
				"CREATE DATABASE zoo; CREATE TABLE zoo.part (id INT PRIMARY KEY) PARTITION BY HASH(id) PARTITIONS 2; " +
				"CREATE TABLE zoo.text (id INT PRIMARY KEY, d TEXT, FULLTEXT(d)); " +
				"CREATE TABLE zoo.`a-b c` (id INT PRIMARY KEY); SET GLOBAL innodb_file_per_table = 0; " +
				"CREATE TABLE zoo.within (id INT PRIMARY KEY); SET GLOBAL innodb_file_per_table = 1; " +
				"CREATE TABLE zoo.old (id INT PRIMARY KEY) WITH SYSTEM VERSIONING PARTITION BY SYSTEM_TIME " +
				"(PARTITION p0 HISTORY, PARTITION pn CURRENT)")
			for _, step := range []struct {
				name string
				run  func()
			}{
				{"a position that lacks a domain is refused", s.otherDomain},
				{"a position that is behind its files is refused", s.stale},
				{"tables that Galera does not replicate are refused", s.refusedTables},
				{"a folder without a database is refused", s.lacking},
				{"files of two backups in one folder are refused", s.mixed},
				{"a backup is made while rows are written", s.backUp},
				{"an image of another series refuses it", s.otherSeries},
				{"an attempt is killed", s.killedJob},
				{"it fills the volume, once", s.fills},
				{"the cluster begins with it", s.begins},
				{"it follows from there, to the last row", s.follows},
			} {
				if !t.Run(step.name, func(t *testing.T) { s.T, s.world.t = t, t; step.run() }) {
					break
				}
			}
			s.T, s.world.t = t, t
			s.stopWriting()
		})
	}
}

type adopting struct {
	*following
	series string
	jobs   *jobs
	// command begins that of mariadb-backup on the source, "" for backUpSource.
	command string
	path    string
	filled  task.Result
}

// stream has the source backed up into an object of the store.
func (s *adopting) stream(name string, packed bool) {
	s.Helper()
	command := cmp.Or(s.command, backUpSource) + "--stream=mbstream 2>/tmp/backup.log"
	cmd := exec.Command("docker", "exec", s.source, "sh", "-c", command)
	out, err := cmd.Output()
	if err != nil {
		s.Fatalf("%v: %s", err, s.world.run(exec.Command("docker", "exec", s.source, "cat", "/tmp/backup.log")))
	}
	if packed {
		var to bytes.Buffer
		z := got(zstd.NewWriter(&to))(s.T)
		_ = got(z.Write(out))(s.T)
		check(s.T, z.Close())
		out = to.Bytes()
	}
	s.path = "old/" + name
	check(s.T, os.MkdirAll(filepath.Join(s.jobs.dir, "store", "old"), 0o755))
	s.jobs.put("store/"+s.path, out)
}

func (s *adopting) task() task.Task {
	settings := map[string]string{"innodb_buffer_pool_size": "64M"}
	if s.series == oldImage {
		settings["sql_mode"] = "ANSI_QUOTES"
	}
	return task.Task{Import: &task.External{Backup: s.path, Follow: true, Host: s.source, Port: 3306, Plain: true,
		ServerID: 1 << 20, Domain: 1 << 20, Live: s.mustSource(sourcePosition), Skip: []string{"shop-archiver"},
		Settings: settings, ID: "external-1", History: importHistory}}
}

// otherDomain has another server's transaction in the source's binary log, which mariadb-backup leaves out until the
// position is set as the refusal says.
func (s *adopting) otherDomain() {
	s.mustSource("SET SESSION gtid_domain_id = 5, server_id = 9; INSERT INTO shop.counter VALUES (5, 5); " +
		"DELETE FROM shop.counter WHERE id = 5")
	s.stream("lacking.xb", false)
	const statement = "SET GLOBAL gtid_slave_pos = @@GLOBAL.gtid_binlog_pos"
	r := s.jobs.fill(s.task())
	if r.Reason != task.ReasonImportRefused || !r.Fatal || !strings.Contains(r.Error, "nothing of the domains 5, ") ||
		!strings.Contains(r.Error, statement) {
		s.Errorf("%+v", r)
	}
	s.mustSource(statement)
}

// stale has another server's transaction in the domain of the source, which mariadb-backup leaves out as well. Then the
// source has a domain of a server that it was made from, which is no reason to refuse it.
func (s *adopting) stale() {
	s.mustSource("SET SESSION server_id = 9; INSERT INTO shop.counter VALUES (5, 5); " +
		"DELETE FROM shop.counter WHERE id = 5")
	s.stream("stale.xb", false)
	r := s.jobs.fill(s.task())
	if r.Reason != task.ReasonImportRefused || !r.Fatal ||
		!strings.Contains(r.Error, "where it was made the binary log of ") {
		s.Errorf("%+v", r)
	}
	s.mustSource("SET GLOBAL gtid_slave_pos = CONCAT(@@GLOBAL.gtid_binlog_pos, ',77-7-7')")
}

func (s *adopting) refusedTables() {
	s.mustSource("INSTALL SONAME 'ha_blackhole'; CREATE TABLE shop.hole (id INT PRIMARY KEY) ENGINE=BLACKHOLE; " +
		"UNINSTALL SONAME 'ha_blackhole'; FLUSH TABLES; " + // the image's server does not have it either
		"CREATE TABLE shop.log (id INT PRIMARY KEY) ENGINE=MyISAM; CREATE TABLE shop.bare (id INT); " +
		"CREATE TABLE shop.history (id INT PRIMARY KEY) WITH SYSTEM VERSIONING; " +
		"CREATE TABLE shop.aria (id INT PRIMARY KEY) ENGINE=Aria WITH SYSTEM VERSIONING; " +
		"CREATE TABLE shop.keyless (id INT) WITH SYSTEM VERSIONING")
	s.stream("bad.xb", false)
	r := s.jobs.fill(s.task())
	if r.Reason != task.ReasonImportRefused || !r.Fatal ||
		!strings.Contains(r.Error, "EngineNotReplicated: shop.aria (Aria), shop.hole (BLACKHOLE), shop.log (MyISAM): ") ||
		!strings.Contains(r.Error, "PrimaryKeyMissing: shop.bare, shop.keyless: ") ||
		strings.Contains(r.Error, "shop.history") {
		s.Errorf("%+v", r)
	}
	s.mustSource("DROP TABLE shop.hole, shop.log, shop.bare, shop.history, shop.aria, shop.keyless")
}

// lacking uploads a folder in part: what mariadb-backup writes last is there, and a database is not.
func (s *adopting) lacking() {
	s.folder("part")
	check(s.T, os.RemoveAll(filepath.Join(s.jobs.dir, "store", s.path, "zoo")))
	r := s.jobs.fill(s.task())
	if r.Reason != task.ReasonBackupDamaged || !r.Fatal || !strings.Contains(r.Error, "are missing: "+
		"zoo/a@002db@0020c.frm, zoo/a@002db@0020c.ibd, zoo/old#P#p0.ibd, ") || strings.Contains(r.Error, "shop") {
		s.Errorf("%+v", r)
	}
}

// mixed uploads two backups to one folder, so that the files of a table in it are later than the others, and half a
// file.
func (s *adopting) mixed() {
	flushed := func() { // what is not is in the log only
		s.await0("SELECT variable_value < 3 FROM information_schema.global_status WHERE " +
			"variable_name = 'INNODB_BUFFER_POOL_PAGES_DIRTY'")
	}
	s.mustSource("SET GLOBAL innodb_max_dirty_pages_pct_lwm = 0.001, GLOBAL innodb_max_dirty_pages_pct = 0")
	flushed()
	s.folder("first")
	s.mustSource("INSERT INTO zoo.part VALUES (1), (2)")
	flushed()
	s.folder("second")
	s.mustSource("SET GLOBAL innodb_max_dirty_pages_pct = 90, GLOBAL innodb_max_dirty_pages_pct_lwm = 0; " +
		"DELETE FROM zoo.part")
	at := func(folder, file string) string { return filepath.Join(s.jobs.dir, "store", "old", folder, file) }
	move := func(from, to string) {
		s.world.run(exec.Command("cp", "-p", from, to))
		s.path = "old/first"
	}
	const part = "zoo/part#P#p0.ibd"
	move(at("first", part), at("first", "part.old"))
	move(at("second", part), at("first", part))
	r := s.jobs.fill(s.task())
	if r.Reason != task.ReasonBackupDamaged || !r.Fatal || !strings.Contains(r.Error, "files are changed after that ("+
		part+" at the LSN ") {
		s.Errorf("a later table: %+v", r)
	}
	move(at("first", "part.old"), at("first", part))
	check(s.T, os.Remove(at("first", "part.old")))
	move(at("first", "ib_logfile0"), at("first", "log.old"))
	move(at("second", "ib_logfile0"), at("first", "ib_logfile0"))
	r = s.jobs.fill(s.task())
	if r.Reason != task.ReasonBackupDamaged || !r.Fatal || !strings.Contains(r.Error, "the log in ib_logfile0 is from") {
		s.Errorf("a later log: %+v", r)
	}
	check(s.T, os.Remove(at("first", "log.old")))
	check(s.T, os.Truncate(at("second", part), 32<<10))
	s.path = "old/second"
	r = s.jobs.fill(s.task())
	if r.Reason != task.ReasonBackupDamaged || !r.Fatal || !strings.Contains(r.Error, part+" has 32768 bytes of 65536") {
		s.Errorf("half a file: %+v", r)
	}
}

// folder has the source backed up into a folder of the store.
func (s *adopting) folder(name string) {
	s.Helper()
	s.path = "old/" + name
	at := "/tmp/" + name
	s.world.run(exec.Command("docker", "exec", s.source, "sh", "-c", backUpSource+"--target-dir="+at))
	to := filepath.Join(s.jobs.dir, "store", "old")
	s.world.run(exec.Command("docker", "cp", "-q", s.source+":"+at, to))
	s.world.run(exec.Command("chown", "-R", "999:999", to))
}

// backUp makes a compressed stream, and a folder with the old series.
func (s *adopting) backUp() {
	s.write()
	s.await0("SELECT COUNT(*) > 50 FROM shop.t")
	if s.series == image {
		s.stream("full.xb.zst", true)
		return
	}
	s.folder("full")
}

// await0 waits until a condition holds on the source.
func (s *adopting) await0(query string) {
	s.Helper()
	for deadline := time.Now().Add(time.Minute); s.mustSource(query) != "1"; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.Fatal(query)
		}
	}
}

func (s *adopting) otherSeries() {
	j := *s.jobs
	if j.image = oldImage; s.series == oldImage {
		j.image = image
	}
	if exec.Command("docker", "image", "inspect", j.image).Run() != nil {
		s.Skip("no image ", j.image)
	}
	r := j.fill(s.task())
	if r.Reason != task.ReasonVersionRefused || !r.Fatal ||
		!strings.Contains(r.Error, "set spec.image to the same series") {
		s.Errorf("%+v", r)
	}
}

func (s *adopting) volume() string { return filepath.Join(s.world.nodes[0].base, "volume") }

func (s *adopting) killedJob() {
	j, name := s.jobs, s.world.network+"-killed"
	check(s.T, os.MkdirAll(s.volume(), 0o770))
	check(s.T, os.Chown(s.volume(), mysqlUID, mysqlUID))
	fetch := s.world.network + "-fetch"
	s.world.run(exec.Command("docker", append([]string{"run", "-d", "--name", fetch},
		j.args(s.task(), "fetch", j.withStore()...)...)...))
	defer func() { _ = exec.Command("docker", "rm", "-f", fetch).Run() }()
	s.world.run(exec.Command("docker", append([]string{"run", "-d", "--name", name},
		j.args(s.task(), "run", "-v", s.volume()+":"+agentapi.VolumeDir)...)...))
	s.world.nodes[0].jobKilled(name, func() bool {
		_, err := os.Stat(filepath.Join(s.volume(), "data.restore", "shop", "t.ibd"))
		return err == nil
	})
}

func (s *adopting) fills() {
	skipped := []string{"''@'192.0.2.%'", "'galera-operator-replay'@'%'", "'root'@'127.0.0.1'", "'root'@'::1'",
		"'root'@'" + s.mustSource("SELECT @@hostname") + "'", "'shop-archiver'@'%'",
		"the DEFINER root@127.0.0.1 of the view shop.v"}
	slices.Sort(skipped)
	for range 2 {
		s.filled = s.jobs.fillAt(s.volume(), s.task())
		r := s.filled
		if r.Error != "" || r.Restored == nil || r.Restored.Position != importHistory+":1" || r.Source == nil ||
			r.Source.Tables != 7 || !strings.Contains(r.Source.GTID, "0-1-") ||
			strings.Contains(r.Source.GTID, "77-") ||
			!slices.Equal(slices.Sorted(slices.Values(r.Source.Skipped)), skipped) {
			s.Fatalf("%+v, %+v", r, r.Source)
		}
	}
}

// forms has the agents begin with what the Job has left on the first volume.
func (s *adopting) forms() {
	first, second := s.world.nodes[0], s.world.nodes[1]
	first.start()
	first.beginsAt(s.filled.Restored.Position)
	second.start()
	for _, n := range s.world.nodes {
		n.until("Synced", 3*time.Minute, synced(2))
	}
}

func (s *adopting) begins() {
	s.forms()
	const have = "SELECT GROUP_CONCAT(user, '@', host ORDER BY user, host) FROM mysql.global_priv WHERE user IN " +
		"('', 'app', 'root', 'shop-archiver', 'galera-operator-replay'); SELECT status FROM information_schema.events; " +
		"SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = 'galera_operator'; " +
		"SELECT table_name, engine FROM information_schema.tables WHERE table_name LIKE 'gtid_slave_pos%'"
	for i := range s.world.nodes {
		s.await(i, have, "app@%,root@%,root@localhost\nENABLED\n0\ngtid_slave_pos\tInnoDB")
	}
}

func (s *adopting) follows() {
	defer func() {
		if s.Failed() {
			out, err := s.world.nodes[0].socket("SELECT @@gtid_slave_pos; SHOW ALL SLAVES STATUS\\G")
			s.Log(out, err)
		}
	}()
	s.primary(0)
	s.runsOn(0)
	s.stopWriting()
	want := s.mustSource(sourceRows)
	for i := range s.world.nodes {
		s.await(i, sourceRows, want)
		s.await(i, "SELECT @@gtid_slave_pos", s.mustSource(sourcePosition))
	}
	s.refused()
}
