//go:build integration

package external

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
)

// start returns connections by root to a new mariadbd of an image, and its socket.
func start(t *testing.T, image string, options ...string) (*sql.DB, string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "external-") //nolint:usetesting // the container writes there as another user
	if err != nil {
		t.Fatal(err)
	}
	script := "mariadb-install-db --no-defaults --skip-test-db --auth-root-authentication-method=normal " +
		"--datadir=/run/d/data --user=root >/dev/null && exec mariadbd --no-defaults --user=root --datadir=/run/d/data " +
		"--socket=/run/d/s --innodb-buffer-pool-size=32M --innodb-flush-log-at-trx-commit=0 " + strings.Join(options, " ")
	out, err := exec.Command("docker", "run", "-d", "--user=0", "--entrypoint=sh", "-v", dir+":/run/d", image, "-c",
		script).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	id := strings.TrimSpace(string(out))
	t.Cleanup(func() {
		_ = exec.Command("docker", "rm", "-f", "-v", id).Run()
		_ = os.RemoveAll(dir)
	})
	socket := filepath.Join(dir, "s")
	cfg := mysql.NewConfig()
	cfg.User, cfg.Net, cfg.Addr, cfg.MultiStatements = "root", "unix", socket, true
	c, err := mysql.NewConnector(cfg)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(c)
	t.Cleanup(func() { _ = db.Close() })
	for try := 0; db.Ping() != nil; try++ {
		if try == 1800 {
			logs, _ := exec.Command("docker", "logs", id).CombinedOutput()
			t.Fatalf("no server: %s", logs)
		}
		time.Sleep(100 * time.Millisecond)
	}
	ip, err := exec.Command("docker", "inspect", "-f", "{{.NetworkSettings.IPAddress}}", id).Output()
	if err != nil {
		t.Fatal(err)
	}
	hosts.Store(db, strings.TrimSpace(string(ip)))
	containers.Store(db, id)
	return db, socket
}

var hosts, containers sync.Map

// server is how the account of a copy connects to a source.
func server(db *sql.DB) Server {
	host, _ := hosts.Load(db)
	return Server{Host: host.(string), Port: 3306, User: "copy@er", Password: "se'cret", Plain: true}
}

