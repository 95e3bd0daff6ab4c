package platform

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestDirsSeesKubeletsSwap(t *testing.T) {
	dir := t.TempDir()
	version := func(name, text string) {
		t.Helper()
		for _, err := range []error{
			os.Mkdir(filepath.Join(dir, name), 0o755),
			os.WriteFile(filepath.Join(dir, name, "file"), []byte(text), 0o600),
			os.Symlink(name, filepath.Join(dir, "..data_tmp")),
			os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	version("..1", "old")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	seen := make(chan string, 100)
	go WatchDirs(ctx, []string{dir, filepath.Join(dir, "not-there")}, func() {
		data, _ := os.ReadFile(filepath.Join(dir, "..data", "file"))
		seen <- string(data)
	})
	wait := func(want string) {
		t.Helper()
		deadline := time.After(rescanInterval / 2) // well before the check that needs no event
		for {
			select {
			case got := <-seen:
				if got == want {
					return
				}
			case <-deadline:
				t.Fatalf("%q was not seen", want)
			}
		}
	}
	wait("old")
	version("..2", "new")
	wait("new")
}
