package install

import (
	"os"
	"path/filepath"
	"testing"
)

func TestCopy(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "bin")
	for range 2 { // a restarted init container finds the copy there
		if err := Copy(dir); err != nil {
			t.Fatal(err)
		}
	}
	self, _ := os.Executable()
	want, err := os.Stat(self)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.Stat(filepath.Join(dir, "agent"))
	if err != nil || got.Size() != want.Size() || got.Mode().Perm() != 0o755 {
		t.Errorf("%v %v", got, err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("left %v", entries)
	}
}
