//go:build integration

package external

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
)

// TestMemoryOfARow: rows as large as a container's memory allows are copied within it, also by several connections, and
// with the target's server in the same container. A larger one is refused by name before it is read, with the memory
// that it needs.
func TestMemoryOfARow(t *testing.T) {
	const gib = 1 << 30
	for name, c := range map[string]struct {
		Memory
		connections int
		field       string
	}{
		"one connection": {Memory{Limit: gib}, 1, "spec.from.external.resources.limits.memory"},
		"four":           {Memory{Limit: gib}, 4, "spec.from.external.resources.limits.memory"},
		"shared":         {Memory{Limit: gib, Shared: true, Pool: 650 << 20}, 4, "spec.resources.limits.memory"},
		"a small one":    {Memory{Limit: gib / 2, Shared: true, Pool: 128 << 20}, 4, "spec.resources.limits.memory"},
		"the source's": {Memory{Limit: gib, Shared: true, FromSource: true, Pool: 128 << 20}, 1,
			"spec.resources.limits.memory of the cluster"},
	} {
		t.Run(name, func(t *testing.T) {
			pool := fmt.Sprint("--innodb-buffer-pool-size=", max(32<<20, c.BufferPool(c.connections)))
			source, _ := start(t, "galera-mariadb:11.8", "--max-allowed-packet=1G", pool)
			into, socket := start(t, "galera-mariadb:11.8", "--max-allowed-packet=1G", pool)
			sharing := into
			if c.FromSource {
				sharing = source
			}
			r := budget{Memory: c.Memory, connections: int64(c.connections)}
			if c.Shared { // it is rounded
				r.pool, _ = strconv.ParseInt(value(t, sharing, "SELECT @@innodb_buffer_pool_size"), 10, 64)
			}
			each, waiting := r.bounds()
			run(t, source, makeAccount, "GRANT SELECT, RELOAD, SHOW VIEW, TRIGGER, EVENT ON *.* TO 'copy@er'@'%'",
				"CREATE DATABASE shop")
			if c.Shared { // the buffer pool is in use
				run(t, source, "CREATE TABLE shop.filled (id INT PRIMARY KEY, a BLOB)",
					"INSERT INTO shop.filled SELECT seq, REPEAT('x', 60000) FROM shop.seq_1_to_4000")
			}
			for i := range c.connections { // two tables with rows that wait, and all with rows that do not
				run(t, source, fmt.Sprintf("CREATE TABLE shop.t%d (id INT PRIMARY KEY, b LONGBLOB, c LONGTEXT)", i),
					fmt.Sprintf("INSERT INTO shop.t%d VALUES (1, REPEAT('x', %d), NULL), (2, NULL, REPEAT(\"'\", %[2]d))", i, each))
				if i < 2 && each < waiting {
					run(t, source, fmt.Sprintf("INSERT INTO shop.t%d VALUES (3, REPEAT('x', %d), NULL), "+
						"(4, 'y', REPEAT(\"'\", %[2]d - 1))", i, waiting))
				}
			}
			was := debug.SetMemoryLimit(c.Limit / 10 * 9)
			defer debug.SetMemoryLimit(was)
			o := Options{Databases: []string{"shop"}, Memory: c.Memory, Connections: c.connections}
			if !c.Shared {
				o.Only = &Only{As: func(i int) Object { return Object{Database: "into", Name: fmt.Sprint("t", i)} }}
				run(t, into, "CREATE DATABASE `into`")
			}
			peak(t)
			serversPeak(t, sharing) // it may have been filled
			if err := copied(t, source, socket, o); err != nil {
				t.Fatal(err)
			}
			used := peak(t)
			if c.Shared {
				other := serversPeak(t, sharing)
				t.Logf("this process took %d MiB of %d MiB, and the server %d MiB", used>>20, r.own()>>20, other>>20)
				used += other
			}
			t.Logf("rows of %d MiB, and of %d MiB, took %d MiB", waiting>>20, each>>20, used>>20)
			if used > c.Limit || used < c.Limit/2 {
				t.Errorf("rows of %d MiB, and of %d MiB, took %d MiB", waiting>>20, each>>20, used>>20)
			}
			run(t, source, fmt.Sprintf("INSERT INTO shop.t0 VALUES (5, REPEAT('x', %d), 'y')", waiting))
			run(t, into, "DROP DATABASE IF EXISTS shop", "CREATE OR REPLACE DATABASE `into`")
			err := copied(t, source, socket, o)
			if !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(),
				fmt.Sprintf("shop.t0 has values of %d MiB", waiting>>20)) || !strings.Contains(err.Error(), c.field) {
				t.Errorf("a larger row: %v", err)
			}
			if used := peak(t); used > c.Limit {
				t.Errorf("with a larger row it took %d MiB", used>>20)
			}
		})
	}
}