func run(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

func value(t *testing.T, db *sql.DB, query string) string {
	t.Helper()
	var v sql.NullString
	if err := db.QueryRow(query).Scan(&v); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return v.String
}

const makeAccount = "CREATE USER 'copy@er'@'%' IDENTIFIED BY 'se''cret'"

// habits is a source with what servers get over the years.
var habits = []string{
	"SET GLOBAL sql_mode = ''", makeAccount, "GRANT SELECT, RELOAD, SHOW VIEW, TRIGGER, EVENT ON *.* TO 'copy@er'@'%'",
	"CREATE DATABASE shop CHARACTER SET latin1", "CREATE DATABASE `cr``m`", "CREATE DATABASE other",
	`SET sql_mode = '', NAMES utf8mb4, time_zone = '+03:00'; USE shop;
	CREATE TABLE odd (id BIGINT UNSIGNED PRIMARY KEY, f FLOAT, d DOUBLE, n DECIMAL(30,10), b BIT(5), y YEAR, g POINT, u UUID, i INET6,
	  e ENUM('a','b'), s SET('x','y'), l VARCHAR(40), w TEXT CHARACTER SET utf8mb4, bin VARBINARY(20), bl LONGBLOB,
	  ts TIMESTAMP(6) NULL, dt DATE, t TIME, j JSON, v INT AS (LENGTH(l)) VIRTUAL, p INT AS (LENGTH(w)) STORED,
	  inv INT INVISIBLE DEFAULT 3);
	INSERT INTO odd (id, f, d, n, b, y, g, u, i, e, s, l, w, bin, bl, ts, dt, t, j, inv) VALUES
	  (0, 1.2345678, 0.1, 12345678901234567890.0123456789, b'10101', 2020, POINT(1, 2), UUID(), '::1', 'zzz', 'x,y',
	   'é€', 'ü\0\n\r\\''"\Z😀', X'00FF275C0A', X'00010203', '2020-10-25 01:30:00.123456', '0000-00-00', '-838:59:59',
	   '{"a": 1}', 7),
	  (18446744073709551615, -1e30, 1e-300, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '', '', '', '', '', NULL,
	   '2020-02-31', NULL, NULL, NULL)`,
	`USE shop; CREATE TABLE parent (id INT AUTO_INCREMENT PRIMARY KEY, v CHAR(8));
	CREATE TABLE child (a INT, b VARCHAR(10), parent INT, PRIMARY KEY (b, a), FOREIGN KEY (parent) REFERENCES parent (id) ON DELETE CASCADE);
	INSERT INTO parent (v) VALUES ('one'), ('two'); INSERT INTO child VALUES (1, 'x', 1), (2, 'y', 2), (1, 'y', NULL);
	SET sql_mode = 'NO_AUTO_VALUE_ON_ZERO'; INSERT INTO parent VALUES (0, 'zero'); SET sql_mode = '';
	CREATE TABLE checked (id INT PRIMARY KEY, v INT CHECK (v > 0)); SET check_constraint_checks = 0; INSERT INTO checked VALUES (1, -1);
	SET check_constraint_checks = 1;
	CREATE TABLE parts (id INT, d DATE, PRIMARY KEY (id, d)) PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN MAXVALUE);
	INSERT INTO parts SELECT seq, '2020-01-01' FROM seq_1_to_20`,
	`USE shop; CREATE TABLE counted (n INT PRIMARY KEY);
	CREATE TRIGGER counting AFTER INSERT ON parent FOR EACH ROW INSERT INTO counted VALUES (NEW.id + 1000);
	CREATE FUNCTION half(x INT) RETURNS INT DETERMINISTIC RETURN x / 2;
	CREATE PROCEDURE names() SELECT 'é' AS v;
	CREATE EVENT nightly ON SCHEDULE EVERY 1 DAY DO DELETE FROM counted;
	CREATE VIEW z AS SELECT id, half(id) AS h FROM parent; CREATE VIEW a AS SELECT * FROM z; CREATE DEFINER = gone@localhost VIEW orphan AS SELECT * FROM a`,
	"CREATE TABLE `cr``m`.`we``ird ta'ble` (`c``1` INT PRIMARY KEY, `sel'ect` TEXT)",
	"INSERT INTO `cr``m`.`we``ird ta'ble` VALUES (1, 'x')",
	"CREATE TABLE other.t (id INT PRIMARY KEY)",
	`CREATE ROLE reader; GRANT SELECT ON shop.* TO reader; CREATE USER app@'10.%' IDENTIFIED BY 'app'; GRANT reader TO app@'10.%';
	SET DEFAULT ROLE reader FOR app@'10.%'; GRANT INSERT ON shop.parent TO app@'10.%'; GRANT SELECT ON other.t TO app@'10.%';
	CREATE USER exporter IDENTIFIED BY 'x';
	CREATE USER temp IDENTIFIED BY 'x' PASSWORD EXPIRE INTERVAL 30 DAY; ALTER USER temp PASSWORD EXPIRE`,
}

// TestCopy copies a source with old habits while it is written to, from either series.
func TestCopy(t *testing.T) {
	for _, series := range []string{"10.11", "11.8"} {
		t.Run(series, func(t *testing.T) {
			if series != "10.11" && os.Getenv("GALERA_SLOW") == "" {
				t.Skip("GALERA_SLOW is not set")
			}
			t.Parallel()
			source, _ := start(t, "galera-mariadb:"+series, "--log-bin", "--server-id=7", "--gtid-domain-id=3")
			target, socket := start(t, "galera-mariadb:11.8", "--skip-log-bin")
			run(t, source, habits...)
			// Money moves between two tables: at every moment there is the same.
			run(t, source, `USE shop; CREATE TABLE left_side (id INT PRIMARY KEY, v INT); CREATE TABLE right_side (id INT PRIMARY KEY, v INT);
				INSERT INTO left_side SELECT seq, 100 FROM seq_1_to_300000; INSERT INTO right_side SELECT seq, 100 FROM seq_1_to_300000`,
				"ANALYZE TABLE shop.left_side, shop.right_side")
			moved := move(t, source)
			from, err := server(source).Open()
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = from.Close() }()
			to, err := OpenTarget(socket, "root", "")
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = to.Close() }()
			o := Options{Databases: []string{"shop", "cr`m"}, Users: true, Skip: []string{"exporter"}, Connections: 3}
			var first, last Progress
			o.Progress = func(p Progress) {
				if first.Rows == 0 {
					first = p
				}
				last = p
			}
			facts, err := Ask(t.Context(), from, o)
			if err != nil {
				t.Fatal(err)
			}
			if found := Check(facts, Wanted{Version: "11.8.3"}); len(found) > 0 {
				t.Fatalf("refused: %+v", found)
			}
			begun, began := moved.count(), time.Now()
			r, err := Copy(t.Context(), from, to, o)
			took := time.Since(began)
			if err != nil {
				t.Fatal(err)
			}
			if moved.stop(t) == begun {
				t.Error("nothing was written meanwhile: the test shows nothing")
			}
			t.Logf("%+v", r)
			if last.Rows != r.Rows || last.Compared != r.Tables || first.Rows > insertRows*3 || first.ExpectedRows < 500_000 {
				t.Errorf("progress from %+v to %+v", first, last)
			}
			const sum = "SELECT (SELECT SUM(v) FROM shop.left_side) + (SELECT SUM(v) FROM shop.right_side)"
			if got := value(t, target, sum); got != "60000000" {
				t.Errorf("the tables are of different moments: %s", got)
			}
			for query, want := range map[string]string{
				"SELECT GROUP_CONCAT(schema_name ORDER BY 1) FROM information_schema.schemata " +
					"WHERE schema_name IN ('shop', 'cr`m', 'other')": "cr`m,shop",
				"SELECT CAST(f AS DOUBLE) FROM shop.odd WHERE id = 0":                        "1.2345677614212036",
				"SELECT GROUP_CONCAT(h ORDER BY id) FROM shop.a":                             "0,1,1",
				"SELECT COUNT(*) FROM shop.counted":                                          "0",
				"SELECT COUNT(*) FROM information_schema.events WHERE event_schema = 'shop'": "1",
				"SELECT COUNT(*) FROM mysql.user WHERE user IN ('app', 'reader', 'copy@er')": "3",
				"SELECT CONCAT(JSON_VALUE(priv, '$.password_lifetime'), ' ', " +
					"JSON_VALUE(priv, '$.password_last_changed')) FROM mysql.global_priv WHERE user = 'temp'": "30 0",
				"SELECT COUNT(*) FROM mysql.user WHERE user = 'exporter'":                   "0",
				"SELECT default_role FROM mysql.user WHERE user = 'app'":                    "reader",
				"SELECT COUNT(*) FROM mysql.tables_priv WHERE user = 'app' AND db = 'shop'": "1",
				"SELECT auto_increment FROM information_schema.tables " +
					"WHERE table_schema = 'shop' AND table_name = 'parent'": "3",
			} {
				if got := value(t, target, query); got != want {
					t.Errorf("%s: %s, want %s", query, got, want)
				}
			}
			if skipped := strings.Join(r.Skipped, "; "); !strings.Contains(skipped, "'exporter'") ||
				!strings.Contains(skipped, "GRANT SELECT ON `other`.`t` TO 'app'@'10.%'") || strings.Contains(skipped, "*") {
				t.Errorf("skipped: %s", skipped)
			}
			// A busy machine takes longer for all of it.
			locked := time.Duration(r.LockedMilliseconds) * time.Millisecond
			if !strings.HasPrefix(r.GTID, "3-7-") || locked > time.Second && locked > took/3 {
				t.Errorf("%+v in %s", r, took)
			}
		})
	}
}

