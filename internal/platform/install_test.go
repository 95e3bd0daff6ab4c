package platform

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/galera-operator/galera-operator/internal/agentapi"
)

func TestCopy(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "bin")
	for range 2 { // a restarted init container finds the copy there
		if err := InstallAgent(dir); err != nil {
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

// TestPasswd: whatever the user is, it has a name.
func TestPasswd(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		if err := WritePasswd(dir); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, agentapi.PasswdFile))
	if err != nil || !strings.Contains(string(text), fmt.Sprintf(":x:%d:", os.Getuid())) ||
		!strings.HasPrefix(string(text), "root:x:0:0:") {
		t.Errorf("%q %v", text, err)
	}
}