// TestLargeColumns: rows that are large by many texts, or by a shape, wait for memory as others do, or are refused.
func TestLargeColumns(t *testing.T) {
	source, _ := start(t, "galera-mariadb:11.8", "--max-allowed-packet=1G")
	into, socket := start(t, "galera-mariadb:11.8", "--max-allowed-packet=1G")
	var names, values []string
	for i := range 60 {
		names, values = append(names, fmt.Sprintf("c%d BLOB", i)), append(values, "REPEAT('x', 65535)")
	}
	points := "ST_GeomFromText(CONCAT('LINESTRING(', (SELECT GROUP_CONCAT(seq, ' ', seq) FROM shop.seq_1_to_150000), ')'))"
	run(t, source, makeAccount, "GRANT SELECT, RELOAD, SHOW VIEW, TRIGGER, EVENT ON *.* TO 'copy@er'@'%'",
		"CREATE DATABASE shop", "CREATE TABLE shop.t0 (id INT PRIMARY KEY, "+strings.Join(names, ", ")+")",
		"INSERT INTO shop.t0 (id, c0) VALUES (1, 'x')",
		"INSERT INTO shop.t0 VALUES (2, "+strings.Join(values[:25], ", ")+strings.Repeat(", NULL", 35)+")",
		"CREATE TABLE shop.t1 (id INT PRIMARY KEY, g GEOMETRY, l LINESTRING)", "SET SESSION group_concat_max_len = 1 << 26; "+
			"INSERT INTO shop.t1 VALUES (1, "+points+", NULL), (2, NULL, "+points+"), (3, POINT(1, 2), NULL)")
	run(t, into, "CREATE DATABASE `into`")
	o := Options{Databases: []string{"shop"}, Memory: Memory{Limit: 128 << 20}, Connections: 4,
		Only: &Only{As: func(i int) Object { return Object{Database: "into", Name: fmt.Sprint("t", i)} }}}
	if err := copied(t, source, socket, o); err != nil {
		t.Fatal(err)
	}
	const lengths = "SELECT CONCAT((SELECT LENGTH(c24) FROM `into`.t0 WHERE id = 2), ' ', ST_NumPoints(g)) FROM `into`.t1"
	if have := value(t, into, lengths+" WHERE id = 1"); have != "65535 150000" {
		t.Error(have)
	}
	for more, says := range map[string]string{
		"INSERT INTO shop.t0 VALUES (3, " + strings.Join(values, ", ") + ")": "shop.t0 has values of 3 MiB",
		"UPDATE shop.t1 SET l = g, g = NULL WHERE id = 1":                    "", // one shape is as large as the other
		"UPDATE shop.t1 SET g = l WHERE id = 2":                              "shop.t1 has values of 4 MiB",
	} {
		run(t, source, "DELETE FROM shop.t0 WHERE id = 3", "UPDATE shop.t1 SET g = NULL WHERE id = 2", more)
		run(t, into, "CREATE OR REPLACE DATABASE `into`")
		err := copied(t, source, socket, o)
		if says == "" && err != nil || says != "" && (!errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), says)) {
			t.Errorf("%s: %v", more[:20], err)
		}
	}
}

// copied copies from a server to that of a socket.
func copied(t *testing.T, source *sql.DB, socket string, o Options) error {
	t.Helper()
	return copiedWithin(t.Context(), t, source, socket, o)
}

func copiedWithin(ctx context.Context, t *testing.T, source *sql.DB, socket string, o Options) error {
	t.Helper()
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
	_, err = Copy(ctx, from, to, o)
	return err
}

// peak returns how much memory this process has had at most since it was asked last.
func peak(t *testing.T) int64 {
	t.Helper()
	bytes := highest(t, "self")
	runtime.GC()
	debug.FreeOSMemory()
	forget(t, "self")
	return bytes
}

// forget has a process be asked for its peak from now on.
func forget(t *testing.T, process string) {
	t.Helper()
	if err := os.WriteFile("/proc/"+process+"/clear_refs", []byte("5"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// serversPeak returns how much memory a server has had at most since it was asked last.
func serversPeak(t *testing.T, db *sql.DB) int64 {
	t.Helper()
	id, _ := containers.Load(db)
	out, err := exec.Command("docker", "inspect", "-f", "{{.State.Pid}}", id.(string)).Output()
	if err != nil {
		t.Fatal(err)
	}
	process := strings.TrimSpace(string(out))
	bytes := highest(t, process)
	forget(t, process)
	return bytes
}

func highest(t *testing.T, process string) (kib int64) {
	t.Helper()
	text, err := os.ReadFile("/proc/" + process + "/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		t.Fatal(err)
	}
	return kib << 10
}

// TestRowsOfACluster: into servers with settings of their own, the refusal of a large row names the setting.
func TestRowsOfACluster(t *testing.T) {
	source, _ := start(t, "galera-mariadb:11.8")
	into, socket := start(t, "galera-mariadb:11.8", "--max-allowed-packet=2M")
	run(t, source, makeAccount, "GRANT SELECT, RELOAD, SHOW VIEW, TRIGGER, EVENT ON *.* TO 'copy@er'@'%'",
		"CREATE DATABASE shop", "CREATE TABLE shop.t (id INT PRIMARY KEY, b LONGBLOB)",
		"INSERT INTO shop.t VALUES (2, REPEAT('x', 1200000))")
	run(t, into, "CREATE DATABASE shop")
	from, err := server(source).Open()
	if err != nil {
		t.Fatal(err)
	}
	var to *sql.DB
	if to, err = OpenTarget(socket, "root", ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = from.Close(), to.Close() })
	_, err = Copy(t.Context(), from, to, Options{Databases: []string{"shop"}, Only: &Only{
		As: func(int) Object { return Object{Database: "shop", Name: "t"} }}})
	if !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), "the 2 MiB that the cluster accepts (raise "+
		"max_allowed_packet") {
		t.Error(err)
	}
}
