package mariadbd

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/galera-operator/galera-operator/internal/platform"
)

// TestAriaTables: the system tables are rebuilt that are not as the server would write them, each once, and no other
// file; one that fails keeps no other from it.
func TestAriaTables(t *testing.T) {
	dir := t.TempDir()
	index := func(encrypted byte) []byte {
		head := make([]byte, 8192)
		copy(head, []byte{0xfe, 0xfe, 9, 0, 0, 0, 1, 0})
		if encrypted == 1 {
			copy(head[256-22:], []byte{1, 20})
		}
		return head
	}
	for name, content := range map[string][]byte{"mysql/db.MAI": index(0), "mysql/proc.MAI": index(1),
		"mysql/func.MAI": index(0), "mysql/x@0060.MAI": index(0), "mysql/half.MAI": nil, "sys/sys_config.MAI": index(0),
		"app/t.MAI": index(0)} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, content, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	a := Aria{places: platform.Places{Data: dir}, rebuild: func(_ context.Context, schema, table string) error {
		if got = append(got, schema+"."+table); table == "db" {
			return errors.New("locked")
		}
		return nil
	}}
	for encrypted, want := range map[bool][]string{true: {"mysql.db", "mysql.func", "sys.sys_config"},
		false: {"mysql.proc"}} {
		got = nil
		n, err := a.rebuildAll(context.Background(), encrypted)
		if !slices.Equal(got, want) || encrypted && (n != 2 || err == nil) {
			t.Errorf("encrypted %v: %v, %d rebuilt, %v", encrypted, got, n, err)
		}
	}
}