// moving writes to a source.
type moving struct {
	cancel context.CancelFunc
	done   chan error
	mu     sync.Mutex
	n      int
}

func (m *moving) count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.n
}

func (m *moving) stop(t *testing.T) int {
	t.Helper()
	m.cancel()
	if err := <-m.done; err != nil {
		t.Error(err)
	}
	return m.count()
}

// move takes from one table what it gives to the other, in transactions.
func move(t *testing.T, db *sql.DB) *moving {
	ctx, cancel := context.WithCancel(t.Context())
	m := &moving{cancel: cancel, done: make(chan error, 1)}
	go func() {
		for i := 1; ; i++ {
			tx, err := db.Begin()
			if err == nil {
				_, err = tx.Exec(fmt.Sprintf("UPDATE shop.left_side SET v = v - 1 WHERE id = %d", i*7919%300000+1))
			}
			if err == nil {
				_, err = tx.Exec(fmt.Sprintf("UPDATE shop.right_side SET v = v + 1 WHERE id = %d", i*104729%300000+1))
			}
			if err == nil {
				err = tx.Commit()
			}
			if err != nil || ctx.Err() != nil {
				m.done <- err
				return
			}
			m.mu.Lock()
			m.n = i
			m.mu.Unlock()
		}
	}()
	return m
}

