//go:build integration

package external

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
)

// TestMemoryOfARow: rows as large as a container's memory allows are copied within it, and a larger one is refused by
// name before it is read, with the memory that it needs.
func TestMemoryOfARow(t *testing.T) {
	const limit = 1 << 30
	source, _ := start(t, "galera-mariadb:11.8", "--max-allowed-packet=1G")
	into, socket := start(t, "galera-mariadb:11.8", "--max-allowed-packet=1G")
	row := MaxRow(limit/10*9, 1)
	run(t, source, makeAccount, "GRANT SELECT, RELOAD, SHOW VIEW, TRIGGER, EVENT ON *.* TO 'copy@er'@'%'",
		"CREATE DATABASE shop", "CREATE TABLE shop.t (id INT PRIMARY KEY, b LONGBLOB, c LONGTEXT)",
		fmt.Sprintf("INSERT INTO shop.t VALUES (1, REPEAT('x', %d), NULL), (2, NULL, REPEAT(\"'\", %[1]d))", row))
	run(t, into, "CREATE DATABASE shop", "CREATE DATABASE later")
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(limit / 10 * 9))
	copies := func(database string) error {
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
		_, err = Copy(t.Context(), from, to, Options{Databases: []string{"shop"}, MaxRow: row, Only: &Only{
			As: func(i int) Object { return Object{Database: database, Name: fmt.Sprint("t", i)} }}})
		return err
	}
	if err := copies("shop"); err != nil {
		t.Fatal(err)
	}
	if used := peak(t); used > limit || used < limit/2 {
		t.Errorf("rows of %d MiB took %d MiB", row>>20, used>>20)
	}
	run(t, source, fmt.Sprintf("INSERT INTO shop.t VALUES (3, REPEAT('x', %d), 'y')", 220<<20))
	err := copies("later")
	if !errors.Is(err, ErrTooLarge) || !strings.Contains(err.Error(), "shop.t has values of 220 MiB") {
		t.Errorf("a row of 220 MiB: %v", err)
	}
	if used := peak(t); used > limit {
		t.Errorf("with a row of 220 MiB it took %d MiB", used>>20)
	}
}

// peak returns how much memory this process has had at most since it was asked last.
func peak(t *testing.T) (kib int64) {
	t.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	debug.FreeOSMemory()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0o600); err != nil {
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
