package runner

import (
	"os"
	"path/filepath"
	"testing"
)

// TestClean: what is of the backup goes, and a database stays, whatever its name.
func TestClean(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"xtrabackup_sales", "mariadb_backup_x", "relay.log"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, "t.ibd"), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"xtrabackup_info", "galera.cache", "ibdata1"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := clean(dir); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]bool{"xtrabackup_sales/t.ibd": true, "mariadb_backup_x/t.ibd": true,
		"relay.log/t.ibd": true,
		"ibdata1":         true, "xtrabackup_info": false, "galera.cache": false} {
		if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWhenStarted(t *testing.T) {
	const (
		synced  = "2026-11-24 19:57:51 2 [Note] WSREP: Synchronized with group, ready for connections"
		serving = "2026-11-24 19:57:51 0 [Note] /usr/sbin/mariadbd: ready for connections."
		other   = "2026-11-24 19:57:51 0 [Note] WSREP: Shifting JOINED -> SYNCED (TO: 3)"
	)
	for _, c := range []struct {
		lines []string
		want  int
	}{
		{[]string{serving, other, synced}, 1},
		{[]string{synced, other, serving}, 1},
		{[]string{synced, other, synced}, 0},
		{[]string{serving, serving}, 0},
		{[]string{serving, synced, synced, serving}, 1},
	} {
		reported := 0
		log := whenStarted(func() { reported++ })
		for _, line := range c.lines {
			log(line)
		}
		if reported != c.want {
			t.Errorf("%q: called %d times", c.lines, reported)
		}
	}
}