// TestDamageIsFound: whatever is wrong with a copied table is found before a copy counts as one.
func TestDamageIsFound(t *testing.T) {
	source, _ := start(t, "galera-mariadb:11.8")
	target, socket := start(t, "galera-mariadb:11.8")
	run(t, source, makeAccount, "GRANT SELECT, RELOAD, SHOW VIEW, TRIGGER, EVENT ON *.* TO 'copy@er'@'%'",
		"CREATE DATABASE shop",
		"CREATE TABLE shop.t (id INT PRIMARY KEY, v VARCHAR(20) CHARACTER SET latin1, f FLOAT, b BLOB)",
		"INSERT INTO shop.t SELECT seq, CONCAT('é', seq), seq / 7, UNHEX(MD5(seq)) FROM shop.seq_1_to_1000")
	from, err := server(source).Open()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = from.Close() }()
	to, err := OpenTarget(socket, "root", "")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = to.Close() }()
	c := &copier{Options: Options{Connections: 2}, source: from, target: to}
	if err := c.begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer c.snapshot.close()
	for _, step := range []func(context.Context) error{c.createTables, c.copyTables, c.compareTables, c.compareObjects} {
		if err := step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for name, damage := range map[string][2]string{
		"a lost row": {"DELETE FROM shop.t WHERE id = 500",
			"INSERT INTO shop.t SELECT 500, CONCAT('é', 500), 500 / 7, UNHEX(MD5(500))"},
		"a row twice": {"INSERT INTO shop.t SELECT 1001, v, f, b FROM shop.t WHERE id = 1",
			"DELETE FROM shop.t WHERE id = 1001"},
		"a character": {"UPDATE shop.t SET v = '?7' WHERE id = 7", "UPDATE shop.t SET v = 'é7' WHERE id = 7"},
		"a byte": {"UPDATE shop.t SET b = CONCAT(b, X'00') WHERE id = 7",
			"UPDATE shop.t SET b = UNHEX(MD5(7)) WHERE id = 7"},
		"the seventh digit": {"UPDATE shop.t SET f = 0.285715 WHERE id = 2", "UPDATE shop.t SET f = 2 / 7 WHERE id = 2"},
		"NULL":              {"UPDATE shop.t SET v = NULL WHERE id = 7", "UPDATE shop.t SET v = 'é7' WHERE id = 7"},
	} {
		run(t, target, "SET NAMES utf8mb4; "+damage[0])
		if err := c.compareTables(t.Context()); !errors.Is(err, ErrDiffers) {
			t.Errorf("%s is not found: %v", name, err)
		}
		run(t, target, "SET NAMES utf8mb4; "+damage[1])
		if err := c.compareTables(t.Context()); err != nil {
			t.Fatalf("%s cannot be undone: %v", name, err)
		}
	}
	run(t, target, "ALTER TABLE shop.t MODIFY v VARCHAR(20) CHARACTER SET utf8mb4")
	if err := c.compareObjects(t.Context()); !errors.Is(err, ErrDiffers) {
		t.Errorf("another character set is not found: %v", err)
	}
	run(t, target, "TRUNCATE shop.t")
	run(t, source, "TRUNCATE shop.t")
	if err := c.copyTables(t.Context()); !errors.Is(err, ErrChanged) {
		t.Errorf("a table that was emptied is read: %v", err)
	}
}

// TestLargeRow: a row that no statement can carry is named, and its copy is not tried again.
func TestLargeRow(t *testing.T) {
	source, _ := start(t, "galera-mariadb:11.8")
	_, socket := start(t, "galera-mariadb:11.8", "--max-allowed-packet=2M")
	run(t, source, makeAccount, "GRANT SELECT, RELOAD, SHOW VIEW, TRIGGER, EVENT ON *.* TO 'copy@er'@'%'",
		"CREATE DATABASE shop",
		"CREATE TABLE shop.t (id INT PRIMARY KEY, b LONGBLOB)",
		"INSERT INTO shop.t VALUES (1, ''), (2, REPEAT('x', 1200000))")
	from, err := server(source).Open()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = from.Close() }()
	to, err := OpenTarget(socket, "root", "")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = to.Close() }()
	_, err = Copy(t.Context(), from, to, Options{})
	if !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), "shop.t") {
		t.Errorf("%v", err)
	}
}
