package scan

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

// TestFilesInClear: every kind of file that holds data and is in clear names itself; files without data do not count.
func TestFilesInClear(t *testing.T) {
	dir := t.TempDir()
	put := func(name, content string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tablespace := []byte(strings.Repeat("\x00", 4*16384))
	tablespace[25], tablespace[57] = 8, 0x15
	plain := slices.Clone(tablespace)
	copy(plain[3*16384+24:], "\x45\xbf")
	for name, content := range map[string]string{
		"app/empty.ibd": string(tablespace), "app/new.ibd": "", "app/t.frm": "x", "ib_buffer_pool": "1,2",
		"ib_logfile0": "\xf0\x9f\x97\x9d....", "grastate.dat": "# GALERA", "ddl_recovery.log": "x", "mysql/slow_log.CSV": "",
		"mariabackup.prepare.log": "x", "aria_log.00000001": "x",
	} {
		put(name, content)
	}
	read := func() seen {
		t.Helper()
		r := reader{dir: dir, full: true, most: agentapi.MaxClear}
		if err := r.read(context.Background()); err != nil {
			t.Fatal(err)
		}
		return r.out
	}
	if s := read(); s.clearFiles != 0 || s.cacheClear || s.files != 2 {
		t.Fatalf("%+v", s)
	}
	want := []string{"app/t.ibd", "app/m.MYD", "mysql/general_log.CSV", "ib_logfile1", "host-slow.log", "GRA_1_2.log"}
	for _, name := range want {
		put(name, "Phys"+strings.Repeat("x", 100))
	}
	put("app/t.ibd", string(plain))
	put("galera.cache", "x")
	s := read()
	if s.clearFiles != int64(len(want)) || !s.cacheClear {
		t.Errorf("%+v", s)
	}
	for _, name := range want {
		if !slices.ContainsFunc(s.clear, func(c string) bool { return strings.HasPrefix(c, name+": ") }) {
			t.Errorf("%s is not named: %v", name, s.clear)
		}
	}
}
